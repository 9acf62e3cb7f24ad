"""Single sign-on by OpenID Connect: what a provider's word is worth, and who may come in by it."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import jwt
from allauth.account.signals import user_logged_in
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.oauth2.client import OAuth2Client, OAuth2Error
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from listening.access.projects import open_invitation

SIGNED_BY = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
SEVERAL_FACTORS = frozenset(("mfa", "otp", "hwk", "swk", "sms", "fpt", "face", "iris", "sc"))
STRONG = "signed_on_with_two"  # in the session: the provider has asked for a second factor
LONGEST = {"sub": 191, "email": 254, "preferred_username": 150}  # characters, as columns have them
KEPT = ("sub", "email", "email_verified", "preferred_username", "amr")
log = logging.getLogger(__name__)


class SignOn(Protocol):
    """A provider as settings describe it (`config/accounts.py`)."""

    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def domains(self) -> tuple[str, ...]: ...
    @property
    def second_factor(self) -> str: ...


def provider_of(key: str) -> SignOn | None:
    provider: SignOn | None
    provider = next((each for each in settings.EARNEST_SIGN_ONS if each.key == key), None)
    return provider


def nonce_of(state: str) -> str:
    """Return what an ID token must repeat: it belongs to one question of one browser.

    The state is kept in the browser's session and works once, so that nothing more is kept.
    """
    key = f"nonce of a sign-on {settings.SECRET_KEY}"
    return hmac.digest(key.encode(), state.encode(errors="replace"), "sha256").hex()


class Client(OAuth2Client):  # type: ignore[misc]  # allauth is untyped
    """Sends a nonce with each question."""

    def get_redirect_url(self, authorization_url: str, scope: Any, extra_params: Any) -> str:
        params = {**extra_params, "nonce": nonce_of(str(self.state))}
        return str(super().get_redirect_url(authorization_url, scope, params))


class Provider(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth is untyped
    """Stricter than allauth's: one issuer, signatures are checked, all claims name one person."""

    client_class = Client

    @property
    def openid_config(self) -> dict[str, Any]:
        with _understood():
            config = super().openid_config
        named = str(self.get_provider().app.settings["server_url"]).rstrip("/")
        if not isinstance(config, dict) or str(config.get("issuer", "")).rstrip("/") != named:
            raise OAuth2Error(f"the configuration of {named} names another issuer")
        needed = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
        if missing := [each for each in needed if not isinstance(config.get(each), str)]:
            raise OAuth2Error(f"the configuration of {named} lacks {', '.join(missing)}")
        return config

    def get_access_token_data(self, *args: Any, **kwargs: Any) -> Any:
        with _understood():
            return super().get_access_token_data(*args, **kwargs)

    def parse_token(self, data: Any) -> Any:
        with _understood():
            return super().parse_token(data)

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        with _understood():
            id_token = kwargs["response"].get("id_token")
            if jwt.get_unverified_header(id_token)["alg"] not in SIGNED_BY:
                raise OAuth2Error("the ID token uses an unknown signature algorithm")
            self.did_fetch_access_token = False  # so that allauth checks its signature
            login = super().complete_login(request, app, token, **kwargs)
            claims = login.account.extra_data
            signed, user_info = claims["id_token"], claims["userinfo"]
            _check_token(signed, app.client_id, nonce_of(request.GET.get("state", "")))
        if signed.get("sub") != user_info.get("sub"):
            raise OAuth2Error("the ID token and the user info name different users")
        user_info = {name: user_info[name] for name in KEPT if name in user_info}
        if "amr" in signed:
            user_info["amr"] = signed["amr"]
        login.account.extra_data = user_info
        return login

    def _fetch_user_info(self, access_token: str) -> dict[str, Any]:
        with _understood():
            return checked_claims(super()._fetch_user_info(access_token))

    def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
        return checked_claims(super()._decode_id_token(app, id_token))


@contextmanager
def _understood() -> Iterator[None]:
    """An answer of a shape that nobody foresaw ends the sign-on with a sentence."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError) as error:
        raise OAuth2Error(f"the response could not be parsed: {error!r}") from error
    except (TypeError, ValueError, jwt.PyJWTError) as error:
        raise OAuth2Error(f"the response could not be parsed: {error!r}") from error


def _check_token(signed: Mapping[str, Any], client: str, nonce: str) -> None:
    """Raise where an ID token never ends, or is of another client or another question."""
    if missing := [name for name in ("exp", "iat", "sub") if name not in signed]:
        raise OAuth2Error(f"the ID token lacks {', '.join(missing)}")
    several = isinstance(signed.get("aud"), list) and len(signed["aud"]) > 1
    if ("azp" in signed or several) and signed.get("azp") != client:
        raise OAuth2Error("the ID token was made for another client (azp)")
    if not hmac.compare_digest(
        str(signed.get("nonce", "")).encode(errors="replace"), nonce.encode()
    ):
        raise OAuth2Error("the ID token belongs to another question (nonce)")


def checked_claims(raw_claims: Any) -> dict[str, Any]:
    """Return those claims that are used, each as the standard has it, and the rest as it is.

    What cannot be stored is refused whole: an account is made of all its claims, or not at all.
    """
    if not isinstance(raw_claims, dict):
        raise OAuth2Error("the claims are no JSON object")
    for name, most in LONGEST.items():
        value = raw_claims.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise OAuth2Error(f"the claim {name} is no text")
        if len(value) > most:
            raise OAuth2Error(f"the claim {name} has more than {most} characters")
        if not _can_be_stored(value):
            raise OAuth2Error(f"the claim {name} has characters that cannot be stored")
    if not raw_claims.get("sub"):
        raise OAuth2Error("the claims lack sub")
    claims = dict(raw_claims)
    if (
        not isinstance(claims.get("email_verified"), bool)
        and claims.get("email_verified") != "true"
    ):
        claims.pop("email_verified", None)
    methods = claims.get("amr")
    if not isinstance(methods, list) or not all(
        isinstance(each, str) and _can_be_stored(each) for each in methods
    ):
        claims.pop("amr", None)  # it proves nothing
    return claims


def _can_be_stored(text: str) -> bool:
    """Whether PostgreSQL takes it: no NUL, no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def checked_address(sociallogin: Any) -> str:
    """The mail address that the provider has checked, or nothing."""
    claims = sociallogin.account.extra_data
    claims = claims.get("userinfo", claims)
    address = claims.get("email")
    sure = claims.get("email_verified")
    if not (sure is True or sure == "true") or not isinstance(address, str):  # Cognito: a word
        return ""
    try:
        validate_email(address.strip())
    except ValidationError:
        return ""
    return address.strip()


def why_not(sociallogin: Any) -> tuple[str, ...]:
    """Why nobody gets a new account by this, in sentences; nothing if it may be made."""
    provider = provider_of(sociallogin.account.provider)
    if provider is None:
        return ("This login method is no longer available.",)
    address = checked_address(sociallogin)
    if address and User.objects.filter(email__iexact=address).exists():
        return (
            f"The account with the address {address} is not connected to {provider.name}.",
            f"Log in to it with your password and connect {provider.name} on the page Account.",
        )
    if invited(sociallogin.state.get("next", "")):
        return ()
    if address.rpartition("@")[2].lower() in provider.domains:
        return ()
    return (
        f"{provider.name} confirmed your identity, but you have no account here.",
        "Ask an owner of your project for an invitation link.",
        "If you have an account with a password, log in with it, and connect "
        f"{provider.name} on the page Account.",
    )


def invited(address: str) -> bool:
    """Whether the page to come back to is an invitation that works."""
    try:
        match = resolve(address)
    except Resolver404:
        return False
    return match.view_name == "join" and open_invitation(match.kwargs["token"]) is not None


@receiver(user_logged_in)
def keep_strength(request: HttpRequest, sociallogin: Any = None, **_: object) -> None:
    """For the time of this log-in: whether the provider has asked for two factors."""
    provider = provider_of(sociallogin.account.provider) if sociallogin is not None else None
    if provider is None or provider.second_factor == "no":
        return
    amr = sociallogin.account.extra_data.get("amr")
    methods = frozenset(amr) if isinstance(amr, list) else frozenset()
    if provider.second_factor == "always" or methods & SEVERAL_FACTORS:
        request.session[STRONG] = True


def connections_of(user: User) -> list[dict[str, Any]]:
    """Each provider that settings name, and the account there that is connected, if one is."""
    known = {each.provider: each for each in SocialAccount.objects.filter(user=user)}
    rows = [
        {"provider": each, "account": known.get(each.key)} for each in settings.EARNEST_SIGN_ONS
    ]
    for row in rows:
        row["called"] = called(row["account"]) if row["account"] else ""
    return rows


def called(account: Any) -> str:
    """How the provider calls somebody."""
    claims = account.extra_data
    return str(claims.get("email") or claims.get("preferred_username") or account.uid)


def disconnect(user: User, pk: int) -> str:
    """The name of the provider that logs in to this account no more, or nothing."""
    account = SocialAccount.objects.filter(user=user, pk=pk).first()
    if account is None:
        return ""
    account.delete()
    provider = provider_of(account.provider)
    return provider.name if provider else str(account.provider)
