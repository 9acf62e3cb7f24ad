"""What allauth asks the house: addresses, names, seals, and who may come in."""

from __future__ import annotations

import base64
import ipaddress
import secrets
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.providers.base import AuthError
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from listening.accounts import sign_on
from listening.models.sealed import UNREADABLE, seal, unseal

NO_ADDRESS = "0.0.0.0"  # what has none: a proxy that speaks over a socket
TOO_MANY = "Too many wrong attempts. Wait five minutes, then try again."
INCORRECT = (
    "This code is not valid. App codes last 30 seconds and work once, so wait for the next one. "
    "If it fails again, check the clock of your device. Recovery codes also work only once."
)


def refused(request: HttpRequest, title: str, *sentences: str, status: int = 403) -> HttpResponse:
    """The page that says why somebody cannot come in, and what to do."""
    words = {"title": title, "sentences": sentences}
    return render(request, "registration/refused.html", words, status=status)


class Accounts(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Accounts are made by invitations, by sign-on as its rules allow, and by commands."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "incorrect_password": "This is not the password of your account.",
        "too_many_login_attempts": TOO_MANY,
        "rate_limited": TOO_MANY,
    }

    def get_client_ip(self, request: HttpRequest) -> str:
        address = request.META.get("CLIENT_ADDRESS") or request.META.get("REMOTE_ADDR", "")
        try:
            return str(ipaddress.ip_address(address))
        except ValueError:
            return NO_ADDRESS

    def is_safe_url(self, url: str | None) -> bool:
        """Whether a login may go on to that page; half an IPv6 address is no address."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_login_stages(self) -> list[str]:
        return ["allauth.mfa.stages.AuthenticateStage"]

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        return refused(request, "Account deactivated", "Ask your administrator.")


class SecondFactors(DefaultMFAAdapter):  # type: ignore[misc]
    """Secrets are sealed with the server's key; who needs a second factor keeps one."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": INCORRECT,
        "cannot_generate_recovery_codes": "Add a second factor first. Recovery codes come with it.",
    }

    def encrypt(self, text: str) -> str:
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """One that was sealed with another key fits no code: nothing known stands in its place."""
        secret = unseal(encrypted_text)
        if secret == UNREADABLE:
            return base64.b32encode(secrets.token_bytes(40)).decode()
        return secret

    def get_totp_label(self, user: User) -> str:
        return user.get_username()

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        return f"Key {Authenticator.objects.filter(user=user, type=type).count() + 1}"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        host = context.request.get_host().rpartition("@")[2]
        return {"id": host.partition(":")[0], "name": "Earnest"}

    def get_public_key_credential_user_entity(self, user: User) -> dict[str, Any]:
        name = user.get_username()
        return {**super().get_public_key_credential_user_entity(user), "name": name}


class SignOns(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Who comes by a provider: known by its number there, never by a mail address."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        if reason := sign_on.why_not(sociallogin):
            raise ImmediateHttpResponse(refused(request, "No account found", *reason))
        return True

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> User:
        """A name to be called by, and an address if the provider has checked it; no more."""
        user: User = sociallogin.user
        address = sign_on.checked_address(sociallogin)
        user.username = str(data.get("username") or address.partition("@")[0])[:150]
        user.email = address
        return user

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> User:
        sociallogin.email_addresses = []
        return super().save_user(request, sociallogin, form)  # type: ignore[no-any-return]

    def get_requests_session(self) -> Any:
        """A provider answers where it said; what leads elsewhere is not followed."""
        session = super().get_requests_session()
        session.max_redirects = 0
        return session

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("account")

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        raise ImmediateHttpResponse(failed(request, str(provider.name), error, exception))


def failed(
    request: HttpRequest, name: str, error: Any = None, exception: Exception | None = None
) -> HttpResponse:
    """A log-in that a provider did not bring to an end."""
    if error == AuthError.CANCELLED:
        return refused(request, "Login cancelled", f"You cancelled the login at {name}.")
    if exception is None:
        why = "The login expired, or you started it in another browser or window. Try again."
    else:
        sign_on.log.warning("a sign-on by %s failed: %s", name, exception)
        why = f"{name} returned an unexpected response. See the server log for details."
    return refused(request, "Login failed", why, status=401)
