"""Scripts that ask the API in the tests' own process."""

import json
from typing import Any

from django.test import Client

from rest.tokens import SCOPES, make_token
from tests.factories import make_user


def token_of(name: str = "researcher", *scopes: str, project: Any = None) -> str:
    return make_token(make_user(name), "nightly", scopes or SCOPES, 30, project)


class Script:
    """Knows a token, and says what was answered."""

    def __init__(self, token: str = "") -> None:
        self.client = Client(headers={"Authorization": f"Bearer {token}"} if token else {})

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        kind = more.pop("content_type", "application/json")
        data = json.dumps(body) if kind == "application/json" and body is not None else body
        return self.client.generic(method, f"/api/v1/{path}", data or b"", kind, **more)

    def get(self, path: str, **more: Any) -> Any:
        return self.ask("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Any:
        return self.ask("POST", path, {} if body is None else body, **more)


def content(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content
