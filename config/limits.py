"""How often one address, account, rater or researcher may ask: the rest hears when to come back.

Counts live in Valkey, for all web workers together. Without it nobody is turned away, and the log
says so: raters go on.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import logging
import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse, parse_cookie
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from redis.exceptions import RedisError

from config.incoming_requests import without_prefix
from config.thread_queue import Asker
from listening.common.asgi import Scope, header_variables
from listening.common.throttling import Throttle

GetResponse = Callable[[HttpRequest], HttpResponse]
LOGINS = ("login", "mfa_login_webauthn")
SECOND = "mfa_authenticate"
OTHER_LOGINS = ("openid_connect_callback", "join", "password-set")
PROOFS = (  # of who is logged in, before something that matters
    *("account_reauthenticate", "mfa_reauthenticate", "mfa_reauthenticate_webauthn", "password"),
)
KNOWN_BROWSER = f"{settings.HOST_COOKIE}known_browser"  # a cookie: it has logged in before
KNOWN_S = 90 * 24 * 3600
log = logging.getLogger(__name__)


def client_address(request: HttpRequest) -> str:
    """Who asks: the connection's other end, or what as many proxies as are trusted say of it."""
    forwarded = request.headers.get("X-Forwarded-For", "")
    return address_of(forwarded, str(request.META.get("REMOTE_ADDR", "")))


def address_of(forwarded: str, remote: str) -> str:
    """Return the address without the port that some proxies write behind it."""
    hops = [hop.strip() for hop in forwarded.split(",")]
    trusted: int = settings.EARNEST_TRUSTED_PROXIES
    if not (trusted and len(hops) >= trusted and hops[-trusted]):
        return remote
    hop = hops[-trusted]
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def network_of(address: str) -> str:
    """Return what one client has for itself: an IPv4 address, or 64 bits of an IPv6 one."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:100]  # what a proxy calls unknown or hidden
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return str(ipaddress.IPv6Network((ip, 64), strict=False))
    return str(ip)


def client_network(request: HttpRequest) -> str:
    return network_of(client_address(request))


def asker_of(scope: Scope) -> Asker:
    """Return whose request an ASGI scope is: of a browser that has logged in before, or an address.

    It is asked before the request waits for a thread, so that it reads headers alone.
    """
    headers = header_variables(scope)
    request = HttpRequest()
    request.COOKIES = parse_cookie(headers.get("HTTP_COOKIE", ""))
    if browser := _known_browser(request):
        return Asker(browser, known=True)
    remote = str((scope.get("client") or ("", 0))[0])
    return Asker(network_of(address_of(headers.get("HTTP_X_FORWARDED_FOR", ""), remote)))


AT_ONCE = gettext_noop("Too many requests at once. Please wait a minute; nothing is lost.")
SESSIONS = gettext_noop(
    "Too many sessions have been started from your network in the last hour. Please try "
    "again in %(minutes)s min."
)


@dataclass(frozen=True)
class Limit:
    """So many requests in so many seconds of each `key`; those whose key is "" are not counted."""

    name: str
    routes: tuple[str, ...]
    requests: int
    seconds: int
    key: Callable[[HttpRequest], str]
    reads: bool = False  # what only reads is counted, too
    uncounted: int = 0  # in each web process, before Valkey is asked: no honest page sends more
    words: str = AT_ONCE  # for who meets it


def _person(request: HttpRequest) -> str:
    """The address, unless it is a scripted rater's: only who runs the server can send those."""
    try:
        signing.loads(request.POST.get("simulate", ""), salt="simulate", max_age=3600)
    except signing.BadSignature:
        return client_network(request)
    return ""


def _account(request: HttpRequest) -> str:
    """The account, apart for every browser that has logged in to it: strangers lock nobody out."""
    name = request.POST.get("username", "").strip().casefold()[:150]
    account, _, browser = _known_browser(request).partition("/")
    return f"{name}/{browser}" if browser and account == keyed(name) else name


def _known_browser(request: HttpRequest) -> str:
    """The account that has logged in here before, and the number of its browser; or nothing."""
    return str(request.get_signed_cookie(KNOWN_BROWSER, "", max_age=KNOWN_S))


def keyed(text: str) -> str:
    return hmac.digest(settings.SECRET_KEY.encode(), text.encode(), "sha256").hex()[:32]


def _session(request: HttpRequest) -> str:
    match = request.resolver_match
    return str(match.kwargs.get("code", "")) if match else ""


def _researcher(request: HttpRequest) -> str:
    user = getattr(request, "user", None)
    return str(user.pk) if user is not None and user.is_authenticated else ""


SIGN_ONS = ("openid_connect_login", "openid_connect_callback", "mfa_login_webauthn")
DOORS = (
    *("api-answers", "api-checks", "api-questionnaires", "api-skips", "api-comments"),
    "api-loaded",
)
ANSWERING = Limit("answers of a session", (*DOORS, "api-withdraw"), 600, 60, _session, uncounted=60)
LIMITS = (
    Limit("wrong log-ins of an address", (*LOGINS, SECOND), 20, 60, client_network),
    Limit("wrong log-ins to an account", LOGINS, 10, 60, _account),
    Limit("proofs of an account", PROOFS, 10, 60, _researcher),
    Limit("sign-ons of an address", SIGN_ONS, 120, 60, client_network, reads=True),
    Limit("links of accounts", ("password-lost", "password-set", "join"), 10, 60, client_network),
    Limit("entering from an address", ("landing",), 120, 60, _person),
    Limit(
        "sessions begun from an address",
        ("landing",),
        settings.EARNEST_ENTRIES_PER_HOUR,
        3600,
        _person,
        words=SESSIONS,
    ),
    ANSWERING,
    Limit(
        "shared results of an address",
        ("shared-results", "shared-leaderboard", "shared-leaderboard-file"),
        120,
        60,
        client_network,
        reads=True,
    ),
    Limit("shared clips of an address", ("shared-clip",), 600, 60, client_network, reads=True),
    Limit("uploads by a researcher", ("draft-upload",), 12_000, 60, _researcher),
    Limit("changes of channels by a researcher", ("messages-do",), 30, 600, _researcher),
    Limit("changes by a researcher", (), 240, 60, _researcher),
)


class _Throttle(Throttle):
    """The count of the last requests for one of our limits."""

    def __init__(self, limit: Limit) -> None:
        self.limit, self.rate = limit, limit.name  # the framework asks only whether there is one
        self.num_requests, self.duration = limit.requests, limit.seconds

    def get_cache_key(self, request: Any, view: Any) -> str | None:
        key = self.limit.key(request)
        if not key:
            return None
        return f"limit/{self.limit.name.replace(' ', '-')}/{keyed(key)}"

    def give_back(self) -> None:
        """What succeeded is not counted: a class that logs in behind one address, a busy script."""
        if self.key is not None and (history := self.cache.get(self.key, [])):
            self.cache.set(self.key, history[1:], self.duration)


class UncountedRequests:
    """What this process lets pass uncounted: so many of each key in a minute by its own clock."""

    def __init__(self) -> None:
        self.lock, self.minute, self.seen = threading.Lock(), 0, Counter[tuple[str, str]]()

    def passes(self, limit: Limit, key: str) -> bool:
        minute = int(time.monotonic() // 60)
        with self.lock:
            if minute != self.minute:
                self.minute, self.seen = minute, Counter()
            self.seen[limit.name, key] += 1
            return self.seen[limit.name, key] <= limit.uncounted


uncounted = UncountedRequests()


def limits_of(request: HttpRequest) -> list[Limit]:
    """Those that a request counts towards: what changes something, and reads without a log-in."""
    if request.resolver_match is None:
        return []
    route = request.resolver_match.view_name
    named = [limit for limit in LIMITS if route in limit.routes]
    if request.method != "POST":
        return [limit for limit in named if limit.reads]
    return named or [limit for limit in LIMITS if not limit.routes]


class Limits:
    """Middleware: before any password is hashed and any row is locked."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.META["CLIENT_ADDRESS"] = client_address(request)  # for views, which ask no proxy
        response = self.get_response(request)
        match = request.resolver_match
        route = match.view_name if match is not None else ""
        if route in (*LOGINS, SECOND) and request.method == "POST":
            if getattr(request, "password_was_right", False):  # a second factor may be asked yet
                count_no_more(request)
            if _is_in(request):
                count_no_more(request)
                self._remember_browser(request, response)
        elif route in OTHER_LOGINS and _is_in(request):
            self._remember_browser(request, response)
        return response

    def _remember_browser(self, request: HttpRequest, response: HttpResponse) -> None:
        response.set_signed_cookie(
            KNOWN_BROWSER,
            f"{keyed(request.user.get_username().casefold())}/{secrets.token_urlsafe(12)}",
            max_age=KNOWN_S,
            path=settings.SESSION_COOKIE_PATH,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        counted: list[_Throttle] = []
        request.counted = counted  # type: ignore[attr-defined]
        for limit in limits_of(request):
            if limit.uncounted and uncounted.passes(limit, limit.key(request)):
                continue
            throttle = _Throttle(limit)
            try:
                allowed = throttle.allow_request(request, None)
            except RedisError as error:
                log.warning("%s are not counted: %s", limit.name, error)
                return None
            if not allowed:
                log.warning("too many %s", limit.name)
                return too_many(request, limit, math.ceil(throttle.wait() or limit.seconds))
            counted.append(throttle)
        return None


def _is_in(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)
    return user is not None and user.is_authenticated


def count_no_more(request: HttpRequest) -> None:
    """What this request was counted towards is given back: it was right."""
    counted: list[_Throttle] = getattr(request, "counted", [])
    while counted:
        with contextlib.suppress(RedisError):
            counted.pop().give_back()


def too_many(request: HttpRequest, limit: Limit, wait_s: int) -> HttpResponse:
    """429 with when to come back; a rater's page keeps its answer and sends it again."""
    words = _(limit.words) % {"minutes": math.ceil(wait_s / 60)}
    if without_prefix(request.path).startswith("/api/"):
        body = {"error": "too_many", "message": words, "state": None}
        response: HttpResponse = JsonResponse(body, status=429)
    else:
        context = {"title": _("One moment, please"), "sentence": words, "next": ""}
        response = render(request, "rater/problem.html", context, status=429)
    response["Retry-After"] = str(max(wait_s, 1))
    return response
