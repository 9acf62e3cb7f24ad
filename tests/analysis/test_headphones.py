"""What checks and an answer say of headphones reaches the ratings table, once per session."""

import pytest

from analysis.ratings.table import from_csv, from_rows, to_csv
from analysis.statistics.screening.rule_text import rule_from
from analysis.statistics.screening.screened import screen
from listening.selectors import rating_rows
from listening.sessions import lifecycle
from tests.factories import an_answer, arrive, current, make_study

PASSED, FAILED = {"passed": True, "attempts": 1}, {"passed": False, "attempts": 2}


def said(device):
    return {"device": {"answers": {"listening_device": device, "place": "quiet"}, "at": "now"}}


@pytest.mark.django_db
@pytest.mark.medium
def test_a_failed_check_or_loudspeakers_say_no_and_nothing_says_nothing(tmp_path):
    study = make_study(
        items=4, task={"block_size": 2, "ratings_per_stimulus": 7, "blocks_per_rater": 1}
    )
    known = {
        "failed": ({"huggins": FAILED, "stereo": PASSED}, {}, False),
        "passed": ({"antiphase": PASSED}, {}, True),
        "other check": ({"volume": FAILED}, {}, None),
        "nothing": ({}, {}, None),
        "loudspeaker": ({"huggins": PASSED}, said("loudspeaker"), False),
        "in ear": ({}, said("in_ear"), True),
    }
    wanted = {}
    for checks, answers, headphones in known.values():
        session = arrive(study)
        lifecycle.record_answer(session, an_answer(current(session), "4"))
        session.checks, session.questionnaires = checks, answers
        session.save(update_fields=["checks", "questionnaires"])
        wanted[f"s{session.pk}"] = headphones
    rows = list(rating_rows(study.key))
    assert {row["session"]: row["headphones"] for row in rows} == wanted
    table = from_rows(rows)
    rule = rule_from("headphones")
    kept = screen(table, [rule]).kept([rule])
    assert set(kept["session"]) == {name for name, worn in wanted.items() if worn is not False}
    to_csv(table, tmp_path / "r.csv")
    again = from_csv(tmp_path / "r.csv")
    assert again["headphones"].equals(table["headphones"])
