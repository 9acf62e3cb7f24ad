"""A study's scores hold the number of words of what its settings made, which is no metric."""

import numpy as np
import pytest

from analysis.ratings.metric_scores import scores_from_rows
from analysis.ratings.study_scores import count_words, study_scores, word_rows
from analysis.report.parts.against_people.metric_data import metrics_of
from listening.models import Condition, Item, Stimulus
from listening.selectors import clip_facts, only_lines
from metrics.scoring.study_material import heard_stimuli
from tests import factories
from tests.analysis.reference import rows_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("“It’s well-known,” he said.", 4),
        ("At least $80, in 2017!", 5),
        ("今天下雨了。", 5),
        ("用 GPT-4 写的", 4),
        ("", 0),
    ],
)
def test_words_are_counted_in_both_kinds_of_script(text, words):
    assert count_words(text) == words


def stimulus(name: str, text: str, **attributes: str) -> dict:
    return {"sha256": f"#{name}", "stimulus": name, "text": text, "attributes": attributes}


def test_only_long_form_clips_with_a_text_are_counted():
    rows = [
        stimulus("Ti:p1.1", "One two three.", setting="isolation"),
        stimulus("Tp:p1.1-2", "", setting="paragraph"),
        stimulus("plain", "One two."),
    ]
    (row,) = word_rows(rows)
    assert (row["stimulus"], row["metric"], row["value"]) == ("Ti:p1.1", "n_words", 3.0)


def test_they_stand_behind_the_metrics_of_the_study(monkeypatch):
    score = {"sha256": "#a", "stimulus": "a", "metric": "srmr", "version": "1", "value": 2.0}
    made = [stimulus("a", "One two.", setting="isolation")]
    monkeypatch.setattr("metrics.scoring.selectors.score_rows", lambda slug: [score])
    monkeypatch.setattr("listening.selectors.stimulus_rows", lambda slug: made)
    monkeypatch.setattr("listening.selectors.clip_facts", lambda slug: {"a": {"group": "open"}})
    rows = study_scores("any")
    assert [(row["metric"], row["group"]) for row in rows] == [
        ("srmr", "open"),
        ("n_words", "open"),
    ]


def test_the_number_of_words_is_no_metric():
    rng = np.random.default_rng(1)
    scores = {(c, f"r{r}", f"t{t}"): 3.0 + t % 2 for c in "ab" for r in range(3) for t in range(6)}
    table = rows_of(scores)
    values = [
        {"stimulus": s, "metric": metric, "version": "1", "value": float(rng.normal())}
        for s in sorted(set(table["stimulus"]))
        for metric in ("srmr", "n_words")
    ]
    assert [metric.name for metric in metrics_of(scores_from_rows(values))] == ["srmr"]


@pytest.mark.django_db
def test_words_of_a_study_in_the_database_come_from_its_items(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    study = factories.make_study(key="long", conditions=1, items=2)
    first, second = Stimulus.objects.filter(study=study).order_by("pk")
    Item.objects.filter(pk=first.item_id).update(text="Three short words.")
    Stimulus.objects.filter(pk=first.pk).update(attributes={"setting": "isolation"})
    rows = study_scores("long")
    assert [(row["stimulus"], row["metric"], row["value"]) for row in rows] == [
        (first.key, "n_words", 3.0)
    ]
    assert second.key not in {row["stimulus"] for row in rows}


@pytest.mark.django_db
def test_a_joined_clip_has_the_facts_of_its_lines_which_are_not_scored(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    study = factories.make_study(key="long", conditions=2, items=2)
    lines = Stimulus.objects.filter(study=study, condition__key="cond-0", trap="").order_by("pk")
    for stimulus, speaker, told in zip(lines, "AB", ({"sentences": "2"}, {}), strict=True):
        Item.objects.filter(pk=stimulus.item_id).update(speaker=speaker, dimension="chat")
        Stimulus.objects.filter(pk=stimulus.pk).update(attributes=told)
    joined = Stimulus.objects.filter(study=study, condition__key="cond-1").order_by("pk").first()
    parts = [{"stimulus": s.key, "item": s.item.key, "role": "rated"} for s in lines]
    parts = [{**part, "start_s": n, "end_s": n + 1, "text": ""} for n, part in enumerate(parts)]
    Stimulus.objects.filter(pk=joined.pk).update(derived=True, lines=parts)
    assert only_lines("long") == set()  # its task takes every condition
    study.tasks.update(material={"conditions": ["cond-1"]})
    Condition.objects.filter(study=study).update(attributes={"group": "open"})
    facts = clip_facts("long")
    assert {row["role"] for key, row in facts.items() if key in only_lines("long")} == {"line"}
    told = facts[joined.key]
    assert (told["speakers"], told["sentences"], told["group"]) == ("2", "3", "open")
    assert (told["role"], told["dimension"]) == ("test", "chat")
    heard, left = heard_stimuli("long")
    assert left == 2
    assert not {row["stimulus"] for row, _ in heard} & only_lines("long")
