"""Labels take the place of names in sentences, and of nothing else."""

from __future__ import annotations

import pytest

from analysis.name_spans import (
    Names,
    condition_span,
    family_prefix,
    family_span,
    names_in,
    resolve,
    starts_with_family,
)
from analysis.report.build import report_of
from analysis.report.condition_labels import label_report
from analysis.report.writers.exports import report_json, stored_json
from analysis.statistics.options import Options
from tests.analysis.reference import rows_of

LABELS = {"0.05": "Clean", "0.10": "Noisy"}


@pytest.fixture(scope="module")
def report():
    """Conditions that are called like levels of significance, clearly apart."""
    scores = {
        (name, f"r{r}", f"i{i}"): base + (r + i) % 2
        for name, base in (("0.05", 4), ("0.10", 1))
        for r in range(8)
        for i in range(6)
    }
    quick = Options(replicates=100, intervals=("two_way",))
    return {**report_of(rows_of(scores), options=quick), "labels": LABELS}


def texts_of(report) -> str:
    return "\n".join(
        text
        for part in report["parts"]
        for text in (*part["sentences"], *part["warnings"], *part["methods"])
    )


@pytest.mark.medium
def test_a_label_does_not_replace_a_number_that_is_spelt_like_a_condition(report):
    texts = texts_of(label_report(report))
    assert (
        "Clean (MOS 4.50) scores significantly higher than Noisy (1.50; adjusted p < 0.05)."
        in texts
    )
    assert "p < Clean" not in texts


@pytest.mark.medium
def test_exported_numbers_name_conditions_by_their_keys_and_stored_ones_keep_spans(report):
    assert "0.05 (MOS 4.50) scores significantly higher than 0.10 (1.50; adjusted p < 0.05)." in (
        report_json(report)
    )
    assert condition_span("0.05") in stored_json(report)


def test_a_span_becomes_the_label_in_quotation_marks_where_it_could_be_taken_for_two():
    text = f"{condition_span('a')} over {condition_span('b')}"
    assert resolve(text) == "a over b"
    assert resolve(text, Names({"a": "Vocoder, old", "b": "c"})) == "“Vocoder, old” over c"
    assert names_in(text) == ["a", "b"]


def test_a_family_vanishes_with_its_punctuation_where_it_need_not_be_named():
    title = "MOS · t"
    text = f"{family_prefix(title)}of {family_span(title)}, few"
    assert resolve(text, Names(families={title: "MOS · How good?"})) == (
        "MOS · How good?: of MOS · How good?, few"
    )
    assert resolve(text, Names(omitted={title})) == "Of MOS · t, few"
    assert starts_with_family(text, {title})
    assert not starts_with_family(text, {"MOS · other"})
    assert not starts_with_family(family_span(title), {title})


def test_what_a_family_is_compared_with_has_the_label_of_a_condition():
    names = Names({"old": "Before"}, {"AB · t": "AB · Which?"})
    assert resolve(family_span("AB · t · versus old"), names) == "AB · Which? · versus Before"
