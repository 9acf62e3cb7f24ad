"""POST to an address that was checked, or fetch a file from one, until a deadline.

A connection goes to one of the addresses that `webhook_urls` let through, and to nothing else; jobs
import this when they send, as the library for it is heavy.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpcore

from listening.notifications import webhook_urls
from listening.notifications.webhook_urls import Answer, NotReached

MOST_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
READ_BYTES = 2000  # of the answer; the rest is not waited for


class _Timed(httpcore.NetworkStream):
    """A connection on which everything together has until the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self.stream, self.deadline = stream, deadline

    def left_s(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("too slow")
        return left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.stream.read(max_bytes, self.left_s())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.stream.write(buffer, self.left_s())

    def close(self) -> None:
        self.stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        secured = self.stream.start_tls(ssl_context, server_hostname, self.left_s())
        return _Timed(secured, self.deadline)

    def get_extra_info(self, info: str) -> Any:
        return self.stream.get_extra_info(info)


class _Outside(httpcore.NetworkBackend):
    """Connects to addresses that were checked, and to nothing else."""

    def __init__(self, deadline: float, plain: bool) -> None:
        self.deadline, self.plain, self.backend = deadline, plain, httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = webhook_urls.addresses_of(host, port, plain=self.plain)
        for address in addresses:
            left = max(self.deadline - time.monotonic(), 0.1)
            try:
                return _Timed(self.backend.connect_tcp(address, port, left), self.deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if address == addresses[-1]:
                    raise
        raise NotReached(f"The name {host} is not known.")


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """The answer, whatever its status; NotReached without one, NotAllowed where it may not go."""
    *_, plain = webhook_urls.host_of(webhook_urls.checked_url(url))
    limit_s = webhook_urls.TIMEOUT_S
    deadline = time.monotonic() + limit_s
    sent = {"Content-Type": "application/json", "User-Agent": "Earnest", **headers}
    timeouts = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), limit_s)}
    with httpcore.ConnectionPool(
        ssl_context=ssl.create_default_context(), network_backend=_Outside(deadline, plain)
    ) as pool:
        try:
            with pool.stream(
                "POST", url, headers=_raw(sent), content=body, extensions=timeouts
            ) as reply:
                return Answer(reply.status, _start(reply), _retry_after(reply))
        except httpcore.TimeoutException:
            raise NotReached(f"No whole answer within {limit_s:g} seconds.") from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise NotReached(f"No answer: {error or type(error).__name__}") from None


def download(url: str, target: Path, most_bytes: int, timeout_s: float) -> None:
    """Fetch a file; ValueError says why an address is not called, OSError why no file came.

    Redirects are followed, each address being checked as the first one is.
    """
    deadline = time.monotonic() + timeout_s
    timeouts = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout_s)}
    for _ in range(MOST_REDIRECTS):
        *_, plain = webhook_urls.host_of(webhook_urls.checked_url(url))
        with httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(), network_backend=_Outside(deadline, plain)
        ) as pool:
            try:
                sent = _raw({"User-Agent": "Earnest", "Accept": "*/*"})
                with pool.stream("GET", url, headers=sent, extensions=timeouts) as reply:
                    headers = {name.lower(): value for name, value in reply.headers}
                    if reply.status in REDIRECTS and b"location" in headers:
                        url = urljoin(url, headers[b"location"].decode("latin-1"))
                        continue
                    if reply.status != 200:
                        raise OSError(f"the server answered {reply.status}")
                    _save(reply, target, most_bytes)
                    return
            except httpcore.TimeoutException:
                raise OSError(f"no whole answer within {timeout_s:.0f} seconds") from None
            except (httpcore.NetworkError, httpcore.ProtocolError, NotReached) as error:
                raise OSError(f"no answer: {error or type(error).__name__}") from None
    raise OSError(f"more than {MOST_REDIRECTS} redirects")


def _save(reply: httpcore.Response, target: Path, most_bytes: int) -> None:
    size = 0
    with target.open("wb") as file:
        for part in reply.iter_stream():
            size += len(part)
            if size > most_bytes:
                raise OSError(f"larger than {most_bytes // 1024**2:,} MB")
            file.write(part)


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def _start(reply: httpcore.Response) -> str:
    """How the answer begins, for the log of deliveries."""
    read = b""
    for part in reply.iter_stream():
        read += part
        if len(read) >= READ_BYTES:
            break
    text = read[:READ_BYTES].decode(errors="replace")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:200]


def _retry_after(reply: httpcore.Response) -> float:
    seconds = {name.lower(): value for name, value in reply.headers}.get(b"retry-after", b"")
    return float(seconds) if seconds.isdigit() and len(seconds) < 7 else 0.0
