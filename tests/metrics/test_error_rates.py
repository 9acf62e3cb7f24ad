"""WER and CER: which clips have one, what is stored, what a condition sums up to."""

import json
import shutil

import pytest
import soundfile
from django.core.management import call_command

from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, ParameterError, make_metric
from tests.metrics import reference

ASR = json.loads((reference.DATA / "asr.json").read_text())
ZH = json.loads((reference.DATA / "zh.json").read_text())


def material(text, heard, language="en"):
    return Material(text=text, language=language, attributes={"hypothesis": heard})


def score(key, *materials, **parameters):
    metric = make_metric(key, {"recogniser": "manifest", **parameters})
    metric.load()
    return metric, metric.measure([torch.arange(100) / 100] * len(materials), materials)


@pytest.mark.parametrize(("normalisation", "column"), [("lfs_bench", "N1"), ("unicode", "N2")])
def test_stored_hypotheses_give_the_references_rates(normalisation, column):
    metric, found = score(
        "wer",
        *(material(row["ref"], row["hyp"]["whisper_base"]) for row in ASR.values()),
        normalisation=normalisation,
    )
    wanted = [row["whisper_base"][column] for row in ASR.values()]
    assert [s.value for s in found] == [w["wer"] for w in wanted]
    words = sum(w["ref_words"] for w in wanted)
    wrong = sum(w["sub"] + w["dele"] + w["ins"] for w in wanted)
    pooled = metric.pooled(json.loads(json.dumps([dict(s.details) for s in found])))
    assert pooled["wer_pooled"] == wrong / words
    assert pooled["wer_pooled_words"] == words


def test_both_normalisations_are_stored_and_pooled():
    said = material("an ill-disposed man", "an ill disposed man")
    metric, (found,) = score("wer", said, normalisation="lfs_bench")
    assert found.value == pytest.approx(2 / 3)
    assert found.details["under_unicode"] == {"rate": 0, "hits": 4, "sub": 0, "dele": 0, "ins": 0}
    assert found.details["reference_normalised"] == "an illdisposed man"
    assert metric.pooled([found.details])["wer_pooled_unicode"] == 0


@pytest.mark.medium
def test_a_perfect_transcript_has_no_errors_in_any_script(tmp_path, capsys):
    """Punctuation, casing, points and accents as recognisers and people write them."""
    manifest = tmp_path / "m.csv"
    shutil.copy(reference.DATA / "transcripts.csv", manifest)
    soundfile.write(tmp_path / "a.wav", reference.wave("human-0880-clean")[:16_000], 16_000)
    out = tmp_path / "scores.jsonl"
    own = {key: {"recogniser": "manifest"} for key in ("wer", "cer")}
    call_command("score_files", str(manifest), "--metrics=wer,cer", f"--out={out}",
                 f"--parameters={json.dumps(own)}", "--device=cpu")  # fmt: skip
    found = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    wrong = {(each["stimulus"], each["metric"]): each["details"] for each in found if each["value"]}
    assert wrong == {}
    assert {each["value"] for each in found} == {0}
    pooled = make_metric("wer").pooled(
        [each["details"] for each in found if each["metric"] == "wer"]
    )
    assert pooled["wer_pooled"] == 0
    assert "wer_pooled_lfs_bench" not in pooled  # most clips are in other languages


def test_characters_of_chinese_and_of_english():
    row = ZH["zh_c"]
    given = (material(row["ref"], row["hyp"], "zh-TW"), material("a cat", "a cap", "en"))
    _, found = score("cer", *given, normalisation="lfs_bench")
    assert [s.value for s in found] == [row["cer"], 1 / 5]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (material("", "a"), "no text"),
        (material("…!", "a"), "no text"),
        (material("a", "a", ""), "no language"),
        (material("你好", "你好", "zh"), "language zh: use cer"),
        (material("a", ""), "no hypothesis"),
        (material("a", "a", "de"), "language de: normalisation lfs_bench is for English and Chi"),
    ],
)
def test_without_a_value_there_is_a_reason(given, reason):
    _, (found,) = score("wer", given, normalisation="lfs_bench")
    assert found.value is None
    assert found.reason.startswith(reason)


def test_nothing_heard_is_every_word_lost_and_chatter_is_above_one():
    _, (nothing, chatter) = score(
        "wer", material("one two", "<empty>"), material("one", "one two three")
    )
    assert (nothing.value, nothing.details["dele"]) == (1, 2)
    assert (chatter.value, chatter.details["ins"]) == (2, 2)


def test_markers_of_vocalisations_are_no_words():
    _, (found,) = score("wer", material("well [laughs] I did <sigh>", "Well, I did."))
    assert found.value == 0


@pytest.mark.parametrize(
    "given",
    [
        {"recogniser": "kaldi"},
        {"normalisation": "whisper"},
        {"beam": 0},
        {"precision": "float64"},
        {"precision": "int8", "recogniser": "transformers"},
    ],
)
def test_parameters_are_checked(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        make_metric("wer", given)


def test_the_recognisers_packages_are_in_the_provenance():
    assert "ctranslate2" in make_metric("wer").packages
    assert "funasr" in make_metric("cer", {"recogniser": "funasr"}).packages
    assert "ctranslate2" not in make_metric("cer", {"recogniser": "manifest"}).packages
