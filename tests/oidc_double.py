"""A provider of OpenID Connect that is not one: `python -m tests.oidc_double --port 8116`.

It keeps to what the standard asks of a provider (codes once, PKCE, the client's secret, signed ID
tokens) and lets everybody in as the person that a test has set. Faults are switched on by name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import secrets
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

CLIENT, SECRET = "earnest", "s3cret"
GRACE = {
    "sub": "p-1",
    "preferred_username": "grace",
    "email": "grace@uni.example",
    "email_verified": True,
}


class OidcDouble:
    """One provider; `person` is who logs in there, `faults` what it does wrong."""

    def __init__(self, port: int = 0) -> None:
        self.person: dict[str, Any] = dict(GRACE)
        self.faults: set[str] = set()
        self.signed: dict[str, Any] = {}  # claims of the ID token alone
        self.more: dict[str, Any] = {}  # beside the tokens
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: dict[str, dict[str, Any]] = {}
        self.key, self.other_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        self.server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self.url = f"http://localhost:{self.server.server_port}"

    def __enter__(self) -> OidcDouble:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def discovery(self) -> dict[str, Any]:
        paths = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "userinfo_endpoint": "userinfo",
            "jwks_uri": "jwks",
        }
        issuer = "https://evil.example" if "other issuer" in self.faults else self.url
        return {
            "issuer": issuer,
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            **{name: f"{self.url}/{path}" for name, path in paths.items()},
        }

    def jwks(self) -> dict[str, Any]:
        public = jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": "k1", "alg": "ES256", "use": "sig"}]}

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser is sent: back, with a code or with what went wrong."""
        assert query["client_id"] == CLIENT
        assert query["response_type"] == "code"
        assert "openid" in query["scope"].split()
        assert query["code_challenge_method"] == "S256"
        assert len(query["nonce"]) >= 32
        if "cancelled" in self.faults:
            back = {"error": "access_denied", "state": query["state"]}
        else:
            code = secrets.token_urlsafe(16)
            self.codes[code] = query
            back = {"code": code, "state": query["state"]}
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def token(self, form: dict[str, str], basic: str) -> dict[str, Any] | None:
        asked = self.codes.pop(form.get("code", ""), None)
        proof = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if asked is None or basic != f"{CLIENT}:{SECRET}":
            return None
        if asked["code_challenge"] != urlsafe_b64encode(proof).rstrip(b"=").decode():
            return None
        if asked["redirect_uri"] != form["redirect_uri"]:
            return None
        token = secrets.token_urlsafe(16)
        self.tokens[token] = dict(self.person)
        answer = {"access_token": token, "token_type": "Bearer", **self.more}
        return {"id_token": self._id_token(asked.get("nonce", "")), **answer}

    def _id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {
            **self.person,
            "iss": self.url,
            "aud": "another-client" if "other audience" in self.faults else CLIENT,
            "iat": now,
            "exp": now - 3600 if "old token" in self.faults else now + 300,
            "nonce": "another" if "other nonce" in self.faults else nonce,
            **self.signed,
        }
        for name in ("exp", "nonce"):
            if f"no {name}" in self.faults:
                del claims[name]
        if "two people" in self.faults:
            claims["sub"] = "p-2"
        key = self.other_key if "forged" in self.faults else self.key
        if "unsigned" in self.faults:
            return jwt.encode(claims, None, algorithm="none", headers={"kid": "k1"})
        return jwt.encode(claims, key, algorithm="ES256", headers={"kid": "k1"})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        double = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                if parts.path == "/authorize":
                    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                    self.send_response(302)
                    self.send_header("Location", double.authorize(query))
                    self.end_headers()
                elif parts.path == "/userinfo":
                    bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
                    self._say(double.tokens.pop(bearer, None), 401)
                elif parts.path == "/jwks":
                    self._say(double.jwks())
                elif parts.path == "/.well-known/openid-configuration":
                    self._say(None if "away" in double.faults else double.discovery(), 503)
                else:
                    self._say(None, 404)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                basic = b64decode(self.headers.get("Authorization", "").removeprefix("Basic "))
                self._say(double.token(form, basic.decode()), 400)

            def _say(self, what: dict[str, Any] | None, otherwise: int = 200) -> None:
                body = json.dumps(what or {"error": "refused"}).encode()
                self.send_response(200 if what else otherwise)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=8116)
    parser.add_argument("--person", type=json.loads, default=GRACE, help="claims, as JSON")
    given = parser.parse_args()
    double = OidcDouble(given.port)
    double.person = given.person
    print(f"A provider at {double.url}; client {CLIENT}, secret {SECRET}", flush=True)
    double.server.serve_forever()


if __name__ == "__main__":
    main()
