"""How a study was run, as a methods section says it: in words, without keys."""

import pytest

from analysis.report.conduct import conduct_of, scale_words
from analysis.report.writers.methods_text import MOST_WORDS, methods_text
from analysis.statistics.options import Options
from tests.analysis.rated_study import rated_study

FIVE = [("1", "Bad"), ("2", "Poor"), ("3", "Fair"), ("4", "Good"), ("5", "Excellent")]
SCALES = {
    "on a 5-point scale from 1 (“Bad”) to 5 (“Excellent”)": ("steps", FIVE, None),
    "choosing one of “Human”, “Unclear” or “Machine”": (
        "choice",
        [("Human", "Human"), ("Unclear", ""), ("Machine", "Machine")],
        None,
    ),
    "choosing any of “a”, “b”, “c”, “d” or 2 more": ("many", [(x, x) for x in "abcdef"], None),
    "on a scale from 0 to 100 in steps of 1": ("slider", FIVE, [0, 100, 1]),
    "by ranking the clips, 1 the best": ("ranking", [], None),
    "in their own words": ("text", [], None),
}


@pytest.mark.parametrize("words", SCALES)
def test_a_scale_is_told_by_its_ends_or_its_answers(words):
    widget, steps, span = SCALES[words]
    assert scale_words({"widget": widget, "steps": steps, "span": span}) == words


def facts(**more):
    task = {"task": "t", "traps": [], "traps_per": 10, "criteria": []}
    return {"tasks": [task], "sources": [], "recruitments": [], "checks": []} | more


def test_what_was_not_done_is_said():
    told = conduct_of(facts())
    assert told["headphones"] == "No headphone check was made"
    assert told["traps"] == "No attention check was used"
    assert told["recruitment"] == "Raters were recruited by a link to the study"


def test_recruitment_headphones_and_traps_are_named():
    check = {"key": "huggins", "pass_at_least": 5, "trials": 6, "on_fail": "screen_out"}
    kinds = [{"kind": "flawed", "count": 1}, {"kind": "human", "count": 2}]
    task = {"task": "t", "traps": kinds, "traps_per": 10, "criteria": []}
    told = conduct_of(
        facts(
            tasks=[task],
            sources=[{"name": "Our panel"}],
            recruitments=[{"filters": ["first language English", "at least 50 studies"]}],
            checks=[check, {"key": "volume"}],
        )
    )
    assert told["recruitment"] == (
        "Raters were recruited through Our panel and Prolific (first language English; at least 50 "
        "studies)"
    )
    assert told["headphones"] == (
        "Headphones were checked (Huggins pitch, 5 of 6 right); raters who failed were screened out"
    )
    assert told["traps"] == (
        "Attention was checked by 1 defective clip and 2 genuine recordings with known answers "
        "among every 10 clips"
    )


@pytest.mark.slow
@pytest.mark.django_db
def test_the_paragraph_of_a_study_says_how_it_was_run_without_keys_or_hashes(answer_alone):
    from analysis.web.study_tables import study_report, study_rules

    study = rated_study()
    study.checks = [{"key": "huggins"}]
    study.state = study.State.CLOSED
    study.save()
    options = Options(rules=study_rules(study.key), intervals=("two_way",))
    _, report = study_report(study.key, options)
    text = methods_text(report)
    for words in (
        "Raters answered “",
        "choosing one of “Human”, “Unclear” or “Machine”",
        "Raters were recruited by a link to the study",
        "Headphones were checked (Huggins pitch",
        "assigned to raters at random in blocks",
        "defective clip",
        "10 of 30 ratings were left out: 10 in blocks that failed their traps",
    ):
        assert words in text, (words, text)
    assert "To be completed" not in text
    assert "task_traps" not in text
    assert len(text.split()) <= MOST_WORDS
    assert report["provenance"]["table_hash"][:12] not in text
    assert "Interim" not in text
