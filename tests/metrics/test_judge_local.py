"""A judge of one's own machine: a tiny random audio language model asked over its own server."""

import dataclasses
import io
import json
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest

from metrics.core.metric import Take, make_metric
from metrics.judges import asking, chat_server, endpoint, local_model
from metrics.judges.client import Client
from metrics.judges.endpoint import Endpoint
from metrics.judges.form_filling import SchemaError, fill
from metrics.judges.panel import Candidate, Plan, ask_panel, sheets
from metrics.judges.question import Question, sound_of
from metrics.judges.rubric import names, rubric
from metrics.judges.schema import check_object, check_table, object_schema, table_schema
from tests.metrics.tiny_listener import SECONDS, bytes_alone, save_tiny, save_tiny_omni

torch = pytest.importorskip("torch")
pytest.importorskip("openai")
RATE = 16_000
TONE = (0.1 * np.sin(np.arange(RATE) / 5)).astype(np.float32)
CHAT = [
    {"role": "system", "content": [{"type": "text", "text": "You listen."}]},
    {"role": "user", "content": [{"type": "text", "text": "How is it?"}, {"type": "audio"}]},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A Qwen2-Audio that can spell everything, as its files are found and loaded."""
    folder = tmp_path_factory.mktemp("judge") / "model"
    save_tiny(folder, inner=bytes_alone(), eos_token="<|im_end|>")
    return local_model.load(str(folder), "cpu")


def twin(model):
    """The same model under another name."""
    return local_model.LocalModel("twin", model.model, model.processor, model.device)


@pytest.fixture(scope="module")
def server(model):
    served = chat_server.ChatServer([model, twin(model)])
    thread = threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()


@pytest.fixture
def judge(server, model, tmp_path, monkeypatch):
    monkeypatch.setattr(local_model, "TEXT_TOKENS", 12)
    named = Endpoint(server.url, model.name, "", tmp_path, retries=0)
    monkeypatch.setattr(endpoint._Current, "endpoint", named)
    return Client(named)


def asked(model, fields, **changes):
    made = Question(
        model=model.name,
        system="You listen.",
        user="How is it?",
        sounds=(sound_of(TONE),),
        schema=object_schema(fields),
        check=lambda answer: check_object(answer, fields),
        max_tokens=2000,
    )
    return dataclasses.replace(made, **changes)


@pytest.mark.slow
def test_what_it_writes_is_what_transformers_writes(model):
    inputs = model._inputs(CHAT, [TONE])
    wanted = model.model.generate(**inputs, max_new_tokens=12, do_sample=False)
    written = model.answer(CHAT, [TONE], max_tokens=12)
    new = wanted[0, inputs["input_ids"].shape[1] :]
    assert written.content == model.processor.tokenizer.decode(new, skip_special_tokens=True)
    assert (written.finish, written.tokens_out) == ("length", 12)
    assert written.tokens_in == inputs["input_ids"].shape[1]
    assert written.audio == 25  # of a second


@pytest.mark.slow
def test_the_suggested_model_listens_without_the_packages_of_pictures(tmp_path):
    omni = local_model.load(str(save_tiny_omni(tmp_path)), "cpu")
    assert type(omni.model).__name__ == "Qwen2_5OmniThinkerForConditionalGeneration"
    two = [CHAT[0], {"role": "user", "content": [*CHAT[1]["content"], {"type": "audio"}]}]
    sounds = [TONE, TONE[:9_000]]
    inputs = omni._inputs(two, sounds)
    wanted = omni.model.generate(**inputs, max_new_tokens=12, do_sample=False)
    written = omni.answer(two, sounds, max_tokens=12)
    new = wanted[0, inputs["input_ids"].shape[1] :]
    assert written.content == omni.processor.tokenizer.decode(new, skip_special_tokens=True)
    assert written.audio == 25 + 14  # of a second, and of 0.56 s
    with pytest.raises(local_model.ChatError, match="1 places for 2 sounds"):
        omni.answer(CHAT, sounds)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["expressive_richness.lfs_figure_14", "nvv_verification.v1"])
def test_a_form_is_filled_in_by_a_model_that_knows_nothing(model, judge, name):
    fields = rubric(name).fields
    question = asked(model, fields, temperature=1.0)
    first, second = asking.ask_all([question, dataclasses.replace(question, seed=1)], judge)
    for reply in (first, second):
        assert (reply.reason, reply.asked_again) == ("", "")
        assert reply.model == model.name
        assert reply.usage.tokens_in > reply.usage.audio_in == 25
    assert first.answer != second.answer
    assert asking.ask_all([question], judge)[0].cached


@pytest.mark.slow
def test_a_metric_has_its_score_from_the_model_that_listens(model, judge):
    metric = make_metric("judge_expressive_richness", {"rubric": "expressive_richness.v1"})
    metric.load("cpu")
    loud, faint = (torch.from_numpy(TONE * level) for level in (1.0, 0.01))
    scores = metric.score_takes([Take(loud), Take(faint)])
    assert all(score.value in np.arange(1, 5.5, 0.5) for score in scores), scores
    assert all(score.details["models"] == [model.name] for score in scores)
    assert all(score.details["tokens_audio_in"] == 25 for score in scores)


@pytest.mark.slow
def test_without_a_form_what_it_writes_is_asked_again_and_counted(model, judge):
    judge._refused.add("response_format")  # as of a server that cannot be given one
    fields = rubric("expressive_richness.v1").fields
    (reply,) = asking.ask_all([asked(model, fields, max_tokens=40)], judge)
    unusable = ("no JSON", "truncated")  # it ends early, or never
    assert reply.answer is None
    assert reply.reason in unusable
    assert reply.asked_again in unusable
    assert reply.usage.tokens_out <= 80  # both times


@pytest.mark.slow
def test_what_is_not_heard_whole_or_not_served_is_said(server, model, judge):
    fields = rubric("expressive_richness.v1").fields
    long = sound_of(np.tile(TONE, SECONDS + 1))
    (reply,) = asking.ask_all([asked(model, fields, sounds=(long,))], judge)
    assert reply.reason.startswith("http 400 (a sound of 3.0 s")

    def error(body, path="/chat/completions"):
        request = urllib.request.Request(server.url + path, json.dumps(body).encode())
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        return refused.value.code, json.load(refused.value)["error"]["message"]

    chat = {"model": model.name, "messages": [{"role": "user", "content": "Hello"}]}
    assert error({**chat, "model": "other"})[0] == 404
    assert error({**chat, "stream": True}) == (400, "unsupported parameter stream")
    image = {"type": "image_url", "image_url": {"url": "x"}}
    assert error({**chat, "messages": [{"role": "user", "content": [image]}]})[0] == 400
    assert error({"model": model.name})[0] == 400
    assert error(chat, "/completions")[0] == 404
    with urllib.request.urlopen(f"{server.url}/models", timeout=60) as listed:
        assert [each["id"] for each in json.load(listed)["data"]] == [model.name, "twin"]


@pytest.mark.slow
def test_a_panel_of_two_models_rates_the_clips_of_an_item_side_by_side(model, judge):
    plan = Plan(raters=2, folds=1, models=(model.name, "twin"), temperature=1.0)
    known = {"language": "en", "line": "Well [laugh] now", "target": "laugh"}
    clips = [Candidate(name, "line", name, name, known) for name in ("one", "two")]
    table = rubric("nvv_tags.v1")
    found = list(ask_panel(sheets(clips, plan), table, plan, judge, lambda _: sound_of(TONE)))
    assert sorted(reply.model for _, reply, _ in found) == sorted([model.name, "twin"])
    for _, reply, rated in found:
        assert reply.reason == ""
        assert {each.stimulus for each in rated} == {"one", "two"}


class Scripted:
    """A writer that takes options and texts from a list and notes all that stands in the answer."""

    def __init__(self, *said):
        self.said, self.answer = list(said), io.StringIO()

    def give(self, text):
        self.answer.write(text)

    def choose(self, options, after):
        place = self.said.pop(0) if len(options) > 1 else 0
        self.answer.write(options[place])
        return place

    def write(self):
        self.answer.write(self.said[0])
        return self.said.pop(0)


def test_what_has_no_form_is_refused():
    with pytest.raises(SchemaError, match="null"):
        fill({"type": "null"}, Scripted())
    with pytest.raises(chat_server.RequestError, match="unsupported response_format json_object"):
        chat_server.schema_of({"type": "json_object"})


def test_the_model_reads_its_answer_as_it_is_returned():
    fields = rubric("nvv_tags.v1").fields
    schema = table_schema(["A", "B"], fields)
    scores = [2, 0, 4, 3, 2, 1, 0]  # an artefact, no more, and five scores
    writer = Scripted(1, *scores, *scores)  # B first; then A is left, and no letter is chosen
    found = fill(schema, writer)
    assert json.loads(writer.answer.getvalue()) == found
    assert check_table(found, ["A", "B"], fields)["A"]["artefacts"] == ["clipping"]
    assert [each["letter"] for each in found["ratings"]] == ["B", "A"]
    verification = Scripted('a \\"sigh\\"', 1, "so", 1, "tsk", 1, "sss", 0)
    found = fill(object_schema(rubric("nvv_verification.v1").fields), verification)
    assert json.loads(verification.answer.getvalue()) == found
    assert found == {
        "evidence": 'a "sigh"',
        "present": False,
        "marked_text": "so",
        "others": ["tsk", "sss"],
    }


@pytest.mark.parametrize("name", [name for name in names() if "@" not in name])
def test_every_rubric_is_a_form(name):
    class Shortest(Scripted):
        def choose(self, options, after):
            self.answer.write(options[0])
            return 0

        def write(self):
            return ""

    fields = rubric(name).fields
    assert check_object(fill(object_schema(fields), Shortest()), fields)
