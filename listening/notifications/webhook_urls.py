"""Where webhooks may be sent, and how they are signed: never into the server's own network.

A name is resolved once, every address of it is checked, and the connection goes to one that was
checked (so that a second look-up cannot lead elsewhere). Redirects are not followed, no proxy is
used, and however slowly the other side talks, all of it ends after `TIMEOUT_S`. `posting` sends.
Signatures are those of standardwebhooks.com: HMAC-SHA256, version v1.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

TIMEOUT_S = 15.0
LONGEST_URL = 1000
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.ip_network("64:ff9b::/96")
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")  # of IPv6: IANA has given out nothing else
# Some versions of Python call these global: anycast to 6to4 relays, site-local, documentation.
NOT_GLOBAL = tuple(map(ipaddress.ip_network, ("192.88.99.0/24", "fec0::/10", "3fff::/20")))
PREFIX = "whsec_"
SECRET_BYTES = 32


class NotAllowed(ValueError):
    """An address that is not called; the message says why and what helps."""


class NotReached(Exception):
    """No answer came; the message says why."""


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    retry_after_s: float = 0.0


def checked_url(url: str) -> str:
    """The address, if it may be one of a webhook; where its name leads is checked at each call."""
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise NotAllowed("This is not a web address.") from None
    if parts.scheme not in ("http", "https") or not host or len(url) > LONGEST_URL:
        raise NotAllowed("Enter a full web address, such as https://example.org/hook.")
    if parts.username or parts.password or parts.fragment or not url.strip().isascii():
        raise NotAllowed("Remove user name, password, # and non-ASCII characters.")
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
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotReached(f"The name {host} is not known.") from None
    addresses = list(dict.fromkeys(str(each[4][0]) for each in entries))
    if not all(map(is_allowed, addresses)):
        raise NotAllowed(
            f"{host} is in a private network, which this server does not call. Its operator can "
            "allow it: EARNEST_WEBHOOK_NETWORKS."
        )
    if plain and not all_named(addresses):
        raise NotAllowed("Give an address with https: otherwise others can read the messages.")
    return addresses


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
