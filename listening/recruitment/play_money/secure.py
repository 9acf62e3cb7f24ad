"""Addresses that participants are sent to: placeholders, and signed tokens of secure links."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from listening.recruitment.play_money import faults
from listening.recruitment.play_money.state import Json, State

ISSUER = "https://www.prolific.com"
LIFETIME_S = 120


def address(state: State, study: Json, submission: Json, url: str) -> str:
    """The study's own address, filled in for one submission; signed if the study is secure."""
    filled = fill(url, study, submission)
    if not study["fields"].get("is_external_study_url_secure"):
        return filled
    base, _, fragment = filled.partition("#")
    sign = "&" if "?" in base else "?"
    token = _token(state, study, submission, url, filled)
    return f"{base}{sign}prolific_token={token}" + (f"#{fragment}" if fragment else "")


def fill(url: str, study: Json, submission: Json) -> str:
    """Known placeholders, plain or URL-encoded; unknown ones stay as they are."""
    values = {
        "PROLIFIC_PID": submission["participant"],
        "STUDY_ID": submission["child"] or study["id"],
    }
    values["SESSION_ID"] = submission["id"]
    for name, value in values.items():
        written = "{{%" + name + "%}}"
        for spelt in (written, quote(written, safe="")):
            url = url.replace(spelt, quote(value, safe=""))
    return url


def _key(state: State) -> rsa.RSAPrivateKey:
    """This double's own key, made when it is first needed."""
    if state.data["key"] is None:
        state.is_dirty = True
        made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        state.data["key"] = made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
    key = serialization.load_pem_private_key(state.data["key"].encode(), password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _token(state: State, study: Json, submission: Json, url: str, filled: str) -> str:
    """By the real clock: a receiver compares with its own."""
    now = int(time.time()) - (3600 if faults.hit(state, "token_expired") else 0)
    query = dict(parse_qsl(urlsplit(filled).query))
    claims = {
        **{"iss": ISSUER, "iat": now, "exp": now + LIFETIME_S, "aud": url},
        **{"sub": submission["id"], "prolific": {**query, "workspace_id": study["workspace"]}},
    }
    token = jwt.encode(claims, _key(state), algorithm="RS256", headers={"kid": "double"})
    if faults.hit(state, "token_bad_signature"):
        head, body, signature = token.split(".")
        flipped = ("A" if signature[10] != "A" else "B").join((signature[:10], signature[11:]))
        return f"{head}.{body}.{flipped}"
    return token


def key_set(state: State) -> Json:
    public: dict[str, Any] = json.loads(
        jwt.algorithms.RSAAlgorithm.to_jwk(_key(state).public_key())
    )
    return {"keys": [{**public, "kid": "double", "use": "sig", "alg": "RS256"}]}
