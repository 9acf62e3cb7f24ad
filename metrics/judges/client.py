"""The server that judges, and questions sent to it: tried again, every failure given a reason.

Which server, model, key and prices: said once per process.
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics.core import weights
from metrics.judges.cost import Ledger, Prices, Usage, usage_of
from metrics.judges.question import Malformed, Question, parse, printable


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible server with audio input, and how it is asked."""

    url: str = ""  # up to and with /v1
    model: str = ""  # the default model of judges
    key: str = ""  # empty for servers that want none
    cache: Path = Path("var/judges")  # answers are kept here
    prices: Prices | None = None  # None: nobody said; cost is then unknown, not 0
    budget: float | None = None  # money per month after which nothing more is asked
    concurrency: int = 4  # questions under way at once, in this process
    timeout_s: float = 180.0  # for one try
    retries: int = 5  # further tries after 408, 409, 429, 5xx, a timeout or a lost connection

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r}, {self.model!r})"  # the key is never printed

    @property
    def shown(self) -> str:
        """The URL without a name and password in it."""
        return re.sub(r"//[^/@]*@", "//", self.url)

    def hidden(self, text: str) -> str:
        """A server's words without the key, which some servers repeat."""
        return text.replace(self.key, "(key)") if self.key else text


class _Current:
    endpoint = Endpoint()


def configure_endpoint(endpoint: Endpoint) -> None:
    """Say which server judges; judges that were made before keep their model's name."""
    _Current.endpoint = endpoint


def current_endpoint() -> Endpoint:
    """The server that was configured; `Endpoint()` with empty names when none was."""
    return _Current.endpoint


def required_endpoint(model: str) -> Endpoint:
    """The configured server; weights.Unavailable when its URL or the model is not named."""
    endpoint = current_endpoint()
    if not endpoint.url:
        raise weights.Unavailable(
            "no judge: EARNEST_JUDGE_URL is not set; give the address of an OpenAI-compatible "
            "server with audio input, such as http://localhost:8001/v1"
        )
    if not model:
        raise weights.Unavailable(
            "no judge: EARNEST_JUDGE_MODEL is not set and the parameter `model` is empty; "
            "name a model of the server that takes audio"
        )
    return endpoint


OPTIONAL = ("response_format", "seed", "max_tokens")  # left out when a server refuses them
BAD_REQUEST = (400, 413, 422)  # the server's words say what it cannot take
LOST_IN_A_ROW = 3  # questions that met no server at all: it is down
REST_S = 30.0  # before a server that was down is asked again


@dataclass(frozen=True)
class Reply:
    """The answer to a question, or the reason why there is none."""

    answer: dict[str, Any] | None
    reason: str = ""  # short, so that equal ones can be counted; empty with an answer
    content: str = ""  # as the model wrote it
    usage: Usage = field(default_factory=Usage)
    model: str = ""  # as the server calls it
    tries: int = 1
    cached: bool = False
    not_supported: tuple[str, ...] = ()  # options that the server refused
    asked_again: str = ""  # why the first answer could not be used; usage is that of both


class Client:
    """The server of an endpoint. Safe to use from several threads.

    Busy and broken answers (408, 409, 429, 5xx), timeouts and lost connections are tried again by
    the `openai` package: after the server's Retry-After (to two minutes), else after 0.5 s,
    doubled each time to 8 s, less up to a quarter at random.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        from openai import OpenAI

        self.endpoint = endpoint
        self.api = OpenAI(
            base_url=endpoint.url,
            api_key=endpoint.key or "none",
            timeout=endpoint.timeout_s,
            max_retries=endpoint.retries,
        )
        self.ledger = Ledger(endpoint.cache, endpoint.prices)
        self._refused: set[str] = set()
        self._lost = 0
        self._rest_until = 0.0
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Reply:
        """The checked answer, or a Reply with the reason.

        Raises weights.Unavailable where no question can be answered: a wrong key or model, no
        credit left, the budget spent, or a server that was not met several times in a row.
        """
        import openai

        self.check_budget()
        if time.monotonic() < self._rest_until:
            raise self._down()
        try:
            raw, completion = self._send(question)
        except openai.APITimeoutError:
            return Reply(None, "timeout", tries=self.endpoint.retries + 1)
        except openai.APIConnectionError as error:
            self._count_lost(error)
            return Reply(None, "connection lost", tries=self.endpoint.retries + 1)
        except openai.APIStatusError as error:
            self._lost = 0
            said = self.endpoint.hidden(message_of(error))
            if hopeless(error):
                raise weights.Unavailable(
                    f"the judge {question.model} at {self.endpoint.shown} cannot be used: "
                    f"http {error.status_code}, {said}; check EARNEST_JUDGE_URL, "
                    "EARNEST_JUDGE_MODEL and EARNEST_JUDGE_KEY"
                ) from error
            why = f" ({printable(said, 120)})" if error.status_code in BAD_REQUEST else ""
            return Reply(None, f"http {error.status_code}{why}")
        except (openai.OpenAIError, ValueError):
            return Reply(None, "no chat completion")
        self._lost = 0
        reply = self.read(question, completion, raw.retries_taken + 1)
        self.ledger.add(reply.model, reply.usage)
        return reply

    def check_budget(self) -> None:
        """Raise weights.Unavailable when this month's budget is spent."""
        budget = self.endpoint.budget
        if budget is not None and (spent := self.ledger.spent()) >= budget:
            raise weights.Unavailable(
                f"judges have cost {spent:.4g} this month, and EARNEST_JUDGE_BUDGET is {budget:g}: "
                "nothing more is asked; what was answered is in the cache"
            )

    def _send(self, question: Question) -> tuple[Any, Any]:
        """The raw response and its completion, without options that the server refuses."""
        import openai

        while True:
            options = self._options(question)
            messages = question.messages(with_schema="response_format" not in options)
            try:
                raw = self.api.chat.completions.with_raw_response.create(
                    model=question.model,
                    messages=messages,
                    temperature=question.temperature,
                    **options,
                )
                return raw, raw.parse()
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                refused = refused_option(error, options)
                if not refused:
                    raise
                self._refused.add(refused)

    def _options(self, question: Question) -> dict[str, Any]:
        """The options that not every server takes, less those refused before."""
        schema = {"name": "answer", "strict": True, "schema": question.schema}
        options: dict[str, Any] = {
            "response_format": {"type": "json_schema", "json_schema": schema},
            "seed": question.seed,
            "max_tokens": question.max_tokens,
        }
        if "max_tokens" in self._refused:
            options["max_completion_tokens"] = question.max_tokens
        return {name: value for name, value in options.items() if name not in self._refused}

    def read(self, question: Question, completion: Any, tries: int) -> Reply:
        """The completion as a Reply: refused, truncated, malformed or an answer."""
        content, usage, model = "", Usage(), ""
        try:
            usage, model = (
                usage_of(getattr(completion, "usage", None)),
                printable(str(completion.model), 200),
            )
            choice = completion.choices[0]
            content = choice.message.content or ""
            if getattr(choice.message, "refusal", None) or choice.finish_reason == "content_filter":
                raise Malformed("refused")
            if choice.finish_reason == "length":
                raise Malformed("truncated")
            answer, reason = question.check(parse(content)), ""
        except (AttributeError, IndexError, TypeError):
            answer, reason = None, "no chat completion"
        except Malformed as error:
            answer, reason = None, str(error)
        refused = tuple(sorted(self._refused))
        return Reply(answer, reason, content, usage, model, tries, not_supported=refused)

    def _count_lost(self, error: Exception) -> None:
        with self._lock:
            self._lost += 1
            if self._lost >= LOST_IN_A_ROW:
                self._lost = 0
                self._rest_until = time.monotonic() + REST_S
                raise self._down() from error

    def _down(self) -> weights.Unavailable:
        return weights.Unavailable(
            f"the judge at {self.endpoint.shown} (EARNEST_JUDGE_URL) does not answer"
        )


def refused_option(error: Any, options: dict[str, Any]) -> str:
    """The optional parameter that a 400 or 422 is about; empty when it is about none."""
    said = f"{error} {getattr(error, 'param', '') or ''}".lower()
    clues = {"response_format": ("response_format", "json_schema", "guided"), "seed": ("seed",)}
    for option in OPTIONAL:
        if option in options and any(clue in said for clue in clues.get(option, (option,))):
            return option
    return ""


def hopeless(error: Any) -> bool:
    """Whether asking anything else would fail alike: key, model or credit."""
    return error.status_code in (401, 402, 403, 404) or error.code == "insufficient_quota"


def message_of(error: Any) -> str:
    """What the server said, cut to a line."""
    body = error.body if isinstance(error.body, dict) else {}
    return str(body.get("message") or error.message).splitlines()[0][:200]
