"""Who asks: a token, which acts as its owner and never as a superuser."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import PermissionDenied
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from redis.exceptions import RedisError
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from listening.accounts.required_login import has_second_factor, is_required
from listening.common.throttling import Throttle
from rest.models import ApiToken
from rest.tokens import SCOPES, find_token

SCHEME = "Bearer"
HOW = (
    f"Send a token in the header “Authorization: {SCHEME} TOKEN”; you make one on the page Account."
)
log = logging.getLogger(__name__)


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
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.casefold() != SCHEME.casefold() or not given.strip():
            raise AuthenticationFailed(f"No token was sent. {HOW}")
        token = find_token(given.strip())
        if token is None or not token.owner.is_active:
            raise AuthenticationFailed(f"There is no such token. {HOW}")
        if not token.works:
            ended = f"expired on {token.expires_at:%Y-%m-%d} UTC"
            over = "was revoked" if token.revoked_at else ended
            raise AuthenticationFailed(f"The token “{token.name}” {over}. Make a new one.")
        proved = token.by_provider or not is_required(token.owner)
        if not proved and not has_second_factor(token.owner):
            raise AuthenticationFailed(
                "The account of this token needs a second factor: its owner adds one on the page "
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
                f"This token lacks the scope “{wanted}” ({SCOPES[wanted]}). Make one that has it."
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
