"""Where an account is logged in: each browser, since when, and how one of them is ended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from listening.accounts.adapters import NO_ADDRESS

MOST_SHOWN = 50
BROWSERS = (  # the first that is found: most say that they are others, too
    *(("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox")),
    *(("CriOS/", "Chrome"), ("HeadlessChrome/", "Chrome"), ("Chrome/", "Chrome")),
    ("Safari/", "Safari"),
)
SYSTEMS = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows")),
    *(("Mac OS X", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)


@dataclass(frozen=True)
class LogIn:
    """One browser in which an account is logged in."""

    pk: int
    browser: str
    address: str
    since: datetime
    seen: datetime
    here: bool


def browser_of(agent: str) -> str:
    """What a browser says of itself, in two words."""
    browser = next((name for mark, name in BROWSERS if mark in agent), "")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or re.sub(r"[^\w./ -]", "", agent)[:40] or "Unknown browser"


def log_ins_of(user: User, request: HttpRequest) -> list[LogIn]:
    """Those that work, this one first, then the last seen first; notes of others are removed."""
    rows = list(UserSession.objects.filter(user=user).order_by("-last_seen_at"))
    works = _working(user, [row.session_key for row in rows])
    over = [row.pk for row in rows if row.session_key not in works]
    UserSession.objects.filter(pk__in=over).delete()
    mine = request.session.session_key
    logins = [
        LogIn(
            pk=row.pk,
            browser=browser_of(row.user_agent),
            address="" if row.ip == NO_ADDRESS else row.ip,
            since=row.created_at,
            seen=row.last_seen_at,
            here=row.session_key == mine,
        )
        for row in rows
        if row.session_key in works
    ]
    return sorted(logins, key=lambda each: not each.here)


def _working(user: User, keys: list[str]) -> set[str]:
    """A log-in works until its session is over, or the password is another one."""
    rows = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    proof = user.get_session_auth_hash()
    return {row.session_key for row in rows if row.get_decoded().get(HASH_SESSION_KEY) == proof}


def forget_ended() -> int:
    """Of log-ins that are over, neither browser nor address is kept; how many there were."""
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    over = UserSession.objects.exclude(session_key__in=Session.objects.values("session_key"))
    return int(over.delete()[0])


def end(user: User, request: HttpRequest, pk: int | None = None) -> int:
    """Ends one log-in, or all but this one; how many."""
    rows = UserSession.objects.filter(user=user)
    rows = (
        rows.exclude(session_key=request.session.session_key) if pk is None else rows.filter(pk=pk)
    )
    keys = list(rows.values_list("session_key", flat=True))
    ended, _ = Session.objects.filter(session_key__in=keys).delete()
    rows.delete()
    return ended
