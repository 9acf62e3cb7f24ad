"""Log-ins: how long they last, and what is logged of them and of what was refused."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from allauth.account.authentication import get_authentication_records
from allauth.mfa import signals as factors
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import auth
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.limits import client_address, keyed
from config.operations.logs import route_of
from listening.common.ages import age_s

LONGEST_S = 7 * 24 * 3600  # then a log-in ends, however busy; settings name the idle time
NOTED_EVERY_S = 600  # the time of the last request is written down no more often
BEGAN, SEEN = "logged_in_at", "seen_at"
LOGIN = str(settings.LOGIN_URL)
NOT_FOR_PEOPLE = ("readyz", "metrics")  # these answer while the database is away
REFUSED = (400, 401, 403, 413, 415, 422)
log = logging.getLogger(__name__)


class LogIns:
    """Middleware after authentication: ends old log-ins, and logs what was refused."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.method == "POST" and response.headers.get("Location", "").startswith(
            f"{LOGIN}?next="
        ):
            response["Location"] = f"{LOGIN}?{urlencode({'next': page_of(request)})}"
        user = getattr(request, "_cached_user", None)  # who asked, if anything looked
        known = user is not None and user.is_authenticated
        hidden = response.status_code == 404 and known and request.resolver_match is not None
        if response.status_code in REFUSED or hidden:
            who = f"account {user.pk}" if known and user is not None else "nobody's account"
            words = "%s was refused with %d to %s from %s"
            log.info(words, route_of(request), response.status_code, who, from_where(request))
        return response

    def process_view(self, request: HttpRequest, *_: object) -> None:
        match = request.resolver_match
        view_name = match.view_name if match else ""
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or view_name in NOT_FOR_PEOPLE:
            return
        if not request.user.is_authenticated:
            return
        now, session = int(time.time()), request.session
        began = session.setdefault(BEGAN, now)
        if age_s(began, now) == math.inf:  # the clock went back: it ends a week from now at most
            began = session[BEGAN] = now
        if now - began > LONGEST_S:
            auth.logout(request)
        elif age_s(session.get(SEEN, 0), now) > NOTED_EVERY_S:
            session[SEEN] = now
            UserSession.objects.create_from_request(request)  # for the list of one's log-ins


def page_of(request: HttpRequest) -> str:
    """The page whose button was pressed: after a log-in it is shown again, where the button's own
    address would answer 405."""
    referer = urlsplit(request.headers.get("Referer", ""))
    same = referer.netloc == request.get_host() and referer.path.startswith("/")
    return (
        f"{referer.path}?{referer.query}".rstrip("?") if same else str(settings.LOGIN_REDIRECT_URL)
    )


def from_where(request: HttpRequest | None) -> str:
    """One address has one number while the server's key stays; the address is in no log."""
    address = client_address(request) if request is not None else ""
    return f"address #{keyed(address)[:8]}"


@receiver(user_logged_in)
def log_in(sender: object, request: HttpRequest, user: Any, **_: object) -> None:
    request.session[BEGAN] = request.session[SEEN] = int(time.time())
    words = "account %s logged in with %s, from %s"
    log.info(words, user.pk, proofs_of(request, user), from_where(request))


def proofs_of(request: HttpRequest, user: Any) -> str:
    """By what somebody has shown who they are, in this log-in."""
    words_for = {"password": "a password", "totp": "a code", "webauthn": "a key"}
    words_for["recovery_codes"] = "a recovery code"
    proofs = []
    for record in get_authentication_records(request, user):
        kind = str(record.get("type") or record["method"])
        by_provider = f"sign-on {record['provider']}" if "provider" in record else ""
        proofs.append(by_provider or words_for.get(kind, kind))
    return " and ".join(dict.fromkeys(proofs)) or "a link"


@receiver(user_logged_out)
def log_out(sender: object, request: HttpRequest, user: Any, **_: object) -> None:
    log.info("account %s logged out, from %s", user.pk if user else "?", from_where(request))


@receiver(user_login_failed)
def log_failure(sender: object, request: HttpRequest | None = None, **_: object) -> None:
    """Neither the name, which may be a mistyped password, nor the address stands in logs."""
    log.warning("a login failed, from %s", from_where(request))


@receiver(factors.authentication_failed)
def log_wrong_factor(sender: object, request: HttpRequest, user: Any, **_: object) -> None:
    log.warning("a second factor of account %s was wrong, from %s", user.pk, from_where(request))


@receiver(factors.authenticator_added)
@receiver(factors.authenticator_removed)
@receiver(factors.authenticator_reset)
def log_changed_factor(
    sender: object, signal: object, request: HttpRequest, user: Any, authenticator: Any, **_: object
) -> None:
    done = {factors.authenticator_added: "added", factors.authenticator_removed: "removed"}
    words = "account %s: second factor %s (%s), from %s"
    what = done.get(signal, "made anew")
    log.info(words, user.pk, what, authenticator.type, from_where(request))
