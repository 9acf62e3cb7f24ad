"""The server that judges, and questions sent to it: tried again, every failure given a reason.

Which server, model, key and prices: said once per process. Many questions go at once, through a
cache of answers; what became of them is tallied for a clip's score.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from metrics.core import weights
from metrics.judges.cost import Ledger, Prices, Usage, sum_costs, usage_of
from metrics.judges.question import MalformedAnswer, Question, parse, printable


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible server with audio input, and the settings of its requests."""

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
            message = self.endpoint.hidden(server_message(error))
            if is_permanent(error):
                raise weights.Unavailable(
                    f"the judge {question.model} at {self.endpoint.shown} cannot be used: "
                    f"http {error.status_code}, {message}; check EARNEST_JUDGE_URL, "
                    "EARNEST_JUDGE_MODEL and EARNEST_JUDGE_KEY"
                ) from error
            why = f" ({printable(message, 120)})" if error.status_code in BAD_REQUEST else ""
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
                "no more requests are sent; answers so far are in the cache"
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
                raise MalformedAnswer("refused")
            if choice.finish_reason == "length":
                raise MalformedAnswer("truncated")
            answer, reason = question.check(parse(content)), ""
        except (AttributeError, IndexError, TypeError):
            answer, reason = None, "no chat completion"
        except MalformedAnswer as error:
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
    message = f"{error} {getattr(error, 'param', '') or ''}".lower()
    clues = {"response_format": ("response_format", "json_schema", "guided"), "seed": ("seed",)}
    for option in OPTIONAL:
        if option in options and any(clue in message for clue in clues.get(option, (option,))):
            return option
    return ""


def is_permanent(error: Any) -> bool:
    """Whether asking anything else would fail alike: key, model or credit."""
    return error.status_code in (401, 402, 403, 404) or error.code == "insufficient_quota"


def server_message(error: Any) -> str:
    """Return the server's message, cut to a line."""
    body = error.body if isinstance(error.body, dict) else {}
    return str(body.get("message") or error.message).splitlines()[0][:200]


AGAIN = "\n\nYour answer before this could not be used ({why}). Answer with the JSON object alone."
SHARE_NEEDED = 0.5  # of a clip's questions must have an answer


def ask_all(questions: Sequence[Question], client: Client) -> list[Reply]:
    """One reply per question, in order; equal questions are asked once.

    At most ``endpoint.concurrency`` are under way. Raises weights.Unavailable as the client does;
    what was answered until then is in the cache.
    """
    cache = AnswerCache(client.endpoint.cache)
    by_key = {question.key(): question for question in questions}
    replies: dict[str, Reply] = {}
    with ThreadPoolExecutor(max_workers=client.endpoint.concurrency) as pool:
        futures = {k: pool.submit(ask_cached, k, q, client, cache) for k, q in by_key.items()}
        try:
            replies = {key: future.result() for key, future in futures.items()}
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return [replies[question.key()] for question in questions]


def ask_cached(key: str, question: Question, client: Client, cache: AnswerCache) -> Reply:
    """Return the cached answer, or the server's; only answers that pass their check are cached.

    A model that wrote what is no answer is asked once more, with what was wrong.
    """
    entry = cache.get(key)
    if entry is not None:
        try:
            return Reply(
                question.check(parse(entry["content"])),
                content=entry["content"],
                usage=Usage(**entry["usage"]),
                model=str(entry.get("model", "")),
                cached=True,
                not_supported=tuple(entry.get("not_supported", ())),
                asked_again=str(entry.get("asked_again", "")),
            )
        except (MalformedAnswer, TypeError):
            pass  # broken, or written under a check that was wrong: asked again
    reply = client.ask(question)
    if reply.answer is None and reply.content:
        reply = ask_again(question, reply, client)
    if reply.answer is not None:
        cache.put(key, cache_entry(question, reply))
    return reply


def ask_again(question: Question, first: Reply, client: Client) -> Reply:
    """The reply to the question with what was wrong with the first one; tokens of both."""
    correction = AGAIN.format(why=first.reason)
    second = client.ask(replace(question, user=question.user + correction))
    return replace(second, usage=first.usage + second.usage, asked_again=first.reason)


def cache_entry(question: Question, reply: Reply) -> dict[str, Any]:
    """What is kept of an answer, readable by people."""
    return {
        "rubric": question.rubric,
        "model_asked": question.model,
        "model": reply.model,
        "seed": question.seed,
        "repeat": question.repeat,
        "temperature": question.temperature,
        "content": reply.content,
        "usage": asdict(reply.usage),
        "not_supported": list(reply.not_supported),
        "asked_again": reply.asked_again,
    }


def tally_replies(replies: Sequence[Reply], prices: Prices | None) -> dict[str, Any]:
    """For a score's details: counts of questions, failures and cache hits, tokens and cost.

    Tokens and cost are those of the answers, also when they came from the cache: what the score
    cost when it was first computed.
    """
    reasons = Counter(reply.reason for reply in replies if reply.answer is None)
    details: dict[str, Any] = {
        "n_asked": len(replies),
        "n_failed": sum(reasons.values()),
        "n_asked_again": sum(bool(reply.asked_again) for reply in replies),
        "n_cached": sum(reply.cached for reply in replies),
        "reasons": dict(sorted(reasons.items())),
        "models": sorted({reply.model for reply in replies if reply.model}),
        **sum_costs((reply.usage for reply in replies), prices),
    }
    not_supported = sorted({name for reply in replies for name in reply.not_supported})
    return {**details, "not_supported": not_supported} if not_supported else details


def enough_answers(replies: Sequence[Reply]) -> bool:
    """Whether at least half of the questions have an answer."""
    answered = sum(reply.answer is not None for reply in replies)
    return bool(replies) and answered >= SHARE_NEEDED * len(replies)


def no_score_reason(details: Mapping[str, Any]) -> str:
    """The reason of a score without value, from its tally."""
    reasons = ", ".join(f"{reason}: {n}" for reason, n in details["reasons"].items())
    return f"the judge failed on {details['n_failed']} of {details['n_asked']} ({reasons})"


class AnswerCache:
    """One file per answer: FOLDER/ab/abcd….json, named by `Question.key`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        """Where the answer lies, or would lie."""
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        """What was kept; None when there is nothing, or a broken file that is to be rewritten."""
        try:
            entry = json.loads(self.path(key).read_bytes())
        except (OSError, ValueError):
            return None
        whole = (
            isinstance(entry, dict)
            and entry.get("key") == key
            and isinstance(entry.get("content"), str)
            and isinstance(entry.get("usage"), dict)
        )
        return entry if whole else None

    def put(self, key: str, entry: Mapping[str, Any]) -> None:
        """Keep an answer; a reader sees the old file or the new one, never a half."""
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            text = json.dumps({**entry, "key": key}, ensure_ascii=False, indent=1)
            draft.write_bytes(text.encode("utf-8", errors="surrogatepass"))  # models write anything
            os.replace(draft, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                draft.unlink()
