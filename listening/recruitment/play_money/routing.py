"""Requests, replies, and which function answers which path."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from listening.recruitment.play_money.state import ApiError, Json, State


@dataclass
class Request:
    """One request, with what its token gives access to."""

    state: State
    method: str
    path: str
    query: dict[str, str]
    raw: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    workspaces: list[str] = field(default_factory=list)

    @property
    def body(self) -> Json:
        """The JSON object that was sent; nothing counts as an empty one."""
        try:
            read = json.loads(self.raw or b"{}")
        except ValueError:
            raise ApiError(400, "The body is not JSON.") from None
        if not isinstance(read, dict):
            raise ApiError(400, "The body must be an object.")
        return read

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.raw.decode(), keep_blank_values=True))

    def workspace(self, name: Any) -> str:
        if name not in self.workspaces:
            raise ApiError(404, f"There is no workspace {name}.")
        return str(name)

    def study(self, name: str) -> Json:
        """By its id, or by that of a child of it."""
        known = self.state.data["studies"]
        parent = next((s for s in known.values() if name in s.get("children", ())), None)
        study = parent or self.state.get("studies", name)
        self.workspace(study["workspace"])
        return study

    def submission(self, name: str) -> Json:
        submission = self.state.get("submissions", name)
        self.study(submission["study_id"])
        return submission


@dataclass
class Reply:
    """`body`: JSON, or text of the content type that is given."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


Answer = Callable[..., Any]


class Routes:
    """Paths with {placeholders}, with or without a slash at the end."""

    def __init__(self) -> None:
        self.known: list[tuple[str, re.Pattern[str], Answer]] = []

    def add(self, method: str, path: str) -> Callable[[Answer], Answer]:
        pattern = re.compile(re.sub(r"\{\w+\}", "([^/]+)", path.rstrip("/")) + "/?")

        def keep(answer: Answer) -> Answer:
            self.known.append((method, pattern, answer))
            return answer

        return keep

    def answer(self, request: Request, path: str) -> Reply:
        """The first that fits; what it gives back is a reply, or the body of one."""
        fitting = [(m, p.fullmatch(path), a) for m, p, a in self.known if p.fullmatch(path)]
        for method, match, answer in fitting:
            if method == request.method and match:
                response = answer(request, *match.groups())
                return response if isinstance(response, Reply) else Reply(200, response)
        if fitting:
            raise ApiError(405, f"The method {request.method} is not allowed.")
        raise ApiError(404, "Not found.")
