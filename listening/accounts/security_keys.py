"""Security keys and passkeys: allauth's forms, whose credential is JSON that a browser sends.

allauth expects the JSON of a real key. Any other value is a wrong credential, never a server error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn import forms as allauth_forms
from django import forms
from django.core.exceptions import ValidationError

from listening.common.input_limits import CREDENTIAL_CHARACTERS
from listening.common.plain_json import JsonError, is_storable, read_json


class CredentialField(forms.JSONField):
    """The answer of a security key: a JSON object of bounded size, depth and numbers."""

    widget = forms.HiddenInput

    def to_python(self, value: Any) -> Any:
        try:
            credential = read_json(value or "null", most=CREDENTIAL_CHARACTERS)
        except JsonError as error:
            raise _incorrect() from error
        if not isinstance(credential, dict) or not is_storable(credential):
            raise _incorrect()
        extensions = credential.get("clientExtensionResults", {})
        if not isinstance(extensions, dict) or not isinstance(
            extensions.get("credProps", {}), dict
        ):
            raise _incorrect()
        return credential


def _incorrect() -> ValidationError:
    error: ValidationError = get_adapter().validation_error("incorrect_code")
    return error


@contextmanager
def _refused_if_malformed() -> Iterator[None]:
    """Refuse a credential whose parts have types or lengths that no key sends."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _incorrect() from error


class AddKey(allauth_forms.AddWebAuthnForm):  # type: ignore[misc]  # allauth is untyped
    credential = CredentialField()

    def clean(self) -> dict[str, Any]:
        with _refused_if_malformed():
            cleaned: dict[str, Any] = super().clean()
        return cleaned


class _UseKey(forms.Form):
    """Mixin of the forms that ask for a key which was added before."""

    credential = CredentialField()

    def clean_credential(self) -> Authenticator:
        with _refused_if_malformed():
            return super().clean_credential()  # type: ignore[misc]


class SecondFactorKey(_UseKey, allauth_forms.AuthenticateWebAuthnForm):  # type: ignore[misc]
    """The second factor of a login."""


class PasskeyLogin(_UseKey, allauth_forms.LoginWebAuthnForm):  # type: ignore[misc]
    """A login without a password."""


class ConfirmByKey(_UseKey, allauth_forms.ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """The proof of identity before an account changes."""
