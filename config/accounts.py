"""How people log in: passwords, second factors, and providers of single sign-on that are named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config.environment import Environment, wrong

SECOND_FACTOR = ("no", "amr", "always")
PARTS = ("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "NAME", "DOMAINS", "SECOND_FACTOR")
PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "config.passwords.GuessedFirst"},
]
APPS = (
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
)


@dataclass(frozen=True)
class SignOn:
    """A provider of OpenID Connect, and who may come in by it without an account."""

    key: str
    name: str
    issuer: str
    client_id: str
    secret: str
    domains: tuple[str, ...]  # whose verified addresses may make an account; else an invitation
    second_factor: str  # whether a log-in by it counts as one with two factors

    def as_app(self) -> dict[str, Any]:
        """What allauth reads of it."""
        return {
            "provider_id": self.key,
            "name": self.name,
            "client_id": self.client_id,
            "secret": self.secret,
            "settings": {"server_url": self.issuer, "oauth_pkce_enabled": True},
        }


def sign_ons(env: Environment) -> tuple[SignOn, ...]:
    """EARNEST_OIDC names providers, and EARNEST_OIDC_<NAME>_… says what each is."""
    keys = [key.strip() for key in env.text("EARNEST_OIDC").split(",") if key.strip()]
    for key in keys:
        if not re.fullmatch(r"[a-z][a-z0-9]{0,19}", key) or keys.count(key) > 1:
            expected = "short names in small letters, each once, like uni,lab."
            raise wrong("EARNEST_OIDC", env.text("EARNEST_OIDC"), f"it must be {expected}")
    known = {f"EARNEST_OIDC_{key.upper()}_{part}" for key in keys for part in PARTS}
    for name in sorted(env.variables):
        if name.startswith("EARNEST_OIDC_") and name not in known:
            expected = (
                f"EARNEST_OIDC names {', '.join(keys) or 'no provider'}, and of one there are "
            )
            raise ImproperlyConfigured(f"{name} is not read: {expected}{', '.join(PARTS)}.")
    return tuple(_sign_on(env, key) for key in keys)


def _sign_on(env: Environment, key: str) -> SignOn:
    start = f"EARNEST_OIDC_{key.upper()}_"
    issuer = env.url(f"{start}ISSUER", ("https", "http"), "https://login.example.edu/realms/uni")
    if issuer is None:
        expected = "it must be the provider's address, like https://login.example.edu/realms/uni."
        raise wrong(f"{start}ISSUER", "", expected)
    if issuer.scheme == "http" and issuer.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise wrong(f"{start}ISSUER", issuer.geturl(), "it must begin with https://.")
    needed = {name: env.text(start + name) for name in ("CLIENT_ID", "CLIENT_SECRET")}
    for name, value in needed.items():
        if not value:
            raise wrong(start + name, "", "it must be what the provider gave for Earnest.")
    return SignOn(
        key=key,
        name=env.text(f"{start}NAME", key),
        issuer=env.text(f"{start}ISSUER"),
        client_id=needed["CLIENT_ID"],
        secret=needed["CLIENT_SECRET"],
        domains=_domains(env, f"{start}DOMAINS"),
        second_factor=env.choice(f"{start}SECOND_FACTOR", SECOND_FACTOR),
    )


def _domains(env: Environment, name: str) -> tuple[str, ...]:
    domains = [each.strip().lower() for each in env.text(name).split(",") if each.strip()]
    for each in domains:
        if not re.fullmatch(r"([a-z0-9-]+\.)+[a-z0-9-]+", each):
            raise wrong(name, each, "it must be domains of mail addresses, like uni.edu,lab.org.")
    return tuple(domains)


def allauth_settings(host: str, scheme: str, providers: tuple[SignOn, ...]) -> dict[str, Any]:
    """What allauth asks settings for. Its own pages of log-in, sign-up and mail are not used."""
    return {
        "ACCOUNT_ADAPTER": "listening.accounts.adapters.Accounts",
        "ACCOUNT_DEFAULT_HTTP_PROTOCOL": scheme,
        "ACCOUNT_EMAIL_VERIFICATION": "none",
        "ACCOUNT_REAUTHENTICATION_REQUIRED": True,
        "ACCOUNT_REAUTHENTICATION_TIMEOUT": 600,
        # config/limits.py counts before. Few codes of a second factor, so that none is hit upon:
        "ACCOUNT_RATE_LIMITS": {"login_failed": "20/m/ip,5/5m/key", "reauthenticate": "10/m/user"},
        "MFA_ADAPTER": "listening.accounts.adapters.SecondFactors",
        "MFA_FORMS": {
            "add_webauthn": "listening.accounts.security_keys.AddKey",
            "authenticate_webauthn": "listening.accounts.security_keys.SecondFactorKey",
            "login_webauthn": "listening.accounts.security_keys.PasskeyLogin",
            "reauthenticate_webauthn": "listening.accounts.security_keys.ConfirmByKey",
        },
        "MFA_SUPPORTED_TYPES": ["totp", "webauthn", "recovery_codes"],
        "MFA_ALLOW_UNVERIFIED_EMAIL": True,
        "MFA_PASSKEY_LOGIN_ENABLED": True,
        "MFA_RATE_LIMITS": {"webauthn_login": "200/m/ip"},
        "MFA_RECOVERY_CODES_SHOW_ONCE": True,
        "MFA_RECOVERY_CODE_DIGITS": 10,
        "MFA_TOTP_ISSUER": f"Earnest ({host})",
        "SOCIALACCOUNT_ADAPTER": "listening.accounts.adapters.SignOns",
        "SOCIALACCOUNT_PROVIDERS": {
            "openid_connect": {"APPS": [each.as_app() for each in providers]}
        },
        "SOCIALACCOUNT_REQUESTS_TIMEOUT": 5,
    }
