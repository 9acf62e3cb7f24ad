"""Tokens: made, shown once, found again by their hash, revoked; and requests that show one.

A token acts as its owner and never as a superuser.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from redis.exceptions import RedisError
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from listening.access.rights import projects_of
from listening.accounts.required_login import has_second_factor, is_required
from listening.common.ages import age_s
from listening.common.throttling import Throttle
from listening.models import Project
from rest.models import ApiToken

READ, RATINGS, WRITE = "read", "ratings", "write"
SCOPES = {  # what each lets a script do, where its owner's role lets it, too
    READ: "list studies, read progress, results, metric scores and webhooks",
    RATINGS: "export ratings and sessions",
    WRITE: "create, open, pause, close and copy studies, reject sessions, start analyses and "
    "metrics, create webhooks",
}
DAYS = (7, 30, 90, 365)
MOST = 50  # that work, of one account
PREFIX = "earnest_"
SHOWN = len(PREFIX) + 4
NOTED_EVERY_S = 60
LONGEST_NAME = 60
log = logging.getLogger(__name__)


class TokenError(ValueError):
    """What was asked cannot be done; the message says why."""


def digest(token: str) -> str:
    """What is stored: a token has 256 random bits, so that nothing slower is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def make_token(
    user: Any,
    name: str,
    scopes: Iterable[str],
    days: int,
    project: Project | None = None,
    *,
    by_provider: bool = False,
) -> str:
    """The new token; nobody can be shown it again."""
    name, chosen = " ".join(name.split()), [each for each in SCOPES if each in set(scopes)]
    if not 0 < len(name) <= LONGEST_NAME:
        raise TokenError(f"The token name must have 1 to {LONGEST_NAME} characters.")
    if not chosen:
        raise TokenError("Choose at least one permission.")
    if days not in DAYS:
        raise TokenError("Choose one of the listed durations.")
    if project is not None and not projects_of(user).filter(pk=project.pk).exists():
        raise TokenError("You are not a member of this project.")
    if working_tokens(user).count() >= MOST:
        raise TokenError(f"You can have at most {MOST} tokens. Revoke one first.")
    token = PREFIX + secrets.token_urlsafe(32)
    stored = ApiToken.objects.create(
        owner_id=user.pk,
        project=project,
        name=name,
        scopes=chosen,
        digest=digest(token),
        begins=token[:SHOWN],
        by_provider=by_provider,
        expires_at=timezone.now() + timedelta(days=days),
    )
    log.info("account %s made token %s for %s", user.pk, stored.pk, ", ".join(chosen))
    return token


def working_tokens(user: Any) -> Any:
    """The tokens of an account that still open something."""
    return ApiToken.objects.filter(owner_id=user.pk, revoked_at=None, expires_at__gt=timezone.now())


def find_token(token: str) -> ApiToken | None:
    """The token with this hash, also one that works no more; when it was used last is noted."""
    row = ApiToken.objects.select_related("owner", "project").filter(digest=digest(token)).first()
    now = timezone.now()
    noted_at = row.last_used_at if row else None
    if row and row.works and (noted_at is None or age_s(noted_at, now) > NOTED_EVERY_S):
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


def revoke_token(tokens: Any, pk: int, by: Any) -> ApiToken | None:
    """Ends one of these tokens; None where there is none that works."""
    row: ApiToken | None = tokens.filter(pk=pk, revoked_at=None).first()
    if row is not None:
        row.revoked_at = timezone.now()
        row.save(update_fields=["revoked_at"])
        log.info("account %s revoked token %s of account %s", by.pk, row.pk, row.owner_id)
    return row


SCHEME = "Bearer"
HOW = f"Send a token in the header “Authorization: {SCHEME} TOKEN”. Create one on the page Account."


class TokenUser:
    """The owner of a token, without the powers of a superuser."""

    is_superuser = False
    is_staff = False
    is_authenticated = True

    def __init__(self, token: ApiToken) -> None:
        self.token = token

    def __getattr__(self, name: str) -> Any:
        return getattr(self.token.owner, name)

    @property
    def by(self) -> str:
        """As logs of studies name who did something."""
        return f"{self.token.owner.get_username()[:80]}, token {self.token.name}"


class TokenAuthentication(BaseAuthentication):
    """A token in the header Authorization; log-ins of browsers open nothing here."""

    def authenticate(self, request: Request) -> tuple[TokenUser, ApiToken]:
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        if scheme.casefold() != SCHEME.casefold() or not credentials.strip():
            raise AuthenticationFailed(f"No token was sent. {HOW}")
        token = find_token(credentials.strip())
        if token is None or not token.owner.is_active:
            raise AuthenticationFailed(f"Unknown token. {HOW}")
        if not token.works:
            ended = f"expired on {token.expires_at:%Y-%m-%d} UTC"
            over = "was revoked" if token.revoked_at else ended
            raise AuthenticationFailed(f"The token “{token.name}” {over}. Create a new one.")
        proved = token.by_provider or not is_required(token.owner)
        if not proved and not has_second_factor(token.owner):
            raise AuthenticationFailed(
                "The account of this token needs a second factor. Its owner adds one on the page "
                "Account."
            )
        return TokenUser(token), token

    def authenticate_header(self, request: Request) -> str:
        return f'{SCHEME} realm="Earnest"'


class HasScope(BasePermission):
    """Whether the token may do what the view says that this method does."""

    def has_permission(self, request: Request, view: Any) -> bool:
        token: Any = request.auth
        wanted = view.scope_of(request.method)
        if wanted not in token.scopes:
            raise PermissionDenied(
                f"This token lacks the scope “{wanted}” ({SCOPES[wanted]}). Create one with it."
            )
        return True


class TokenThrottle(Throttle):
    """So many requests a minute of one token; without Valkey nobody is turned away."""

    rate = "600/min"
    scope = "token"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return f"limit/api-token/{request.auth.pk}"

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except RedisError as error:
            log.warning("requests of tokens are not counted: %s", error)
            return True


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema describes it."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": SCHEME.lower(), "description": HOW}
