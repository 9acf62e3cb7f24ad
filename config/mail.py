"""The mail server that settings name: where it is, and from whom mails come."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from config.environment import Environment, wrong

SMTP = "django.core.mail.backends.smtp.EmailBackend"
PORTS = {"smtp": 587, "smtps": 465}
TIMEOUT_S = 20


def mail_server(env: Environment) -> tuple[dict[str, Any], str]:
    """How Django's mail back end is opened, and the sender; empty where no server is named."""
    url = env.url("EARNEST_MAIL", tuple(PORTS), "smtp://user:password@mail.example.org:587")
    sender = env.text("EARNEST_MAIL_FROM")
    if url is None:
        return {}, sender
    if "@" not in sender:
        raise wrong("EARNEST_MAIL_FROM", sender, "the address that mails come from")
    return {
        "backend": SMTP,
        "host": url.hostname,
        "port": url.port or PORTS[url.scheme],
        "username": unquote(url.username or ""),
        "password": unquote(url.password or ""),
        "use_ssl": url.scheme == "smtps",
        "use_tls": url.scheme == "smtp" and url.hostname not in ("127.0.0.1", "localhost"),
        "timeout": TIMEOUT_S,
    }, sender
