"""Many questions at once, through the cache; and a clip's replies as one score."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from metrics.judges.client import Client, Reply
from metrics.judges.cost import Prices, Usage, bill
from metrics.judges.question import Malformed, Question, parse

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
    """The kept answer, or the server's; only answers that pass their check are kept.

    A model that wrote what is no answer is asked once more, with what was wrong.
    """
    kept = cache.get(key)
    if kept is not None:
        try:
            return Reply(
                question.check(parse(kept["content"])),
                content=kept["content"],
                usage=Usage(**kept["usage"]),
                model=str(kept.get("model", "")),
                cached=True,
                not_supported=tuple(kept.get("not_supported", ())),
                asked_again=str(kept.get("asked_again", "")),
            )
        except (Malformed, TypeError):
            pass  # broken, or written under a check that was wrong: asked again
    reply = client.ask(question)
    if reply.answer is None and reply.content:
        reply = ask_again(question, reply, client)
    if reply.answer is not None:
        cache.put(key, cache_entry(question, reply))
    return reply


def ask_again(question: Question, first: Reply, client: Client) -> Reply:
    """The reply to the question with what was wrong with the first one; tokens of both."""
    said = AGAIN.format(why=first.reason)
    second = client.ask(replace(question, user=question.user + said))
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
        "usage": {
            "tokens_in": reply.usage.tokens_in,
            "tokens_out": reply.usage.tokens_out,
            "audio_in": reply.usage.audio_in,
        },
        "not_supported": list(reply.not_supported),
        "asked_again": reply.asked_again,
    }


def tally_replies(replies: Sequence[Reply], prices: Prices | None) -> dict[str, Any]:
    """For a score's details: how many were asked, failed and why, kept before, tokens and cost.

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
        **bill((reply.usage for reply in replies), prices),
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
