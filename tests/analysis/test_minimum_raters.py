"""The raters that each condition of a task needs: counted on the study's page and in the report."""

import pytest

from analysis.ratings.table import from_rows
from analysis.report.build import report_of, short_of_raters
from listening.selectors import method_facts, rating_rows
from listening.selectors.progress import study_progress
from tests.factories import answer_all, arrive, make_study


@pytest.mark.django_db
@pytest.mark.medium
def test_a_condition_with_too_few_raters_is_named(answer_alone, client):
    study = make_study(conditions=2, task={"block_size": 5, "min_raters": 3})
    client.force_login(study.owner)
    for _ in range(3):
        session = arrive(study)
        answer_all(session)
        table = from_rows(rating_rows(study.key))
        counts = table.groupby("condition")["rater"].nunique()
        (task,) = study_progress(study.key)["tasks"]
        whole = counts.min() if len(counts) == 2 else 0
        assert (task["min_raters"], task["fewest_raters"]) == (3, whole)
        said = list(short_of_raters(table, method_facts(study.key)))
        assert bool(said) is bool((counts < 3).any())
    page = client.get(f"/studies/{study.key}/").content.decode()
    assert "of at least 3 raters in the condition with the fewest" in page
    facts = method_facts(study.key)
    one = table[table["rater"] == table["rater"].iloc[0]]
    (warning,) = [text for text in report_of(one, facts=facts)["warnings"] if "asks for" in text]
    assert "at least 3 raters per condition. 2 of 2 conditions have fewer" in warning
    facts["tasks"][0]["min_raters"] = None
    assert not list(short_of_raters(one, facts))
