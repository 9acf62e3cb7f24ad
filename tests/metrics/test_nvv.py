"""The metric over predicted and asked vocalisations: clips, conditions, refusals."""

import json

import pytest

from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, ParameterError, make_metric

TEXT = "so that is what you call a good one"


def material(target, predicted, text=TEXT, language="en"):
    return Material(
        text=text, language=language, attributes={"nvv_target": target, "nvv_predicted": predicted}
    )


def score(*materials, **parameters):
    metric = make_metric("nvv", parameters)
    metric.load()
    return metric, metric.measure([torch.arange(100) / 100] * len(materials), materials)


def test_a_clip_has_f1_precision_recall_and_distance():
    metric, (found,) = score(material("so [laugh] that is what", "laugh@2; cough@?"))
    by_output = {key: s.value for key, s in metric.by_output(found).items()}
    assert by_output == {
        "nvv": pytest.approx(2 / 3),
        "nvv_precision": 0.5,
        "nvv_recall": 1.0,
        "nvv_distance": pytest.approx(1 / 9),
        **{"nvv_tp": 1.0, "nvv_fp": 1.0, "nvv_fn": 0.0},
    }
    json.dumps(dict(found.details))


def test_a_miss_is_zero_and_has_no_distance():
    metric, (found,) = score(material("laugh@1", "none"))
    assert (found.value, found.also["nvv_precision"], found.also["nvv_distance"]) == (0, None, None)
    by_output = metric.by_output(found)
    assert by_output["nvv_precision"].reason == "nothing was found"
    assert by_output["nvv_distance"].reason.startswith("no match")


def test_the_tolerance_decides():
    far = material("laugh@1", "laugh@4")
    assert score(far)[1][0].value == 0
    assert score(far, tolerance=3)[1][0].value == 1


def test_characters_are_the_places_and_the_length_in_chinese():
    said = "今天天气很好，我们去公园。"
    _, (found,) = score(material("今天[laugh]天气很好，我们去公园。", "laugh@3", said, "zh"))
    assert found.also["nvv_distance"] == pytest.approx(1 / 11)


def test_a_marked_target_gives_the_length_when_there_is_no_text():
    marked = score(material("[laugh] one two", "laugh@1", text=""))[1][0]
    listed = score(material("laugh@0", "laugh@1", text=""))[1][0]
    assert (marked.also["nvv_distance"], listed.also["nvv_distance"]) == (0.5, None)
    assert marked.value == listed.value == 1


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (Material(text=TEXT, language="en"), "nvv_target"),
        (material("laugh@1", ""), "nvv_predicted"),
        (material("laugh@1", "laugh@1", language=""), "no language"),
        (material("laugh@1; sigh", "laugh@1"), "sigh"),
        (material("none", "none"), "no vocalisation"),
    ],
)
def test_without_a_value_there_is_a_reason(given, reason):
    (found,) = score(given)[1]
    assert found.value is None
    assert reason in found.reason


def test_a_condition_is_pooled_from_stored_details():
    metric, scores = score(
        material("laugh@3", "laugh@4"),
        material("sigh@0", "sigh@0"),
        material("cough@2", "none"),
        material("laugh@1", "laugh@1; snort@?"),
    )
    stored = json.loads(json.dumps([dict(s.details) for s in scores]))
    assert metric.pooled(stored) == {
        "nvv_f1_pooled": 0.75,
        "nvv_precision_pooled": 0.75,
        "nvv_recall_pooled": 0.75,
        "nvv_distance_pooled": pytest.approx(1 / 27),
        "nvv_coverage_pooled": 3 / 45,
        "nvv_coverage_matched_pooled": 2 / 45,
    }


def test_parameters_are_checked():
    with pytest.raises(ParameterError, match="tolerance"):
        make_metric("nvv", {"tolerance": -1})
    with pytest.raises(ParameterError, match="n_types"):
        make_metric("nvv", {"n_types": 0})
