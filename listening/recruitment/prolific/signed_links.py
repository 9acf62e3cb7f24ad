"""Prolific's signed links: who opens one comes from Prolific, with the ids that it names.

A study whose link is "secure" on Prolific gets ``prolific_token`` beside the ids: a JWT signed with
RS256, good for two minutes. Unsigned ids in an address prove nothing: anybody can write them.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import jwt
from django.conf import settings

ISSUER = "https://www.prolific.com"
KEYS_PATH = "/.well-known/study/jwks.json"
KEYS_CACHE_S = 24 * 3600
ASKED_AGAIN_S = 60.0  # at most so often, whoever sends tokens with made-up keys
LEEWAY_S = 60.0  # between Prolific's clock and ours
log = logging.getLogger(__name__)


@dataclass
class _Keys:
    """Prolific's public keys, fetched when one is unknown or a day has passed."""

    known: dict[str, Any] = field(default_factory=dict)
    asked_at: float = float("-inf")

    def named(self, kid: str) -> Any | None:
        age_s = time.monotonic() - self.asked_at
        if age_s > (KEYS_CACHE_S if kid in self.known else ASKED_AGAIN_S):
            self.asked_at = time.monotonic()
            try:
                client = jwt.PyJWKClient(settings.EARNEST_PROLIFIC_API + KEYS_PATH, timeout=5)
                self.known = {str(key.key_id): key.key for key in client.get_signing_keys()}
            except jwt.PyJWTError as error:
                log.warning("Prolific's keys could not be fetched: %s", error)
        return self.known.get(kid)


_keys = _Keys()


def is_signed_for(token: str, *, path: str, prolific_id: str, session: str) -> bool:
    """Whether Prolific has signed that this participant, in this submission, opens this page now.

    Signature, issuer, time, page (scheme and query aside), submission and participant must fit.
    """
    try:
        key = _keys.named(str(jwt.get_unverified_header(token).get("kid", "")))
        if key is None:
            return False
        required = ["exp", "iat", "iss", "sub", "aud"]
        claims = jwt.decode(
            token,
            key,
            algorithms=["RS256"],
            issuer=ISSUER,
            leeway=LEEWAY_S,
            options={"require": required, "verify_aud": False},  # it has a query: see below
        )
        page = urlsplit(str(claims["aud"]))
    except (
        jwt.PyJWTError,
        ValueError,
    ):  # or the audience is no address
        return False
    own = urlsplit(settings.EARNEST_PUBLIC_URL)
    signed = claims.get("prolific")
    participant = signed.get("PROLIFIC_PID", "") if isinstance(signed, dict) else ""
    return (
        (page.netloc, page.path.rstrip("/")) == (own.netloc, path.rstrip("/"))
        and claims["sub"] == session
        and str(participant).lower() == prolific_id
    )
