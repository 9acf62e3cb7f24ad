"""Signatures of webhooks as standardwebhooks.com has them: HMAC-SHA256, version v1."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
SECRET_BYTES = 32


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
