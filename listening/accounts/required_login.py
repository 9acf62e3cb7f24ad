"""Who needs a second factor, and is led to the page where one is added before anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from listening.accounts.sign_on import STRONG
from listening.models import Membership

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
OPEN_TO_ALL = frozenset(  # what somebody without a second factor reaches, to add one or leave
    (
        *("account", "account-do", "logout", "password", "account_reauthenticate"),
        *("mfa_activate_totp", "mfa_add_webauthn", "mfa_view_recovery_codes"),
        *("mfa_generate_recovery_codes", "mfa_reauthenticate", "mfa_reauthenticate_webauthn"),
        *("readyz", "metrics", "openid_connect_login", "openid_connect_callback"),
    )
)
SENTENCE = "Your account needs a second factor. Add an authenticator app or a key below."


def has_second_factor(user: Any) -> bool:
    return bool(who_have_one([user.pk]))


def who_have_one(users: Iterable[int]) -> set[int]:
    """Of these accounts those with a second factor of their own."""
    rows = Authenticator.objects.filter(user_id__in=list(users), type__in=FACTORS)
    return set(rows.values_list("user_id", flat=True))


def is_required(user: Any) -> bool:
    """Whether settings, or a project that it is in, ask this account for a second factor."""
    rule = settings.EARNEST_REQUIRE_TWO_FACTOR
    if rule == "all" or (rule == "superusers" and user.is_superuser):
        return True
    return Membership.objects.filter(user_id=user.pk, project__needs_two_factor=True).exists()


def lacks_second_factor(user: Any, session: Mapping[str, Any]) -> bool:
    """Whether one is asked for, and neither the account nor this log-in has one."""
    return is_required(user) and not session.get(STRONG) and not has_second_factor(user)


class TwoFactors:
    """Middleware after log-ins and messages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponseBase | None:
        match = request.resolver_match
        if match is None or match.view_name in OPEN_TO_ALL or not _is_page(match.view_name):
            return None
        if settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return None
        if not request.user.is_authenticated:
            return None
        if not lacks_second_factor(request.user, request.session):
            return None
        messages.warning(request, SENTENCE)
        return redirect("account")


def _is_page(name: str) -> bool:
    """Raters' pages know no accounts."""
    return not name.startswith("api-") and name not in ("landing", "session", "check-sound")
