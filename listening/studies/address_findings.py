"""Whether raters can reach this server at all, by the address that it gives them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from listening.studies.findings import Finding, warning


def address_findings() -> Iterator[Finding]:
    """A warning where the link of a study opens on this machine or in its network alone."""
    url = str(settings.EARNEST_PUBLIC_URL)
    reach = _reach(urlsplit(url).hostname or "")
    if reach:
        yield warning(
            f"Raters are sent to {url}, which {reach}.",
            "Your administrator sets the public address (EARNEST_PUBLIC_URL). For a lab session at "
            "this computer, leave it.",
        )


def _reach(host: str) -> str:
    """Who alone can open the address; empty where the internet can, as far as a name shows."""
    if host == "localhost" or host.endswith((".localhost", ".local")):
        return "opens on this machine or in its network only"
    try:
        address = ip_address(host)
    except ValueError:
        return "" if "." in host else "opens in its own network only"
    if address.is_loopback:
        return "opens on this machine only"
    return "opens in its own network only" if address.is_private else ""
