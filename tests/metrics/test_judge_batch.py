"""Questions through a batch interface: written, sent, collected, and asked by nobody afterwards."""

import io
import json
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile
from django.core.management import CommandError, call_command

from metrics.judges import batch as batches
from metrics.judges.client import Client, Endpoint, configure_endpoint, current_endpoint
from metrics.judges.cost import Prices
from tests.metrics.judge_server import answer, text_of

METRIC = "judge_expressive_richness"


@pytest.fixture
def server(judge_server, tmp_path):
    judge_server.reset()
    before = current_endpoint()
    prices = Prices(1.0, 10.0, 5.0)
    configure_endpoint(Endpoint(judge_server.url, "tester", cache=tmp_path / "kept", prices=prices))
    yield judge_server
    configure_endpoint(before)
    judge_server.reset()


@pytest.fixture
def clips(tmp_path):
    """Two clips, of which the first is two pieces long."""
    rng = np.random.default_rng(1)
    for name, seconds in (("a", 20), ("b", 3)):
        soundfile.write(tmp_path / f"{name}.wav", 0.05 * rng.normal(size=seconds * 16_000), 16_000)
    return [str(tmp_path / "a.wav"), str(tmp_path / "b.wav")]


def said(command, *args):
    out = io.StringIO()
    call_command(command, *args, stdout=out, stderr=out)
    return out.getvalue()


def batch(clips, *args):
    return said("judge_batch", *clips, "--metric", METRIC, *args)


def answered(path, twist=lambda content: content, status=200):
    """The output that a provider makes of a file of questions."""
    lines = []
    for line in path.read_text().splitlines():
        asked = json.loads(line)
        message = {"role": "assistant", "content": twist(json.dumps(answer(asked["body"])))}
        body = {
            "model": "tester-batch",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 300, "completion_tokens": 40},
        }
        response = {"status_code": status, "body": body}
        lines.append(json.dumps({"custom_id": asked["custom_id"], "response": response}))
    out = path.with_name("answers.jsonl")
    out.write_text("\n".join(lines) + "\n")
    return str(out)


@pytest.mark.medium
def test_a_file_of_questions_and_its_answers_leave_nothing_to_ask(server, clips, tmp_path):
    file = tmp_path / "questions.jsonl"
    assert "3 questions about 2 clips" in batch(clips, "--write", str(file))
    (first, *_) = map(json.loads, file.read_text().splitlines())
    assert (first["method"], first["url"]) == ("POST", "/v1/chat/completions")
    assert "Rate how expressive" in text_of(first["body"])
    told = batch(clips, "--collect", answered(file))
    assert "3 answers are in the cache, 0 failed, 0 belong to other questions, 0 qu" in told
    scores = tmp_path / "scores.jsonl"
    said("score_files", *clips, "--metrics", METRIC, "--out", str(scores))
    details = [json.loads(line)["details"] for line in scores.read_text().splitlines()]
    assert [each["n_cached"] for each in details] == [each["n_asked"] for each in details]
    assert server.requests == []
    assert "nothing to ask" in batch(clips, "--write", str(tmp_path / "more.jsonl"))


@pytest.mark.medium
def test_answers_that_cannot_be_used_are_counted_and_asked_again(server, clips, tmp_path):
    file = tmp_path / "questions.jsonl"
    batch(clips, "--write", str(file))
    told = batch(clips, "--collect", answered(file, twist=lambda content: content[:-3]))
    assert "0 answers are in the cache, 3 failed" in told
    assert "failed: no JSON" in told
    told = batch(clips, "--collect", answered(file, status=500))
    assert "failed: http 500" in told
    assert "3 questions are without an answer" in told
    told = batch(clips[1:], "--collect", answered(file))
    assert "1 answers are in the cache, 0 failed, 2 belong to other questions" in told
    assert "2 questions" in batch(clips, "--write", str(tmp_path / "rest.jsonl"))


@pytest.mark.medium
def test_what_is_no_batch_is_named_with_its_line(server, clips, tmp_path):
    file = tmp_path / "questions.jsonl"
    batch(clips, "--write", str(file))
    with pytest.raises(CommandError, match="is there already"):
        batch(clips, "--write", str(file))
    cut = tmp_path / "answers.jsonl"
    answered(file)
    cut.write_text(cut.read_text()[:-40])
    with pytest.raises(CommandError, match="line 3: no answer of a batch"):
        batch(clips, "--collect", str(cut))


@pytest.mark.medium
def test_a_batch_is_sent_and_collected_from_the_server(server, clips, tmp_path, monkeypatch):
    kept = {}

    def send(client, text, what):
        (tmp_path / "sent.jsonl").write_text(text)
        kept["what"] = what
        return "batch_7"

    monkeypatch.setattr("metrics.judges.batch.send", send)
    assert "batch batch_7. Later" in batch(clips, "--send")
    assert kept["what"] == f"{METRIC}, 2 clips"
    states = iter(["in_progress", "completed"])
    output = Path(answered(tmp_path / "sent.jsonl")).read_text()
    monkeypatch.setattr(
        "metrics.judges.batch.fetch_output", lambda client, name: (next(states), output)
    )
    assert "batch batch_7 is in_progress" in batch(clips, "--collect", "batch_7")
    assert "batch batch_7 (completed): 3 answers" in batch(clips, "--collect", "batch_7")


class Provider:
    """What a server with a batch interface answers, by OpenAI's own client over HTTP."""

    def __init__(self):
        self.seen = []
        self.batch = {"id": "batch_7", "object": "batch", "endpoint": "/v1/chat/completions"}
        self.batch |= {"input_file_id": "file_1", "completion_window": "24h", "created_at": 1}
        self.batch |= {"status": "completed", "output_file_id": "out", "error_file_id": "err"}

    def __call__(self, request):
        self.seen.append((request.method, request.url.path, request.read()))
        if request.url.path == "/v1/files":
            about = {"id": "file_1", "object": "file", "bytes": 1, "created_at": 1}
            about |= {"filename": "q.jsonl", "purpose": "batch", "status": "processed"}
            return httpx.Response(200, json=about)
        if request.url.path.endswith("/content"):
            return httpx.Response(
                200, text='{{"custom_id": "{}"}}'.format(request.url.path.split("/")[3])
            )
        return httpx.Response(200, json=self.batch)


@pytest.mark.medium
def test_the_batch_interface_is_called_as_openais_client_calls_it(tmp_path):
    client = Client(Endpoint("http://judge.test/v1", "tester", "key", tmp_path))
    provider = Provider()
    client.api = client.api.with_options(
        http_client=httpx.Client(transport=httpx.MockTransport(provider))
    )
    assert batches.send(client, '{"custom_id": "a"}\n', "a judge") == "batch_7"
    (_, _, upload), (_, path, begun) = provider.seen
    assert b'{"custom_id": "a"}' in upload
    assert path == "/v1/batches"
    assert json.loads(begun)["endpoint"] == "/v1/chat/completions"
    state, text = batches.fetch_output(client, "batch_7")
    assert (state, text) == ("completed", '{"custom_id": "out"}\n{"custom_id": "err"}\n')
    provider.batch["status"] = "in_progress"
    assert batches.fetch_output(client, "batch_7") == ("in_progress", "")
