"""POST to an address that a researcher named: never into the network that the server stands in.

A name is resolved once, every address of it is checked, and the connection goes to one that was
checked (so that a second look-up cannot lead elsewhere). Redirects are not followed, no proxy is
used, and however slowly the other side talks, all of it ends after `TIMEOUT_S`.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import secrets
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpcore
from django.conf import settings

TIMEOUT_S = 15.0
LONGEST_URL = 1000
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.ip_network("64:ff9b::/96")
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")  # of IPv6: IANA has given out nothing else
# Some versions of Python call these global: anycast to 6to4 relays, site-local, documentation.
NOT_GLOBAL = tuple(map(ipaddress.ip_network, ("192.88.99.0/24", "fec0::/10", "3fff::/20")))
READ_BYTES = 2000  # of the answer; the rest is not waited for
PREFIX = "whsec_"
SECRET_BYTES = 32


class NotAllowed(ValueError):
    """An address that is not called; the message says why and what helps."""


class NotReached(Exception):
    """No answer came; the message says why."""


@dataclass(frozen=True)
class Answer:
    status: int
    said: str
    retry_after_s: float = 0.0


def checked_url(url: str) -> str:
    """The address, if it may be one of a webhook; where its name leads is checked at each call."""
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise NotAllowed("This is no web address.") from None
    if parts.scheme not in ("http", "https") or not host or len(url) > LONGEST_URL:
        raise NotAllowed("Give a whole web address, such as https://example.org/hook.")
    if parts.username or parts.password or parts.fragment or not url.strip().isascii():
        raise NotAllowed("Leave out user name, password, # and signs that are not ASCII.")
    if any(sign.isspace() for sign in url.strip()):
        raise NotAllowed("A web address has no spaces.")
    return url.strip()


def _embedded(address: Address) -> Address:
    """The IPv4 address that one of IPv6 stands for, where it does."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address


def host_of(url: str) -> tuple[str, int, bool]:
    """Name, port, and whether what is sent can be read on the way."""
    parts = urlsplit(url)
    plain = parts.scheme == "http"
    return parts.hostname or "", parts.port or (80 if plain else 443), plain


def all_named(addresses: Iterable[str]) -> bool:
    """Whether all of them are in networks that the operator named: http will do there."""
    return all(named_networks(_embedded(ipaddress.ip_address(each))) for each in addresses)


def named_networks(address: Address) -> bool:
    """Whether the operator lets webhooks reach it (EARNEST_WEBHOOK_NETWORKS)."""
    return any(address in network for network in settings.EARNEST_WEBHOOK_NETWORKS)


def is_allowed(text: str) -> bool:
    """Whether an address, and the IPv4 address that it may stand for, are reached from anywhere."""
    outer = ipaddress.ip_address(text.partition("%")[0])
    inner = _embedded(outer)
    if named_networks(outer) or named_networks(inner):
        return True
    if inner == outer and isinstance(outer, ipaddress.IPv6Address) and outer not in GLOBAL_UNICAST:
        return False
    special = inner.is_multicast or inner.is_reserved or not inner.is_global
    return not special and not any(inner in network for network in NOT_GLOBAL)


def addresses_of(host: str, port: int, *, plain: bool = False) -> list[str]:
    """All that a name leads to; NotAllowed where one is inside, or plain http goes outside."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotReached(f"The name {host} is not known.") from None
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if not all(map(is_allowed, addresses)):
        raise NotAllowed(
            f"{host} is in a private network, which this server does not call. Its operator can "
            "allow it: EARNEST_WEBHOOK_NETWORKS."
        )
    if plain and not all_named(addresses):
        raise NotAllowed("Give an address with https: without, others can read what is sent.")
    return addresses


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
        addresses = addresses_of(host, port, plain=self.plain)
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
    *_, plain = host_of(checked_url(url))
    deadline = time.monotonic() + TIMEOUT_S
    sent = {"Content-Type": "application/json", "User-Agent": "Earnest", **headers}
    timeouts = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), TIMEOUT_S)}
    with httpcore.ConnectionPool(
        ssl_context=ssl.create_default_context(), network_backend=_Outside(deadline, plain)
    ) as pool:
        try:
            with pool.stream(
                "POST", url, headers=_raw(sent), content=body, extensions=timeouts
            ) as reply:
                return Answer(reply.status, _start(reply), _retry_after(reply))
        except httpcore.TimeoutException:
            raise NotReached(f"No whole answer within {TIMEOUT_S:g} seconds.") from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise NotReached(f"No answer: {error or type(error).__name__}") from None


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
    told = {name.lower(): value for name, value in reply.headers}.get(b"retry-after", b"")
    return float(told) if told.isdigit() and len(told) < 7 else 0.0


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, code: str, timestamp: int, body: bytes) -> str:
    """Of the id, the time of this try and the body, just as they are sent."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = b".".join((code.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


def headers(keys: Iterable[str], code: str, timestamp: int, body: bytes) -> dict[str, str]:
    """One signature for each secret: while one is replaced, both are good."""
    return {
        "webhook-id": code,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(key, code, timestamp, body) for key in keys),
    }
