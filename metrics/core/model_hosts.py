"""The web as hosts of models are reached: proxies, certificates, tokens, redirects, refusals.

The variables of the environment are those that other programs read, too.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import os
import socket
import ssl
import time
from functools import cache
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from listening.common.remote_files import without_secrets
from metrics.core.published_models import HUB

TRIES = 4  # in a row without a byte
PAUSE_S = 1.0  # before the second try; doubled before each other one
LONGEST_PAUSE_S = 60.0
TIMEOUT_S = 30.0  # without a byte
PASSING = {408, 425, 429, 500, 502, 503, 504}  # states that may be over soon
BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
OF_SSL = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # which ssl itself reads


class DownloadError(RuntimeError):
    """A model cannot be fetched; the message says why and what to do."""


class BrokenOffError(Exception):
    """The connection ended early: worth another try."""

    def __init__(self, why: object, pause_s: float = 0.0) -> None:
        super().__init__(str(why))
        self.pause_s = pause_s


class RangeError(Exception):
    """The server has no such part of the file."""


def hub_address() -> str:
    """The address of the hub, or of the one in its place (HF_ENDPOINT)."""
    return (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def hub_cache() -> Path:
    """Where the hub's own package keeps what it fetched."""
    return Path(os.environ.get("HF_HUB_CACHE") or _hub_home() / "hub").expanduser()


def torch_cache() -> Path:
    """Where torch keeps what it fetched."""
    return Path(os.environ.get("TORCH_HOME") or _caches() / "torch").expanduser() / "hub"


def hub_token() -> str:
    """The account's token for the hub; empty when there is none."""
    if token := os.environ.get("HF_TOKEN", "").strip():
        return token
    with contextlib.suppress(OSError):
        return (_hub_home() / "token").read_text(encoding="utf-8").strip()
    return ""


def _hub_home() -> Path:
    return Path(os.environ.get("HF_HOME") or _caches() / "huggingface").expanduser()


def _caches() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()


def pause(failures: int, wished_s: float = 0.0) -> None:
    """Wait before another try, as long as the host wishes, or longer with each failure."""
    time.sleep(wished_s or PAUSE_S * 2 ** (failures - 1))


class _Redirects(HTTPRedirectHandler):
    """Followed, without the hub's token on another host and without leaving TLS."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new is None:
            return None
        old, there = urlsplit(req.full_url), urlsplit(newurl)
        if (old.scheme, there.scheme) == ("https", "http"):
            raise DownloadError(f"{without_secrets(req.full_url)} leads to an address without TLS")
        new.remove_header("Proxy-authorization")  # the proxy gets it anew
        if old.netloc != there.netloc:
            new.remove_header("Authorization")
        return new


def opened(url: str, headers: dict[str, str] | None = None) -> Any:
    """A reply of the web; DownloadError where another try is useless."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "on", "yes", "true"):
        raise DownloadError("HF_HUB_OFFLINE forbids downloads")
    failures = 0
    while True:
        try:
            return _open_once(url, headers or {})
        except BrokenOffError as error:
            failures += 1
            if failures >= TRIES:
                raise DownloadError(f"{without_secrets(url)}: {error}") from error
            pause(failures, error.pause_s)


def _open_once(url: str, headers: dict[str, str]) -> Any:
    """Open an address by the proxy and the certificates that the environment names."""
    name, parts = without_secrets(url), urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    plain = parts._replace(netloc=host).geturl()
    request = Request(plain, headers={"User-Agent": "Earnest", **headers})
    if user:
        login = base64.b64encode(unquote(user).encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
    elif plain.startswith(f"{hub_address()}/") and (token := hub_token()):
        request.add_header("Authorization", f"Bearer {token}")
    places = tuple(map(os.environ.get, (*BUNDLES, *OF_SSL)))
    opener = build_opener(_Redirects, HTTPSHandler(context=_certificates(places)))
    try:
        reply = opener.open(request, timeout=TIMEOUT_S)
    except HTTPError as error:
        with error:
            raise _refusal(error, name) from None
    except (URLError, OSError, http.client.HTTPException) as error:
        raise _unreachable(getattr(error, "reason", error), name) from error
    if reply.headers.get_content_type() == "text/html":
        reply.close()
        raise DownloadError(f"{name} answered with a web page, perhaps the login page of a network")
    return reply


def _refusal(error: HTTPError, name: str) -> Exception:
    """What a state of HTTP means: to be raised."""
    said = f"{name} answered {error.code} {error.reason}".rstrip()
    if error.code in PASSING:
        wait = error.headers.get("Retry-After", "")
        return BrokenOffError(said, min(float(wait) if wait.isdecimal() else 0.0, LONGEST_PAUSE_S))
    if error.code == 416:
        return RangeError()
    if error.code == 407:
        return DownloadError(PROXY_LOGIN)
    if error.code in (401, 403):
        said += (
            ". If the model asks for an agreement, accept it on its page and set HF_TOKEN; else a "
            "network or proxy may forbid the address"
        )
    return DownloadError(said)


PROXY_LOGIN = (
    "the proxy wants a login: set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, with signs such as "
    "@ in the password written as %40"
)


def _unreachable(reason: Any, name: str) -> Exception:
    """Why no reply came: to be raised."""
    if isinstance(reason, ssl.SSLCertVerificationError):
        return DownloadError(
            f"{name}: the certificate is not trusted ({reason.verify_message}). If a proxy of your "
            "company reads TLS, set SSL_CERT_FILE to its CA bundle"
        )
    if str(reason).startswith("Tunnel connection failed: 4"):
        refused = f"{name}: the proxy refuses the connection ({reason})"
        return DownloadError(PROXY_LOGIN if ": 407" in str(reason) else refused)
    if isinstance(reason, socket.gaierror):
        return DownloadError(f"{name}: the host is not known here. Is there a network, or a proxy?")
    return BrokenOffError(f"no connection ({reason})")


@cache
def _certificates(places: tuple[str | None, ...]) -> ssl.SSLContext:
    """Read certificates once for all requests; the places are those of BUNDLES and OF_SSL."""
    context = ssl.create_default_context()
    for path in filter(None, places[: len(BUNDLES)]):
        folder = Path(path).is_dir()
        context.load_verify_locations(None if folder else path, path if folder else None)
    return context
