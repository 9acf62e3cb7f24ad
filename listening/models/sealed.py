"""Ids from elsewhere, sealed at rest: without the server's key a copy of them names nobody."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import models

MARK = "sealed:"
UNREADABLE = "(sealed with another key)"


@lru_cache(maxsize=2)
def _cipher(secret: str) -> AESSIV:
    key = HKDF(SHA256(), length=64, salt=None, info=b"earnest sealed ids, 1")
    return AESSIV(key.derive(secret.encode()))


def seal(value: str) -> str:
    """The same for the same value, so that the database can look it up and keep it unique."""
    sealed = _cipher(settings.SECRET_KEY).encrypt(value.encode(), None)
    return MARK + urlsafe_b64encode(sealed).decode()


def unseal(stored: str) -> str:
    """The value; one that was sealed with a key that is lost cannot be read again."""
    if not stored.startswith(MARK):
        return stored
    try:
        sealed = urlsafe_b64decode(stored.removeprefix(MARK))
        return _cipher(settings.SECRET_KEY).decrypt(sealed, None).decode()
    except (ValueError, InvalidTag):
        return UNREADABLE


if TYPE_CHECKING:
    TextField = models.CharField[Any, Any]
else:
    TextField = models.CharField


class SealedCharField(TextField):
    """Text that only the server reads; "" and NULL stay. `max_length` is that of the seal."""

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return seal(value) if value else value

    def from_db_value(self, value: str | None, *_: object) -> str | None:
        return unseal(value) if value else value
