"""A tiny random Qwen2-Audio: labels' logits, the adapter's place, training that goes on exactly."""

import dataclasses

import pytest

from metrics.auto_att import checkpoints, distributed, model, predict, run, train
from metrics.auto_att.distributed import Ranks, join_processes
from metrics.auto_att.model import ModelError, ModelPlan
from metrics.auto_att.train import TrainingPlan
from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError, make_metric
from tests.metrics.tiny_listener import SECONDS, adapter_of, log_of, save_tiny, voices

RATE = 16_000
ROUNDING = 1e-5  # a float32 network: sums in another order move a probability by 4e-7
PLAN = TrainingPlan(epochs=2, batch_size=4, learning_rate=2e-2, save_every=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture
def listener(folder):
    return model.load(ModelPlan(name=str(folder)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return voices(tmp_path_factory.mktemp("voices"))


def noise(seconds, seed=0):
    return 0.1 * torch.randn(int(RATE * seconds), generator=torch.Generator().manual_seed(seed))


@pytest.mark.slow
def test_probabilities_are_the_softmax_of_the_models_own_logits(listener):
    waves = [noise(1.0), noise(0.3, 1), noise(1.9, 2)]
    with torch.inference_mode():
        found = listener.probabilities(waves)
        whole = listener.model(**listener.inputs(waves)).logits[:, -1, listener.label_ids]
        for wave, row in zip(waves, found, strict=True):
            torch.testing.assert_close(listener.probabilities([wave])[0], row)
    torch.testing.assert_close(found, torch.softmax(whole, dim=-1))
    assert found.sum(dim=-1).tolist() == pytest.approx([1, 1, 1], rel=ROUNDING)
    assert float((found[:, 0] - found[0, 0]).abs().max()) > 1e-3  # it listens


def test_the_score_is_one_for_human_and_a_half_for_unclear():
    rows = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.3, 0.2]])
    assert model.expected_scores(rows).tolist() == pytest.approx([1, 0.5, 0, 0.65])


@pytest.mark.slow
def test_the_adapter_sits_on_every_linear_layer_of_the_language_model_and_nowhere_else(listener):
    inside = listener.model.model.language_model
    wanted = {name for name, layer in inside.named_modules() if type(layer) is torch.nn.Linear}
    with torch.inference_mode():
        before = listener.probabilities([noise(1.0)])
    model.add_adapter(listener, seed=0)
    trained = [name for name, p in listener.model.named_parameters() if p.requires_grad]
    assert trained
    assert all(".language_model." in name and ".lora_" in name for name in trained)
    assert {n.split("language_model.")[1].split(".lora_")[0] for n in trained} == wanted
    assert len(wanted) == 2 * 7
    config = listener.model.peft_config["default"]
    assert (config.r, config.lora_alpha, config.lora_dropout) == (32, 32, 0.05)
    with torch.inference_mode():
        listener.model.eval()
        torch.testing.assert_close(listener.probabilities([noise(1.0)]), before)


class Spelling:
    """A tokenizer that knows some whole words; others are letters."""

    words = ("Human", "Machine", "Un", "clear", ":")

    def encode(self, text, add_special_tokens=True):
        found = []
        while text:
            word = next((w for w in self.words if text.startswith(w)), text[0])
            found.append(self.words.index(word) if word in self.words else 100 + ord(word))
            text = text[len(word) :]
        return found

    def decode(self, tokens):
        return "".join(self.words[t] if t < 100 else chr(t - 100) for t in tokens)


def test_a_label_of_two_tokens_is_read_by_its_first_or_refused_with_the_remedy():
    assert model.label_ids(Spelling(), ModelPlan()) == [0, 2, 1]
    with pytest.raises(ModelError, match=r"'Unclear' is 2 tokens \('Un', 'clear'\).*first"):
        model.label_ids(Spelling(), ModelPlan(label_tokens="whole"))
    shared = ModelPlan(label_texts=("Human", "Unclear", "Until"))
    with pytest.raises(ModelError, match="do not differ in their first token"):
        model.label_ids(Spelling(), shared)
    with pytest.raises(ModelError, match="no token"):
        model.label_ids(Spelling(), ModelPlan(label_texts=("Human", "", "Machine")))


def test_a_prompt_must_end_with_a_colon_in_text_and_in_tokens():
    with pytest.raises(ModelError, match='end with ":"'):
        ModelPlan(prompt="Who speaks?")
    model.check_prompt_end(Spelling(), "Who:")

    class WithEnd(Spelling):
        def encode(self, text, add_special_tokens=True):
            return [*super().encode(text), 100 + ord("$")]

    with pytest.raises(ModelError, match="adds tokens"):
        model.check_prompt_end(WithEnd(), "Who:")


@pytest.mark.slow
def test_a_chat_template_asks_in_a_users_turn_and_begins_the_answer(folder):
    asked = model.load(ModelPlan(name=str(folder), template="chat"), "cpu")
    question, _, opening = model.PROMPT.removeprefix(model.AUDIO).rpartition(". ")
    assert asked.prompt.endswith(f"assistant\n{opening}")
    assert f"{question}.<|im_end|>" in asked.prompt
    assert asked.prompt.count("<|AUDIO|>") == 1
    found = asked.probabilities([noise(1.0)])
    assert found.sum().item() == pytest.approx(1)
    with pytest.raises(model.ModelError, match="two sentences"):
        model.load(ModelPlan(name=str(folder), template="chat", prompt="Who:"), "cpu")


@pytest.mark.slow
def test_a_plain_model_is_freed_of_what_it_prefers_whatever_it_hears(folder):
    asked = model.load(ModelPlan(name=str(folder)), "cpu")
    raw = asked.probabilities([noise(1.0)])
    prior = model.calibrate(asked)
    assert sum(prior.values()) == pytest.approx(1)
    freed = asked.probabilities([noise(1.0)])
    by_hand = raw / torch.tensor(list(prior.values()))
    assert torch.allclose(freed, by_hand / by_hand.sum(), atol=1e-6)
    assert model.calibrate(asked) == prior  # the same each time
    nothing = torch.full((1, 3), 1 / 3)
    assert torch.allclose(model.divide_by_prior(asked.prior[None], asked.prior), nothing)


@pytest.mark.slow
def test_silence_and_specks_have_no_score_and_long_clips_say_what_was_heard(listener):
    waves = [torch.zeros(RATE), noise(0.05), noise(SECONDS + 1), noise(1)]
    silent, short, long, fine = predict.score_waves(listener, waves)
    assert (silent.value, silent.reason) == (None, "silent")
    assert short.reason.startswith("too short: 0.05 s")
    assert long.details["heard_s"] == SECONDS
    (cut,) = predict.score_waves(listener, [waves[2][: 2 * RATE]])
    assert long.value == pytest.approx(cut.value, rel=ROUNDING)
    assert "heard_s" not in fine.details
    by_hand = fine.details["p_human"] + fine.details["p_unclear"] / 2
    assert fine.value == pytest.approx(by_hand, rel=ROUNDING)


@pytest.mark.slow
def test_training_learns_and_a_stopped_run_ends_like_one_that_was_not(folder, made, tmp_path):
    asked = ModelPlan(name=str(folder), rank=4, alpha=4)
    whole = train.train(made, asked, PLAN, tmp_path / "whole")
    log = log_of(tmp_path / "whole")
    assert [line["step"] for line in log] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert all(len(set(line["dimensions"])) == 1 for line in log)
    assert log[0]["learning_rate"] > 0  # the first step learns, too
    assert sum(x["loss"] for x in log[-4:]) < sum(x["loss"] for x in log[:4])

    stopped = train.train(made, asked, PLAN, tmp_path / "parts", stop_at=3)
    assert stopped.name == "checkpoint-000003"
    with (tmp_path / "parts" / "log.jsonl").open("a") as out:
        out.write('{"step": 4, "loss": 0.0}\n{"step": 5, "lo')  # after the checkpoint: done again
    torch.manual_seed(99)
    again = train.train(made, asked, PLAN, tmp_path / "parts", resume=True)
    for name, tensor in adapter_of(whole).items():
        assert torch.equal(tensor, adapter_of(again)[name]), name
    ours, theirs = (tmp_path / p / "log.jsonl" for p in ("parts", "whole"))
    assert ours.read_text() == theirs.read_text()
    assert len(checkpoints.list_checkpoints(tmp_path / "parts")) == checkpoints.KEPT

    with pytest.raises(checkpoints.CheckpointError, match="holds a run"):
        train.train(made, asked, PLAN, tmp_path / "parts")
    other = dataclasses.replace(PLAN, learning_rate=1.0)
    with pytest.raises(checkpoints.CheckpointError, match=r"training\.learning_rate"):
        train.train(made, asked, other, tmp_path / "parts", resume=True)

    found = {p.clip: p for p in run.predict_clips(made.clips, str(tmp_path / "whole"), "", "cpu")}
    plain = {p.clip: p for p in run.predict_clips(made.clips, "", str(folder), "cpu")}
    assert found["v0i0"].heard_clip
    assert not found["v2i0"].heard_voice
    assert found["v1i0"].score != pytest.approx(plain["v1i0"].score, abs=1e-3)
    assert not plain["v0i0"].heard_clip

    metric = make_metric("auto_att", {"checkpoint": str(tmp_path / "whole")})
    metric.load("cpu")
    known = metric.weights["adapter_model.safetensors"]
    assert metric.parameters.adapter_sha256 == known[:12]  # trained again, it is another metric
    assert set(metric.weights) == {"adapter_model.safetensors", "model.safetensors"}
    wave = noise(1.0)
    (score,) = metric.measure([wave])
    assert 0 <= score.value <= 1
    named = {"checkpoint": str(tmp_path / "whole"), "adapter_sha256": "0" * 64}
    with pytest.raises(weights.Unavailable, match="SHA-256"):
        make_metric("auto_att", named).load("cpu")


@pytest.mark.slow
def test_accumulated_batches_of_the_mean_loss_are_averaged(folder, made, tmp_path):
    asked = ModelPlan(name=str(folder), rank=4, alpha=4, dropout=0.0)
    plan = TrainingPlan(epochs=1, batch_size=6, accumulate=3, reduction="mean", target="soft")
    train.train(made, asked, plan, tmp_path / "run")
    (line,) = log_of(tmp_path / "run")
    assert len(line["dimensions"]) == 2
    expected = 0.4 * line["bradley_terry"] + 0.6 * line["squared"]
    assert line["loss"] == pytest.approx(expected, rel=ROUNDING)


def test_the_batches_of_a_step_are_shared_out_whole():
    shares = [Ranks(rank, 3).share("abcdef") for rank in range(3)]
    assert shares == [["a", "d"], ["b", "e"], ["c", "f"]]
    assert Ranks().share("abc") == ["a", "b", "c"]
    assert (Ranks(1, 3, 1).device("cuda"), Ranks().device("cuda")) == ("cuda:1", "cuda")


def test_processes_that_would_have_no_batch_are_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(ValueError, match="give a multiple of 4"):
        join_processes("cpu", 6)
    with pytest.raises(ValueError, match="start several with torchrun"):
        distributed.accelerator("cpu", Ranks())


@pytest.mark.slow
def test_an_evaluation_on_the_way_changes_nothing_of_what_is_learnt(folder, made, tmp_path):
    asked = ModelPlan(name=str(folder), rank=4, alpha=4)
    watched = dataclasses.replace(PLAN, evaluate_every=2)
    plain = train.train(made, asked, PLAN, tmp_path / "plain", stop_at=4)
    seen = train.train(made, asked, watched, tmp_path / "seen", stop_at=4)
    for name, tensor in adapter_of(plain).items():
        assert torch.equal(tensor, adapter_of(seen)[name]), name
    told = [line.get("evaluation") for line in log_of(tmp_path / "seen")]
    assert [each is not None for each in told] == [False, True, False, True]
    others = [clip for clip in made.clips if clip.split != "train"]
    assert 0 < told[1]["clips"] <= len(others)
    assert 0 <= told[1]["mean_absolute_error"] <= 1


@pytest.mark.slow
def test_gradient_checkpointing_changes_the_memory_and_not_the_numbers(folder, made, tmp_path):
    asked = ModelPlan(name=str(folder), rank=4, alpha=4, dropout=0.0)
    plan = TrainingPlan(epochs=1, batch_size=12)
    other = dataclasses.replace(plan, gradient_checkpointing=True)
    plain = train.train(made, asked, plan, tmp_path / "plain", stop_at=1)
    saved = train.train(made, asked, other, tmp_path / "saved", stop_at=1)
    for name, tensor in adapter_of(plain).items():
        torch.testing.assert_close(tensor, adapter_of(saved)[name])


@pytest.mark.gpu
def test_a_gpu_trains_in_bfloat16_and_hears_what_the_cpu_hears(folder, listener, made, tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    waves = [noise(1.0), noise(0.4, 1)]
    on_gpu = model.load(listener.plan, "cuda")
    with torch.inference_mode():
        found, wanted = on_gpu.probabilities(waves).cpu(), listener.probabilities(waves)
    assert torch.allclose(found, wanted, atol=0.03)
    train.train(made, ModelPlan(name=str(folder), rank=4, alpha=4), PLAN, tmp_path / "r", "cuda")
    losses = [line["loss"] for line in log_of(tmp_path / "r")]
    assert sum(losses[-4:]) < sum(losses[:4])


@pytest.mark.slow
def test_without_a_checkpoint_or_a_model_the_metric_says_what_to_do(tmp_path):
    with pytest.raises(weights.Unavailable, match="auto_att train"):
        make_metric("auto_att").load("cpu")
    with pytest.raises(weights.Unavailable, match="holds no adapter"):
        make_metric("auto_att", {"checkpoint": str(tmp_path)}).load("cpu")
    with pytest.raises(weights.Unavailable, match="no model named"):
        model.load(ModelPlan(name=""))
    with pytest.raises(ParameterError):
        make_metric("auto_att", {"adapter": "x"})
    with pytest.raises(ValueError, match="epochs must be 1 or more"):
        TrainingPlan(epochs=0)
