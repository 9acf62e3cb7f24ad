"""Hypotheses that are tested: better, non-inferior, equivalent; for new items and these alone."""

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.http import QueryDict
from scipy import stats

from analysis.ratings.table import to_csv
from analysis.report.part import Part
from analysis.statistics.comparisons.declared_hypotheses import decide_hypotheses
from analysis.statistics.comparisons.hypothesis_sentences import (
    BETTER,
    EQUIVALENT,
    NON_INFERIOR,
    can_be_tested,
    hypothesis_from,
)
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import THESE_ITEMS, clustered, for_these_items
from analysis.statistics.options import Options, OptionsError, command_line, options_from
from analysis.web.first_runs import default_options
from analysis.web.forms import options_of
from listening.studies.analysis_rules import add_hypothesis, end_hypothesis
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.reference import rows_of

PARTS = ("hypotheses",)
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")


def rated(gap=0.0, raters=20, items=16, clip_sd=0.0, seed=1, **fields):
    """A and B, A better by the gap, and some of B's clips better or worse than its others."""
    rng = np.random.default_rng(seed)
    own, clip = rng.normal(0, 0.3, raters), rng.normal(0, clip_sd, (items, 2))
    scores = {
        (c, f"r{r:02}", f"i{i:02}"): float(
            np.clip(3 + gap * (c == "A") + own[r] + clip[i, k] + rng.normal(0, 0.5), 1, 5)
        )
        for k, c in enumerate("AB")
        for r in range(raters)
        for i in range(items)
    }
    return rows_of(scores, **fields)


def decided(text, table):
    (found,) = decide_hypotheses(table, [hypothesis_from(text)], 0.95)
    return found


@pytest.mark.parametrize(
    ("text", "kind", "margin", "task", "items"),
    [
        ("A is better than B", BETTER, 0, "", False),
        ("A is superior to B for these items.", BETTER, 0, "", True),
        ("A is non-inferior to B within 0.2", NON_INFERIOR, 0.2, "", False),
        ("A is no worse than “B” within .3 in quality", NON_INFERIOR, 0.3, "quality", False),
        ("A is equivalent to B within 5 in t for these items", EQUIVALENT, 5, "t", True),
    ],
)
def test_a_sentence_of_a_known_form_is_read(text, kind, margin, task, items):
    found = hypothesis_from(text)
    assert (found.condition, found.versus) == ("A", "B")
    assert (found.kind, found.margin, found.task, found.these_items) == (kind, margin, task, items)


def test_other_words_are_no_test_and_half_a_form_says_what_is_missing():
    assert hypothesis_from("Listeners prefer the new voice.") is None
    for text in ("A is equivalent to B", "A is non-inferior to B", "A and B are non-inferior"):
        assert not can_be_tested(text)
        with pytest.raises(ValueError, match="write “A is better than B”"):
            hypothesis_from(text)
    with pytest.raises(ValueError, match="needs no margin"):
        hypothesis_from("A is better than B within 0.2")


@pytest.mark.medium
def test_non_inferiority_and_equivalence_are_two_one_sided_t_tests_far_from_the_ends():
    """Of raters' mean differences alone, each of which is one number: SciPy's t tests."""
    table = rated(0.05)
    wide = table.pivot_table(index="rater", columns="condition", values="score")
    gaps = (wide["A"] - wide["B"]).to_numpy()
    t = {m: stats.ttest_1samp(gaps, -m, alternative="greater") for m in (0.1, 0.3)}
    for margin, known in t.items():
        found = decided(f"A is non-inferior to B within {margin}", table).these_items
        assert found.p == pytest.approx(known.pvalue, abs=0.01)
        assert found.shown == (found.p < 0.025)
        assert found.shown == (found.low > -margin)
    other = stats.ttest_1samp(gaps, 0.3, alternative="less").pvalue
    found = decided("A is equivalent to B within 0.3", table).these_items
    assert found.p == pytest.approx(max(other, t[0.3].pvalue), abs=0.01)
    assert found.shown == (found.p < 0.05)
    assert (found.high - found.low) / 2 == pytest.approx(
        stats.t.isf(0.05, 19) * gaps.std(ddof=1) / 20**0.5, rel=0.1
    )


@pytest.mark.medium
def test_what_is_shown_for_these_items_need_not_hold_for_others():
    table = rated(0.25, items=4, clip_sd=0.4, seed=3)
    found = decided("A is better than B", table)
    assert found.value > 0
    assert found.these_items.shown
    assert not found.new_items.shown
    assert found.new_items.low < found.these_items.low
    one = rated(0.6, items=1)
    assert decided("A is better than B for these items", one).main.shown
    alone = decided("A is better than B", one)
    assert (alone.main.shown, alone.note) == (None, "one item only: how items differ cannot be "
                                                    "estimated")  # fmt: skip


@pytest.mark.medium
def test_a_lower_rank_is_better():
    table = rated(-0.8).assign(method="rank", estimand="rank")
    assert decided("A is better than B", table).main.shown
    assert not decided("B is better than A", table).main.shown
    assert decided("A is non-inferior to B within 0.1", table).main.shown


@pytest.mark.medium
@pytest.mark.parametrize("turned", [False, True])
def test_pairs_are_seen_from_the_first_condition(turned):
    scores = {("A", f"r{r}", f"i{i}"): 1.0 - (r * i % 3 == 1) for r in range(9) for i in range(8)}
    table = rows_of(scores, method="cmos", estimand="cmos", versus_condition="B")
    if turned:
        table = table.assign(condition="B", versus_condition="A", score=-table["score"])
    found = decided("A is better than B", table)
    assert found.value > 0.5
    assert found.main.shown
    assert found.main.low > 0
    assert not decided("B is non-inferior to A within 0.1", table).main.shown


@pytest.mark.medium
def test_several_hypotheses_share_the_error():
    table = rated(0.12)
    alone = decided("A is better than B", table).main
    texts = ["A is better than B", "B is better than A", "A is equivalent to B within 1"]
    among = decide_hypotheses(table, [hypothesis_from(text) for text in texts], 0.95)
    assert among[0].main.low < alone.low
    assert among[0].main.p > alone.p
    assert among[2].main.shown


@pytest.mark.medium
def test_what_was_not_rated_is_named():
    found = decided("A is better than C", rated())
    assert (found.value, found.main.shown, found.note) == (None, None, "no ratings of C")
    assert "no task in other" in decided("A is better than B in other", rated()).note


@pytest.mark.medium
def test_the_part_says_what_is_shown_and_what_is_no_evidence():
    options = Options(
        rules=(),
        hypotheses=("A is non-inferior to B within 0.3", "A is equivalent to B within 0.01"),
    )
    found = part_of("hypotheses", rated(), options)
    assert found["sentences"][0].startswith("Shown: A is non-inferior to B")
    assert found["sentences"][1].startswith("Not shown: that A is equivalent to B")
    assert "no evidence of the opposite" in found["warnings"][0]
    first, _ = rows_of_table(found, "hypotheses")
    assert (first["verdict"], first["declared"]) == ("shown", "with the analysis")
    assert not Part.registry["hypotheses"]().applies(type("Given", (), {"options": Options()})())


def test_options_hold_them_and_refuse_what_cannot_be_decided():
    options = options_from({"hypotheses": ["A is better than B"]})
    assert options.parameters()["hypotheses"] == ["A is better than B"]
    assert "--hypothesis 'A is better than B'" in command_line(options)
    assert "hypotheses" not in Options().parameters()
    with pytest.raises(OptionsError, match="cannot be tested"):
        options_from({"hypotheses": ["it is fine"]})


@pytest.mark.slow
def test_the_command_tests_what_it_is_given(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    to_csv(rated(0.5, raters=8, items=6), path)
    call_command("analyse", str(path), "--hypothesis", "A is better than B", "--replicates", "100")
    assert "Shown: A is better than B (MOS" in capsys.readouterr().out
    with pytest.raises(CommandError, match="needs a margin above 0"):
        call_command("analyse", str(path), "--hypothesis", "A is equivalent to B")


@pytest.mark.medium
def test_the_interval_for_these_items_is_clustered_by_raters_alone():
    """Where every rater hears every item it is the t interval of raters' means."""
    table = rated(clip_sd=0.5)
    made = MeanScore(intervals=("two_way", "these_items"), weightings=("ratings",))
    found = {(e.condition, e.interval): e for e in made.fit(table)}
    means = table[table["condition"] == "A"].groupby("rater")["score"].mean()
    half = stats.t.isf(0.025, 19) * means.std() / 20**0.5
    one = found["A", THESE_ITEMS]
    assert half < (one.high - one.low) / 2 < 1.3 * half  # B's raters vary more
    (gap,) = (c for c in made.contrasts(table) if c.interval == THESE_ITEMS)
    assert (gap.family, gap.claimed) == ("", None)
    assert gap.low < gap.value < gap.high


def test_only_raters_are_a_sample_for_these_items():
    rng = np.random.default_rng(2)
    rater, item = (grid.ravel() for grid in np.indices((8, 5)))
    means = clustered(rng.normal(size=40), 0 * rater, rater, item, 1)
    these = for_these_items(means)
    assert these.effective_items[0] > 1e9
    assert these.by_rater == pytest.approx(means.by_rater)
    assert not these.by_item.any()


@pytest.mark.medium
def test_a_study_has_its_own_hypotheses_tested_and_others_stay_words(study):
    add_hypothesis(study, "A is non-inferior to B within 0.5", "asked", by="ada")
    add_hypothesis(study, "Listeners will like it.", "asked", by="ada")
    ended = add_hypothesis(study, "A is better than B", "asked", by="ada")
    end_hypothesis(study, ended.pk, "a mistake", by="ada")
    assert default_options(study.key).hypotheses == ("A is non-inferior to B within 0.5",)
    assert options_of(QueryDict(""), study.key).hypotheses == default_options(study.key).hypotheses


@pytest.mark.medium
def test_an_interval_for_these_items_warns_of_few_raters_not_of_few_items():
    for raters, items, told in ((30, 3, ""), (4, 30, "only 4 raters or items")):
        estimator = MeanScore(intervals=["these_items"], weightings=["ratings"])
        found = estimator.fit(rated(raters=raters, items=items))
        notes = {each.note for each in found if each.interval == THESE_ITEMS}
        assert all(note.startswith(told) for note in notes), notes
        assert all(("raters or items" in note) == bool(told) for note in notes), notes
