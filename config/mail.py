"""The mail server that settings name: where it is, and from whom mails come."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, unquote

from config.environment import wrong

SMTP = "django.core.mail.backends.smtp.EmailBackend"
PORTS = {"smtp": 587, "smtps": 465}
TIMEOUT_S = 20


def mail_server(url: SplitResult | None, sender: str) -> dict[str, Any]:
    """How Django's mail back end is opened; empty where no server is named."""
    if url is None:
        return {}
    if "@" not in sender:
        expected = "it must be the address that mails come from, like earnest@uni.example.org."
        raise wrong("EARNEST_MAIL_FROM", sender, expected)
    return {
        "backend": SMTP,
        "host": url.hostname,
        "port": url.port or PORTS[url.scheme],
        "username": unquote(url.username or ""),
        "password": unquote(url.password or ""),
        "use_ssl": url.scheme == "smtps",
        "use_tls": url.scheme == "smtp" and url.hostname not in ("127.0.0.1", "localhost"),
        "timeout": TIMEOUT_S,
    }
