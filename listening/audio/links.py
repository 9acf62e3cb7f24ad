"""Clip URLs that reveal nothing and work in one session only, and the responses to them."""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import SEEK_END, BytesIO
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import FileResponse, HttpResponse, HttpResponseBase

from listening.audio.store import local_path

if TYPE_CHECKING:
    from listening.models import Session


PATH = f"{settings.EARNEST_PATH}/c/"
CHECK_PATH = f"{settings.EARNEST_PATH}/k/"
CONTENT = Struct(">16sQQB")  # served copy, session, trial, place of the clip in the trial
IN_STEP = 0x80  # of the last byte: the trial's clips play together
TAG_BYTES = 5  # selects the cookie; with it a token is 54 bytes, 72 characters without padding
TOKEN_CHARS = 72
CHECK_CONTENT = Struct(">32sHH")  # key of the check, attempt, place of the sound in the attempt
CHECK_TOKEN_CHARS = 76
CHECK = b"check"  # sealed along, so that neither kind of token passes for the other
RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")
PIECE_BYTES = 4 * 1024 * 1024  # of a long clip at a time


class Numbered(Protocol):
    """A trial, as far as its clips' addresses know it."""

    @property
    def pk(self) -> int: ...


class Listens(Numbered, Protocol):
    """A session, likewise."""

    @property
    def code(self) -> str: ...


@dataclass(frozen=True)
class ClipRequest:
    """What a browser may have: which copy, for which trial (0 outside the trials) and place."""

    token: str
    copy: Path
    trial: int
    place: int
    in_step: bool


def clip_url(
    served: str, session: Listens, trial: Numbered | None, place: int = 0, *, in_step: bool = False
) -> str:
    """The URL of a served copy in one trial: always the same one, and of the same length for all.

    `trial` is None for sounds outside the trials, like a task's examples; `in_step` says that the
    trial's clips play together.
    """
    copy = bytes.fromhex(served.rpartition("/")[2].partition(".")[0])
    last = place | (IN_STEP if in_step else 0)
    content = CONTENT.pack(copy, session.pk, trial.pk if trial else 0, last)
    return PATH + _sealed(content, session.code)


def check_url(session: Listens, key: str, attempt: int, place: int) -> str:
    """The URL of one sound of a check: always the same one, and of the same length for all."""
    name = key.encode()
    if not 0 < len(name) <= 32:
        raise ValueError(f"The key of a check has 1 to 32 bytes; {key!r} has {len(name)}.")
    return CHECK_PATH + _sealed(CHECK_CONTENT.pack(name, attempt, place), session.code, CHECK)


def clip_cookie(session: Session) -> tuple[str, str]:
    """Name and value of the cookie that opens this session's clips (path /c/, HttpOnly)."""
    return _cookie("clip", session)


def check_cookie(session: Session) -> tuple[str, str]:
    """The same for the sounds of its checks (path /k/): one name cannot have two paths."""
    return _cookie("check", session)


def _cookie(kind: str, session: Session) -> tuple[str, str]:
    tag = _tag(session.code, _keys(settings.SECRET_KEY)[1])
    name = f"{settings.SECURE_COOKIE}{kind}-{tag.hex()}"
    return name, _signer().sign(session.code)


def set_clip_cookie(response: HttpResponse, session: Session) -> None:
    """Lets the browser open the session's clips and the sounds of its checks."""
    for path, (name, value) in (PATH, clip_cookie(session)), (CHECK_PATH, check_cookie(session)):
        response.set_cookie(
            name,
            value,
            path=path,
            httponly=True,
            samesite="Lax",
            secure=settings.SESSION_COOKIE_SECURE,
        )


def resolve_clip(token: str, cookies: Mapping[str, str]) -> ClipRequest | None:
    """What is behind a token for a browser with these cookies; None for any other."""
    opened = _opened(token, TOKEN_CHARS, cookies, "clip-")
    if opened is None:
        return None
    copy, _, trial, last = CONTENT.unpack(opened[0])
    try:
        path = local_path(served_name(copy.hex()))
    except OSError:  # the store does not have it, or does not answer
        return None
    return ClipRequest(token, path, trial, last & ~IN_STEP, bool(last & IN_STEP))


def served_copy_of(url: str, code: str) -> str:
    """The storage name of the copy behind a clip's address in the session with this code."""
    return served_name(_content_of(url, code)[0].hex())


def place_of(url: str, code: str) -> tuple[int, int]:
    """The trial (0 outside the trials) and the place in it of a clip's address."""
    _, _, trial, last = _content_of(url, code)
    return trial, last & ~IN_STEP


def _content_of(url: str, code: str) -> tuple[bytes, int, int, int]:
    raw = b64decode(url.removeprefix(PATH).encode("ascii"), altchars=b"-_", validate=True)
    content = _keys(settings.SECRET_KEY)[0].decrypt(raw[TAG_BYTES:], [code.encode()])
    copy, session, trial, last = CONTENT.unpack(content)
    return copy, session, trial, last


def served_name(copy: str) -> str:
    return f"served/{copy[:2]}/{copy}.flac"


def resolve_check(token: str, cookies: Mapping[str, str]) -> tuple[str, str, int, int] | None:
    """Session code, key, attempt and place for a browser with these cookies; None for any other."""
    opened = _opened(token, CHECK_TOKEN_CHARS, cookies, "check-", CHECK)
    if opened is None:
        return None
    content, code = opened
    name, attempt, place = CHECK_CONTENT.unpack(content)
    return code, name.rstrip(b"\0").decode(), attempt, place


def _sealed(content: bytes, code: str, *purpose: bytes) -> str:
    return _sealed_with(settings.SECRET_KEY, content, code, *purpose)


@lru_cache(maxsize=8192)  # those of a task's examples are told with every answer
def _sealed_with(secret: str, content: bytes, code: str, *purpose: bytes) -> str:
    cipher, tag_key = _keys(secret)
    sealed = cipher.encrypt(content, [code.encode(), *purpose])
    return urlsafe_b64encode(_tag(code, tag_key) + sealed).decode("ascii")


def _opened(
    token: str, length: int, cookies: Mapping[str, str], prefix: str, *purpose: bytes
) -> tuple[bytes, str] | None:
    """What was sealed, and the code of the session for which it was."""
    if len(token) != length:
        return None
    try:
        raw = b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
        name = settings.SECURE_COOKIE + prefix + raw[:TAG_BYTES].hex()
        code = _signer().unsign(cookies[name])
        about = [code.encode(), *purpose]
        return _keys(settings.SECRET_KEY)[0].decrypt(raw[TAG_BYTES:], about), code
    except (ValueError, KeyError, BadSignature, InvalidTag):
        return None


def _signer() -> Signer:
    return Signer(salt="listening.audio.links")


@lru_cache(maxsize=2)
def _keys(secret: str) -> tuple[AESSIV, bytes]:
    """What seals, and the key of the tag."""
    both = HKDF(SHA256(), length=96, salt=None, info=b"earnest clip urls, 1").derive(
        secret.encode()
    )
    return AESSIV(both[:64]), both[64:]


@lru_cache(maxsize=8192)  # of a session
def _tag(code: str, key: bytes) -> bytes:
    return hmac.digest(key, code.encode(), "sha256")[:TAG_BYTES]


def flac_response(flac: Path | bytes, wanted: str) -> HttpResponseBase:
    """The FLAC file, or the part of it that the header Range, ``wanted``, names."""
    response = piece_of(flac, wanted)
    response["Content-Type"] = "audio/flac"
    response["Accept-Ranges"] = "bytes"
    return response


def piece_of(content: Path | bytes, wanted: str) -> HttpResponseBase:
    """A file, or the part of it that the header Range, ``wanted``, names; its kind is not set."""
    file = BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    byte_range = RANGE.fullmatch(wanted)
    if byte_range is None:
        return FileResponse(file)
    with file:
        size, start = file.seek(0, SEEK_END), int(byte_range[1])
        if start >= size:
            return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
        end = int(byte_range[2]) if byte_range[2] else size - 1
        last = min(end, size - 1, start + PIECE_BYTES - 1)
        file.seek(start)
        piece = file.read(max(last - start + 1, 0))
    span = f"bytes {start}-{last}/{size}"
    return HttpResponse(piece, status=206, headers={"Content-Range": span})
