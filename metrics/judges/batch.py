"""Questions as a file for a provider's batch interface, and its answers taken into the cache.

The file is that of OpenAI's Batch API (a request per line, named by the question's key), which
hosted services and `vllm run-batch` read. A metric is run twice as ever: once to learn what it
would ask, once to check what was answered; scores come from the cache afterwards.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from metrics.judges.client import Client, Endpoint, Reply
from metrics.judges.question import Question

ROUTE = "/v1/chat/completions"
LATER = "in a batch"  # the reason of a reply that is still to come
ENDED = ("completed", "failed", "expired", "cancelled")


class BatchError(ValueError):
    """A batch that cannot be sent or read; the message names file, line and remedy."""


class BatchClient(Client):
    """In place of the server: the answers of a batch; a question without one is noted."""

    def __init__(self, endpoint: Endpoint, answers: Mapping[str, Any] | None = None) -> None:
        super().__init__(endpoint)
        self.answers = answers or {}
        self.pending: dict[str, dict[str, Any]] = {}
        self.failed: dict[str, str] = {}
        self.met: set[str] = set()
        self._noting = threading.Lock()

    def ask(self, question: Question) -> Reply:
        """The checked answer of the batch; else the question is pending."""
        key = question.key()
        self.met.add(key)
        if key not in self.answers:
            with self._noting:
                self.pending[key] = self.request(question)
            return Reply(None, LATER)
        reply = self.read(question, attributes(self.answers[key]), 1)
        self.ledger.add(reply.model, reply.usage)
        if reply.answer is None:
            with self._noting:
                self.failed[key] = reply.reason
        # Without the content of what cannot be used: it is not asked for once more in here.
        return reply if reply.answer is not None else replace(reply, content="")

    def unknown(self) -> set[str]:
        """Answers of the batch that no question of this run was about."""
        return set(self.answers) - self.met

    def request(self, question: Question) -> dict[str, Any]:
        """The body of the request that would be sent."""
        return {
            "model": question.model,
            "messages": question.messages(with_schema=False),
            "temperature": question.temperature,
            **self._options(question),
        }


def attributes(value: Any) -> Any:
    """A reply's JSON with attributes, as the client reads them."""
    if isinstance(value, Mapping):
        return SimpleNamespace(**{str(name): attributes(part) for name, part in value.items()})
    return [attributes(part) for part in value] if isinstance(value, list) else value


def request_lines(pending: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A JSON line per question, in the order of their keys."""
    return [
        json.dumps({"custom_id": key, "method": "POST", "url": ROUTE, "body": pending[key]})
        for key in sorted(pending)
    ]


def parse_output(text: str, name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Key -> body of each answer in a batch's output; key -> reason of each that failed.

    Raises BatchError for a line that is no such answer; a cut last line is one.
    """
    answers, failed = {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            key, response = str(entry["custom_id"]), entry.get("response") or {}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BatchError(
                f"{name}, line {number}: no answer of a batch (a JSON object with custom_id and "
                "response); fetch the file again"
            ) from error
        status = response.get("status_code")
        if entry.get("error") or status != 200 or not isinstance(response.get("body"), dict):
            failed[key] = f"http {status}" if status else str(entry.get("error"))[:200]
        else:
            answers[key] = response["body"]
    return answers, failed


def send(client: Client, text: str, what: str) -> str:
    """Upload the lines and begin a batch; its id. OpenAIError as the server answers."""
    api = client.api
    file = api.files.create(file=("questions.jsonl", text.encode()), purpose="batch")
    begun = api.batches.create(
        input_file_id=file.id,
        endpoint=ROUTE,
        completion_window="24h",
        metadata={"earnest": what[:200]},
    )
    return str(begun.id)


def fetch_output(client: Client, batch: str) -> tuple[str, str]:
    """The state of a batch and, once it has ended, its output with its errors as text."""
    api = client.api
    state = api.batches.retrieve(batch)
    if state.status not in ENDED:
        return str(state.status), ""
    files = [each for each in (state.output_file_id, state.error_file_id) if each]
    return str(state.status), "".join(end_line(api.files.content(file).text) for file in files)


def end_line(text: str) -> str:
    """With a line break at the end, so that the next file begins a line."""
    return text if text.endswith("\n") or not text else text + "\n"


def write(path: Path, text: str) -> None:
    """A new file; one that is there is not overwritten."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise BatchError(f"{path} is there already: name another file") from error
    except OSError as error:
        raise BatchError(f"{path} cannot be written ({error.strerror})") from error
