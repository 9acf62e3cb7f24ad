"""A security key of software: what a browser and a key would say to a page of Earnest."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


class SoftKey:
    """One credential; `origin` is the page that the browser says it was asked by."""

    def __init__(self, origin: str = "https://testserver") -> None:
        self.origin = origin
        self.id, self.count = secrets.token_bytes(32), 0
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.user = ""

    def made(self, options: dict[str, Any]) -> str:
        """The answer to a page that adds a key."""
        asked = options["creation_options"]["publicKey"]
        self.user = asked["user"]["id"]
        public = cbor.encode(dict(ES256.from_cryptography_key(self.key.public_key())))
        credential = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + public
        data = self._data(asked["rp"]["id"], ATTESTED) + credential
        attestation = cbor.encode({"fmt": "none", "authData": data, "attStmt": {}})
        said = self._said("webauthn.create", asked["challenge"])
        return self._answer(
            clientDataJSON=websafe_encode(said), attestationObject=websafe_encode(attestation)
        )

    def used(self, options: dict[str, Any]) -> str:
        """The answer to a page that asks for a key."""
        asked = options["request_options"]["publicKey"]
        data = self._data(asked["rpId"])
        said = self._said("webauthn.get", asked["challenge"])
        signed = self.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(
            clientDataJSON=websafe_encode(said),
            authenticatorData=websafe_encode(data),
            signature=websafe_encode(signed),
            userHandle=self.user,
        )

    def _data(self, rp: str, more: int = 0) -> bytes:
        self.count += 1
        flags = bytes([PRESENT | VERIFIED | more])
        return hashlib.sha256(rp.encode()).digest() + flags + self.count.to_bytes(4, "big")

    def _said(self, kind: str, challenge: str) -> bytes:
        websafe_decode(challenge)
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _answer(self, **response: str) -> str:
        name = websafe_encode(self.id)
        extensions = {"credProps": {"rk": True}}
        return json.dumps(
            {
                "id": name,
                "rawId": name,
                "type": "public-key",
                "response": response,
                "clientExtensionResults": extensions,
            }
        )
