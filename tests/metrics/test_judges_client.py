"""Questions to a judge: retries, failures with reasons, options that servers lack, the cache."""

import dataclasses
import json
import threading
import time
from datetime import UTC, datetime

import numpy as np
import pytest

from metrics.core.weights import Unavailable
from metrics.judges import cost
from metrics.judges.client import Client, Endpoint, Reply, ask_all, tally_replies
from metrics.judges.cost import Ledger, Prices, Usage, parse_budget
from metrics.judges.question import Field, Question, check_object, object_schema, sound_of
from tests.metrics.judge_server import score_of_level, text_of

FIELDS = [Field("remark", "text"), Field("score", "score")]
LOUD = 0.1 * np.sin(np.arange(8_000) / 5)


def asked(level=1.0, **changes):
    made = Question(
        model="tester",
        system="You listen.",
        user="How is it?",
        sounds=(sound_of(LOUD * level),),
        schema=object_schema(FIELDS),
        check=lambda answer: check_object(answer, FIELDS),
    )
    return dataclasses.replace(made, **changes)


@pytest.fixture
def server(judge_server):
    judge_server.reset()
    yield judge_server
    judge_server.reset()


@pytest.fixture
def client(server, tmp_path):
    return Client(Endpoint(server.url, "tester", "secret", tmp_path, retries=2))


def test_the_judge_hears_the_audio_that_was_sent(client, server):
    (reply,) = ask_all([asked()], client)
    assert reply.answer == {"remark": "heard", "score": round(2 * score_of_level(LOUD)) / 2}
    (request,) = server.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["headers"]["authorization"] == "Bearer secret"
    assert (request["model"], request["temperature"], request["seed"]) == ("tester", 0.0, 0)
    assert request["response_format"]["json_schema"]["strict"] is True
    assert reply.usage == Usage(300, 40, 200)
    assert reply.model == "tester-2026-11"


@pytest.mark.medium
def test_requests_are_of_the_published_types(client, server):
    pydantic = pytest.importorskip("pydantic")
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    sounds = (sound_of(LOUD, "A"), sound_of(LOUD, "B"))
    ask_all([asked(), asked(sounds=sounds)], client)
    known = pydantic.TypeAdapter(CompletionCreateParamsNonStreaming)
    for request in server.requests:
        body = {k: v for k, v in request.items() if k not in ("path", "headers")}
        assert set(known.validate_python(body)) == set(body)
        kinds = [part["type"] for part in body["messages"][1]["content"]]
        assert kinds in (["text", "input_audio"], ["text", *["text", "input_audio"] * 2])


@pytest.mark.parametrize("fault", ["429", "500", "503", "drop", "cut"])
@pytest.mark.medium
def test_a_busy_or_broken_server_is_asked_again(client, server, fault):
    server.faults = [fault]
    (reply,) = ask_all([asked()], client)
    assert reply.answer
    assert (reply.tries, len(server.requests)) == (2, 2)


@pytest.mark.medium
def test_the_time_that_the_server_asks_for_is_waited(client, server, monkeypatch):
    server.faults = ["429"]  # Retry-After: 0.05 s; the client's own wait is 0.375 s or more
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)
    (reply,) = ask_all([asked()], client)
    assert (reply.tries, waited) == (2, [0.05])


@pytest.mark.parametrize(("fault", "reason"), [("429", "http 429"), ("500", "http 500")])
@pytest.mark.medium
def test_tries_end(client, server, fault, reason):
    server.faults = [fault] * 3
    (reply,) = ask_all([asked()], client)
    assert (reply.answer, reply.reason, len(server.requests)) == (None, reason, 3)


WROTE_NOTHING = ("refusal", "filtered", "empty", "no choices", "page", "400")


@pytest.mark.medium
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("refusal", "refused"),
        ("filtered", "refused"),
        ("refusal text", "no JSON"),
        ("half JSON", "no JSON"),
        ("talk around it", "no JSON"),
        ("NaN", "no JSON"),
        ("twice", "no JSON"),
        ("empty", "no JSON"),
        ("truncated", "truncated"),
        ("out of range", "score out of range"),
        ("off the steps", "score out of range"),
        ("huge", "score out of range"),
        ("score as text", "wrong type"),
        ("no score", "wrong fields"),
        ("more fields", "wrong fields"),
        ("a list", "wrong fields"),
        ("no choices", "no chat completion"),
        ("page", "no chat completion"),
        ("400", "http 400 (this model does not take audio)"),
    ],
)
def test_whatever_is_no_answer_is_a_counted_failure_and_never_kept(client, server, fault, reason):
    wrote = fault not in WROTE_NOTHING
    server.faults = [fault] * (1 + wrote)
    failed, fine = ask_all([asked()], client) + ask_all([asked()], client)
    assert (failed.answer, failed.reason) == (None, reason)
    assert fine.answer
    assert not fine.cached  # asked in the next run, as nothing was kept of the failure
    assert failed.asked_again == (reason if wrote else "")
    assert len(server.requests) == 2 + wrote


@pytest.mark.medium
def test_what_is_no_answer_is_asked_for_once_more_with_what_was_wrong(client, server):
    server.faults = ["out of range"]
    (reply,) = ask_all([asked()], client)
    assert (reply.answer["score"], reply.asked_again) == (4.5, "score out of range")
    assert "could not be used (score out of range)" in text_of(server.requests[1])
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (600, 80)  # of both
    (kept,) = ask_all([asked()], client)
    assert (kept.cached, kept.asked_again, len(server.requests)) == (True, reply.asked_again, 2)
    assert tally_replies([reply, kept], None)["n_asked_again"] == 2


@pytest.mark.medium
def test_a_budget_ends_the_run_for_every_process_that_shares_the_folder(server, tmp_path):
    prices = Prices(1.0, 10.0, 5.0)  # 100 · 1 + 200 · 5 + 40 · 10 per million for an answer
    here = Endpoint(server.url, "tester", cache=tmp_path, prices=prices, budget=0.0031, retries=0)
    assert ask_all([asked()], Client(here))[0].answer
    server.faults = ["half JSON"] * 2  # paid for, too
    assert ask_all([asked(0.5)], Client(here))[0].answer is None
    with pytest.raises(Unavailable, match=r"EARNEST_JUDGE_BUDGET is 0\.0031"):
        ask_all([asked(0.7)], Client(here))
    assert len(server.requests) == 3
    assert ask_all([asked()], Client(here))[0].cached  # what is kept is free
    assert Client(here).ledger.spent() == pytest.approx(3 * 1500 / 1e6)


def test_a_ledger_counts_its_month_and_no_half_line(tmp_path):
    month = [datetime(2026, 11, 30, 23, 59, tzinfo=UTC)]
    ledger = Ledger(tmp_path, Prices(1.0, 1.0, 1.0), now=lambda: month[0])
    ledger.add("m", Usage(500_000, 500_000, 0))
    with open(ledger.path(), "ab") as file:
        file.write(b'{"cost": 5')
    assert ledger.spent() == 1.0
    with open(ledger.path(), "ab") as file:
        file.write(b"}\n")
    assert ledger.spent() == 6.0
    month[0] = datetime(2026, 12, 1, tzinfo=UTC)
    assert ledger.spent() == 0.0
    with pytest.raises(ValueError, match="EARNEST_JUDGE_PRICES"):
        parse_budget("20", None)
    with pytest.raises(ValueError, match="not understood"):
        parse_budget("0", Prices(1, 1, 1))


def test_a_code_fence_around_the_answer_is_taken_off(client, server):
    server.faults = ["fenced"]
    assert ask_all([asked()], client)[0].answer


def test_a_slow_answer_is_a_timeout(server, tmp_path):
    server.faults = ["slow"]
    quick = Client(Endpoint(server.url, "tester", cache=tmp_path, retries=0, timeout_s=0.2))
    (reply,) = ask_all([asked()], quick)
    assert (reply.answer, reply.reason) == (None, "timeout")


@pytest.mark.parametrize("option", ["response_format", "seed", "max_tokens"])
@pytest.mark.medium
def test_an_option_that_the_server_lacks_is_left_out_from_then_on(client, server, option):
    server.refuses = {option}
    replies = ask_all([asked()], client) + ask_all([asked(0.5)], client)
    assert [reply.not_supported for reply in replies] == [(option,), (option,)]
    assert [option in request for request in server.requests] == [True, False, False]
    assert all(reply.answer for reply in replies)
    assert tally_replies(replies, None)["not_supported"] == [option]


@pytest.mark.medium
def test_without_response_format_the_schema_is_in_the_prompt_and_the_check_stays(client, server):
    server.refuses = {"response_format"}
    server.faults = ["", "out of range", "out of range"]
    (reply,) = ask_all([asked()], client)
    assert '"score"' in server.requests[1]["messages"][0]["content"]
    assert reply.reason == "score out of range"


@pytest.mark.parametrize("fault", ["401", "404", "no credit"])
def test_where_no_question_can_be_answered_the_run_ends_and_says_why(client, server, fault):
    server.faults = [fault] * 9
    with pytest.raises(Unavailable, match=r"EARNEST_JUDGE_MODEL and EARNEST_JUDGE_KEY") as caught:
        ask_all([asked()], client)
    assert len(server.requests) == 1
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_ends_the_run(tmp_path):
    nobody = Endpoint("http://127.0.0.1:9/v1", "tester", cache=tmp_path, retries=0, concurrency=1)
    with pytest.raises(Unavailable, match="EARNEST_JUDGE_URL"):
        ask_all([asked(repeat=i) for i in range(5)], Client(nobody))


@pytest.mark.medium
def test_no_more_questions_are_under_way_than_allowed(server, tmp_path):
    server.together = threading.Barrier(3)  # three at a time, or none is answered
    client = Client(Endpoint(server.url, "tester", cache=tmp_path, concurrency=3))
    replies = ask_all([asked(repeat=i) for i in range(9)], client)
    assert all(reply.answer for reply in replies)
    assert server.most_at_once == 3


@pytest.mark.medium
def test_an_answer_is_asked_for_once(client, server):
    first = ask_all([asked(), asked()], client)
    again = ask_all([asked()], client)
    assert len(server.requests) == 1
    assert [reply.cached for reply in first + again] == [False, False, True]
    assert again[0].answer == first[0].answer
    assert again[0].usage == first[0].usage
    assert again[0].model == first[0].model


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"seed": 1},
        {"repeat": 1},
        {"temperature": 0.5},
        {"user": "And now?"},
        {"system": "You are deaf."},
        {"max_tokens": 99},
        {"sounds": (sound_of(LOUD * 0.5),)},
        {"sounds": (sound_of(LOUD, "A"),)},
        {"schema": object_schema(FIELDS[1:])},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_the_answer_depends_on_is_in_its_key(change):
    assert asked().key() == asked().key()
    assert asked(**change).key() != asked().key()


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", '{"key": "x"}', "\x00\xff", "answer out of range"]
)
@pytest.mark.medium
def test_a_broken_file_of_the_cache_is_asked_again_and_rewritten(client, server, broken):
    (first,) = ask_all([asked()], client)
    (path,) = client.endpoint.cache.rglob("*.json")
    whole = path.read_text()
    if broken == "answer out of range":
        broken = json.dumps(json.loads(whole) | {"content": '{"remark": "", "score": 9}'})
    path.write_text(broken)
    (second,) = ask_all([asked()], client)
    assert (second.answer, second.cached) == (first.answer, False)
    assert path.read_text() == whole
    assert list(client.endpoint.cache.rglob("*")) == [path.parent, path]


def test_whatever_a_model_writes_can_be_kept(client, server):
    server.answer = lambda body: {"remark": "好 \ud83d \x00", "score": 3}
    first, again = (ask_all([asked()], client)[0] for _ in range(2))
    assert (again.cached, again.answer) == (True, first.answer)


def test_a_clip_beyond_full_scale_is_clipped_and_not_wrapped():
    samples = np.frombuffer(sound_of(np.array([1.5, -1.5, 0.5])).wav[44:], "<i2")
    assert samples.tolist() == [32767, -32768, 16384]


def test_costs_are_those_of_the_tokens():
    replies = [Reply({}, usage=Usage(1000, 100, 600)), Reply(None, "refused", usage=Usage(500))]
    found = tally_replies(replies, Prices(2.0, 10.0, 40.0))
    assert found["cost"] == pytest.approx((900 * 2 + 600 * 40 + 100 * 10) / 1e6)
    assert (found["tokens_in"], found["tokens_audio_in"], found["tokens_out"]) == (1500, 600, 100)
    assert (found["n_asked"], found["n_failed"], found["reasons"]) == (2, 1, {"refused": 1})
    assert tally_replies(replies, None)["cost"] is None


def test_prices_are_read_from_a_setting():
    assert cost.parse_prices("2.5, 10") == Prices(2.5, 10.0, 2.5)
    assert cost.parse_prices("2.5,10,40") == Prices(2.5, 10.0, 40.0)
    assert cost.parse_prices(" ") is None
    for wrong in ("2", "a,b", "-1,2", "1,2,3,4", "nan,1"):
        with pytest.raises(ValueError, match="IN,OUT"):
            cost.parse_prices(wrong)


def test_the_key_is_not_printed():
    told = repr(Endpoint("http://me:secret@x/v1", "m", "secret"))
    assert told == "Endpoint('http://x/v1', 'm')"
