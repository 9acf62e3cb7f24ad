"""Requests sent, and sent again where that does no harm."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from earnest.errors import EarnestError

REPEATABLE = ("GET", "PUT", "DELETE")  # twice is as once
NOT_NOW = (429, 502, 503, 504)
LONGEST_WAIT_S = 60.0


class Sender:
    """One connection to one server. What may be repeated is, `tries` times, when it is told to."""

    def __init__(
        self, http: httpx.Client, tries: int, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self.http, self.tries, self.sleep = http, tries, sleep

    def ask(self, method: str, path: str, **sent: Any) -> httpx.Response:
        """The answer; EarnestError for what the server refuses, and where none answers."""
        for left in reversed(range(self.tries)):
            try:
                answer = self.http.request(method, path, **sent)
            except httpx.TransportError as error:
                unsent = isinstance(error, httpx.ConnectError | httpx.PoolTimeout)
                if not left or not (unsent or method in REPEATABLE):
                    raise EarnestError(_unreached(error, method)) from None
                self.sleep(self._pause(left))
                continue
            again = answer.status_code == 429 or method in REPEATABLE
            if answer.status_code in NOT_NOW and left and again:
                self.sleep(_told(answer) or self._pause(left))
                continue
            return checked(answer)
        raise AssertionError("there is at least one try")

    @contextmanager
    def stream(self, path: str, **sent: Any) -> Iterator[httpx.Response]:
        """A large answer, which is read as it comes; it is asked for once."""
        with self.http.stream("GET", path, **sent) as answer:
            if answer.is_error:
                answer.read()
                checked(answer)
            yield answer

    def _pause(self, left: int) -> float:
        return min(2.0 ** (self.tries - left - 1), LONGEST_WAIT_S) * random.uniform(0.5, 1.0)


def _told(answer: httpx.Response) -> float:
    """Seconds that the server asks to wait; 0 where it does not say."""
    text = answer.headers.get("Retry-After", "")
    return min(float(text), LONGEST_WAIT_S) if text.isdecimal() else 0.0


def _unreached(error: httpx.TransportError, method: str) -> str:
    unsure = "" if method in REPEATABLE else " Look whether it was done before you ask again."
    return f"The server did not answer ({error or type(error).__name__}).{unsure}"


def plain(answer: httpx.Response) -> Any:
    """The JSON of an answer; what answers in another form is no Earnest."""
    try:
        return answer.json()
    except ValueError:
        raise EarnestError(_no_earnest(answer), answer.status_code) from None


def _no_earnest(answer: httpx.Response) -> str:
    return (
        f"{answer.url} answered {answer.status_code}, and not as Earnest does. EARNEST_URL is the "
        "address of the server alone, such as https://listen.example.org"
    )


def checked(answer: httpx.Response) -> httpx.Response:
    if not answer.is_error:
        return answer
    try:
        told = answer.json()
    except ValueError:
        told = {}
    if not isinstance(told, dict):
        told = {}
    detail = told.get("detail") or told.get("message") or _no_earnest(answer)
    raise EarnestError(detail, answer.status_code, told.get("mistakes", ()))
