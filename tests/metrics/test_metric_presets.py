"""Lists of metrics: those that ship can be used; mistakes name file, entry and remedy."""

import pytest

from listening.common.plain_yaml import read_yaml
from metrics.core.metric import Metric
from metrics.scoring import presets
from metrics.scoring.presets import Choice, PresetError


def written(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_shipped_preset_names_metrics_that_there_are():
    names = {"fast", "lfs", "nvv", "att", "paired", "tts", "descriptors"}
    assert set(presets.shipped_presets()) == names
    for preset in presets.shipped_presets().values():
        assert len(preset.description) > 10
        assert presets.make_metrics(preset.choices(judges=True))
        for choice in preset.metrics:
            assert not Metric.registry[choice.metric].asked_only, f"{choice} belongs to the judges"


def test_a_list_may_give_parameters(tmp_path):
    path = written(
        tmp_path,
        "metrics:\n  - srmr_norm\n  - metric: srmr\n    parameters: {variant: slow_norm128}\n",
    )
    made = presets.make_metrics(presets.read_preset(path).choices())
    assert [metric.key for metric in made] == ["srmr_norm", "srmr"]
    assert made[1].parameters_dict()["variant"] == "slow_norm128"
    assert presets.read_preset(written(tmp_path, "- srmr\n")).metrics == (Choice("srmr"),)


def test_words_of_a_list_stay_as_they_are_written(tmp_path):
    given = "{language: no, voice: 007, at: 12:30, beam: 5, hop_s: 2.0, exact: true, rate: 1e3}"
    assert read_yaml(given) == {
        **{"language": "no", "voice": "007", "at": "12:30"},
        **{"beam": 5, "hop_s": 2.0, "exact": True, "rate": 1000.0},
    }
    with pytest.raises(PresetError, match="has no parameter no"):
        presets.read_preset(written(tmp_path, "- metric: srmr\n  parameters: {no: 1}\n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- metric: srmr\n  metric: wer", "line 2, column 3: the key “metric” stands there twice"),
        ("metrics: [srmr, srmrr]", "metrics entry 2: no metric is called 'srmrr'"),
        ("- metric: srmr\n  parameters: {variant: loud}", "metrics entry 1: "),
        ("- metric: srmr\n  parameters: {loud: 1}", "has no parameter loud"),
        ("- metric: srmr\n  params: {}", "params is not known; use metric, parameters"),
        ("- metric: srmr\n  parameters: [1]", "parameters must be a mapping"),
        ("- 3", "entry 1: needs a metric's key"),
        ("- srmr\n- {metric: srmr, parameters: {variant: slow}}", "srmr is listed twice"),
        ("metrics: []", "the list is empty"),
        ("metric: srmr", "needs a list of metrics"),
        ("{metrics: [srmr], judge: []}", "judge is not known"),
        ("a: [", "no YAML"),
        ("", "needs a list of metrics"),
    ],
)
def test_a_mistake_names_file_entry_and_remedy(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(PresetError) as caught:
        presets.read_preset(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_an_unknown_preset_is_answered_with_the_known_ones():
    with pytest.raises(PresetError, match="att, descriptors, fast, lfs, nvv"):
        presets.preset("slow")
    with pytest.raises(PresetError, match="cannot be read"):
        presets.read_preset("nowhere.yaml")
