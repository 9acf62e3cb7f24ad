"""Raters and experts are two sources: each with a quota, a count and results of its own."""

import pytest

from analysis.ratings.table import from_csv, from_rows, to_csv
from analysis.report.build import report_of
from listening.design.sources import source_named
from listening.selectors import rating_rows
from listening.sessions.source_quotas import is_full
from tests.factories import answer_all, arrive, make_study
from tests.own_cache import empty_cache

SOURCES = [
    {"key": "raters", "kind": "link", "title": "Raters", "quota": 2},
    {"key": "experts", "kind": "panel", "title": "Experts", "quota": 1},
]


@pytest.mark.django_db
@pytest.mark.medium
def test_groups_have_quotas_and_results_of_their_own(answer_alone, client, tmp_path):
    empty_cache()
    study = make_study(
        conditions=2, items=4, task={"block_size": 4, "ratings_per_stimulus": 4}, sources=SOURCES
    )
    raters, experts = (source_named(study.sources, key) for key in ("raters", "experts"))
    for place, source in enumerate((raters, experts, raters)):
        answer_all(arrive(study, source=source, external_id=f"p{place}"))
    assert is_full(study, raters)
    assert is_full(study, experts)
    table = from_rows(rating_rows(study.key))
    by_group = table.groupby("recruitment_source", observed=True)["rater"].nunique()
    assert by_group.to_dict() == {"raters": 2, "experts": 1}
    to_csv(table, tmp_path / "r.csv")
    assert from_csv(tmp_path / "r.csv").equals(table)
    groups = {
        row["recruitment_source"]
        for row in report_of(table)["estimates"]
        if row["breakdown"] == "condition:recruitment_source"
    }
    assert groups == {"raters", "experts"}
    client.force_login(study.owner)
    page = " ".join(client.get(f"/studies/{study.key}/").content.decode().split())
    assert 'Raters <span class="number">2 of 2</span> · Experts <span class="number">1 of 1' in page
