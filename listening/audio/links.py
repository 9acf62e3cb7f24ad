"""Clip URLs that betray nothing, and that only a browser of the same session can resolve."""

from __future__ import annotations

import hmac
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import HttpResponse

from listening.audio.store import local_path

if TYPE_CHECKING:
    from listening.models import Session, Trial

PATH = "/c/"
CONTENT = Struct(">16sQQB")  # served copy, session, trial, place of the clip in the trial
TAG_BYTES = 5  # selects the cookie; with it a token is 54 bytes, 72 characters without padding
TOKEN_CHARS = 72


def clip_url(served: str, session: Session, trial: Trial | None, place: int = 0) -> str:
    """The URL of a served copy in one trial: always the same one, and of the same length for all.

    `trial` is None for sounds outside the trials, like that of the volume page.
    """
    copy = bytes.fromhex(served.rpartition("/")[2].partition(".")[0])
    content = CONTENT.pack(copy, session.pk, trial.pk if trial else 0, place)
    key, tag_key = _keys(settings.SECRET_KEY)
    sealed = AESSIV(key).encrypt(content, [session.code.encode()])
    return PATH + urlsafe_b64encode(_tag(session.code, tag_key) + sealed).decode("ascii")


def clip_cookie(session: Session) -> tuple[str, str]:
    """Name and value of the cookie that opens this session's clips (path /c/, HttpOnly)."""
    tag = _tag(session.code, _keys(settings.SECRET_KEY)[1])
    return f"clip-{tag.hex()}", _signer().sign(session.code)


def set_clip_cookie(response: HttpResponse, session: Session) -> None:
    name, value = clip_cookie(session)
    response.set_cookie(
        name,
        value,
        path=PATH,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def resolve_clip(token: str, cookies: Mapping[str, str]) -> Path | None:
    """The file behind a token for a browser with these cookies; None for any other."""
    if len(token) != TOKEN_CHARS:
        return None
    try:
        raw = b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
        code = _signer().unsign(cookies[f"clip-{raw[:TAG_BYTES].hex()}"])
        content = AESSIV(_keys(settings.SECRET_KEY)[0]).decrypt(raw[TAG_BYTES:], [code.encode()])
    except (ValueError, KeyError, BadSignature, InvalidTag):
        return None
    copy = CONTENT.unpack(content)[0].hex()
    try:
        return local_path(f"served/{copy[:2]}/{copy}.flac")
    except OSError:  # the store does not have it, or does not answer
        return None


def _signer() -> Signer:
    return Signer(salt="listening.audio.links")


@lru_cache(maxsize=2)
def _keys(secret: str) -> tuple[bytes, bytes]:
    """The key of the sealed part and the key of the tag."""
    both = HKDF(SHA256(), length=96, salt=None, info=b"earnest clip urls, 1").derive(
        secret.encode()
    )
    return both[:64], both[64:]


def _tag(code: str, key: bytes) -> bytes:
    return hmac.digest(key, code.encode(), "sha256")[:TAG_BYTES]
