"""The page Account: password, second factors, sign-on, and where one is logged in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.account.decorators import reauthentication_required
from allauth.mfa.models import Authenticator
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from listening.accounts import logins, sign_on
from listening.accounts.required_login import is_required, lacks_second_factor
from listening.common.counted import counted
from listening.common.views import logged_in_page, logged_in_post


@logged_in_page
def page(request: HttpRequest) -> HttpResponse:
    user = _account(request)
    here = logins.log_ins_of(user, request)
    context = {
        **_factors_of(user),
        "required": is_required(user),
        "lacks": lacks_second_factor(user, request.session),
        "by_provider": bool(request.session.get(sign_on.STRONG)),
        "connections": sign_on.connections_of(user),
        "has_password": user.has_usable_password(),
        "log_ins": here[: logins.MOST_SHOWN],
        "more": max(0, len(here) - logins.MOST_SHOWN),
        "others": len([each for each in here if not each.here]),
    }
    return render(request, "registration/account.html", context)


def _account(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # all that is asked here wants a log-in
    return User.objects.get(pk=request.user.pk)


def _factors_of(user: User) -> dict[str, Any]:
    """The app, the keys by name, and how many recovery codes are left."""
    rows = list(Authenticator.objects.filter(user=user).order_by("created_at"))
    codes = next((row for row in rows if row.type == Authenticator.Type.RECOVERY_CODES), None)
    return {
        "app": next((row for row in rows if row.type == Authenticator.Type.TOTP), None),
        "keys": [
            {"row": row, "name": row.wrap().name, "passkey": row.wrap().is_passwordless}
            for row in rows
            if row.type == Authenticator.Type.WEBAUTHN
        ],
        "codes": codes,
        "codes_left": len(codes.wrap().get_unused_codes()) if codes else 0,
    }


# --- What can be done ----------------------------------------------------------------------------


@never_cache
@logged_in_post
def do(request: HttpRequest) -> HttpResponse:
    action = ACTIONS.get(request.POST.get("action", ""))
    if action is None:
        messages.error(request, "This action does not exist.")
        return redirect("account")
    return action(request)


again = reauthentication_required(app="allauth.account")


@again  # type: ignore[untyped-decorator]
def _end(request: HttpRequest) -> HttpResponse:
    pk = request.POST.get("log_in", "")
    known = pk.isdecimal() and len(pk) < 18
    ended = logins.end(_account(request), request, int(pk)) if known else 0
    words = "Browser logged out." if ended else "This login had already ended."
    messages.success(request, words)
    return redirect("account")


@again  # type: ignore[untyped-decorator]
def _end_others(request: HttpRequest) -> HttpResponse:
    ended = logins.end(_account(request), request)
    others = counted(ended, "other browser")
    messages.success(request, f"{others} logged out. You are now logged in only here.")
    return redirect("account")


@again  # type: ignore[untyped-decorator]
def _disconnect(request: HttpRequest) -> HttpResponse:
    user = _account(request)
    if not user.has_usable_password():
        messages.error(request, "Your account has no password, so you could no longer log in.")
        return redirect("account")
    pk = request.POST.get("connection", "")
    name = sign_on.disconnect(user, int(pk)) if pk.isdecimal() and len(pk) < 18 else ""
    words = f"{name} disconnected." if name else "It was not connected."
    messages.success(request, words)
    return redirect("account")


ACTIONS: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "end": _end,
    "end-others": _end_others,
    "disconnect": _disconnect,
}
