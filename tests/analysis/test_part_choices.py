"""Choices: shares with simultaneous intervals, confusion matrix, accuracy against chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from analysis.ratings.table import from_study, read_csv
from analysis.report.build import report_of
from analysis.statistics.choices import accuracies, confusion_counts, shares_of_choices
from analysis.statistics.options import Options
from listening.methods import method_named
from listening.methods.word_lists import DRT_PAIRS, word_list
from listening.models import Block, Criterion, Session, Stimulus, Study
from listening.sessions import allocation, lifecycle
from listening.sessions.task_rules import Refused
from listening.web.rater.state import session_state
from tests import factories
from tests.analysis.part_of import part_of, rows_of_table

STYLES = ("excited", "neutral", "tired")


def independent(counts: Any) -> tuple[np.ndarray, np.ndarray]:
    """Answers by as many raters to as many items: nothing is clustered."""
    answers = np.repeat(np.arange(len(counts)), counts)
    return answers[:, None] == np.arange(len(counts)), np.arange(len(answers))


def goodman(counts: Any, level: float = 0.95) -> np.ndarray:
    """Goodman (1965), eq. 2.6: the roots of n (p̂ - p)² = A p (1 - p), A of α / k."""
    x, n, k = np.asarray(counts, dtype=float), float(sum(counts)), len(counts)
    a = stats.chi2.ppf(1 - (1 - level) / k, 1)
    half = np.sqrt(a * (a + 4 * x * (n - x) / n))
    return np.stack([a + 2 * x - half, a + 2 * x + half], axis=1) / (2 * (n + a))


@pytest.mark.parametrize("counts", [(23, 12, 44), (260, 90, 150), (56, 72, 73, 59, 62, 87, 58)])
def test_shares_of_independent_answers_have_goodmans_intervals(counts: tuple[int, ...]) -> None:
    """Those here are exact for a share (Clopper and Pearson) and Goodman's not, so up to 1.5 / n
    wider on each side."""
    chosen, each = independent(counts)
    found = shares_of_choices(chosen, np.zeros(len(each), dtype=int), each, each)
    assert [one.n for one in found] == list(counts)
    bounds = np.array([one.bounds for one in found])
    assert_allclose(bounds, goodman(counts), atol=0.6 * len(counts) ** 0.5 / sum(counts) + 0.004)


def test_two_choices_are_one_statement_with_one_interval() -> None:
    chosen, each = independent((30, 20))
    found = shares_of_choices(chosen, np.zeros(50, dtype=int), each, each)
    (one,) = accuracies(chosen[:, 0], np.full(50, 2), np.zeros(50, dtype=int), each, each)
    assert found[0].bounds == pytest.approx(one.bounds)
    low, high = one.bounds or (0.0, 0.0)
    assert found[1].bounds == pytest.approx((1 - high, 1 - low))


def test_what_is_corrected_for_guessing_is_the_textbooks_number() -> None:
    """ANSI S3.2: right minus wrong / (k - 1), as a share of all."""
    right = np.array([True] * 75 + [False] * 25)
    each = np.arange(100)
    (two,) = accuracies(right, np.full(100, 2), np.zeros(100, dtype=int), each, each)
    (six,) = accuracies(right, np.full(100, 6), np.zeros(100, dtype=int), each, each)
    assert two.corrected == pytest.approx((75 - 25) / 100)
    assert six.corrected == pytest.approx((75 - 25 / 5) / 100)
    low, high = six.bounds or (0.0, 0.0)
    moved = ((low - 1 / 6) / (5 / 6), (high - 1 / 6) / (5 / 6))
    assert six.corrected_bounds == pytest.approx(moved, abs=1e-9)
    assert two.above
    with pytest.raises(ValueError, match="two alternatives"):
        accuracies(right, np.ones(100, dtype=int), np.zeros(100, dtype=int), each, each)


def test_a_claim_against_chance_needs_the_interval() -> None:
    each = np.arange(60)
    for share, above, below in ((0.5, False, False), (0.55, False, False), (0.8, True, False),
                                (0.2, False, True)):  # fmt: skip
        right = each < share * 60
        (one,) = accuracies(right, np.full(60, 2), np.zeros(60, dtype=int), each, each)
        assert (one.above, one.below) == (above, below), share


LOGITS, LEANING = np.log([0.5, 0.3, 0.2]), 0.6  # of choices; SD of raters', and of items'


def simulated(rng: np.random.Generator, raters: int, items: int) -> tuple[Any, ...]:
    """Answers from three choices: raters and items lean to some, as in a crossed layout."""
    logits = LOGITS + rng.normal(0, LEANING, (raters, 1, 3)) + rng.normal(0, LEANING, (1, items, 3))
    p = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    answers = (rng.random((raters, items, 1)) > p.cumsum(axis=2)).sum(axis=2)
    rater, item = np.indices((raters, items))
    return answers.ravel(), rater.ravel(), item.ravel()


def coverage(studies: int) -> tuple[float, float]:
    """How often all three intervals, and that of one right answer, hold what is true."""
    rng = np.random.default_rng(20261129)
    p = np.exp(LOGITS + rng.normal(0, LEANING * 2**0.5, (200_000, 3)))  # of a rater and an item
    true = (p / p.sum(axis=1, keepdims=True)).mean(axis=0)
    all_hold = one_holds = 0
    for _ in range(studies):
        answers, rater, item = simulated(rng, 30, 24)
        none = np.zeros(len(answers), dtype=int)
        found = shares_of_choices(answers[:, None] == np.arange(3), none, rater, item)
        bounds = np.array([one.bounds for one in found])
        all_hold += bool(((bounds[:, 0] <= true) & (true <= bounds[:, 1])).all())
        (right,) = accuracies(answers == 0, np.full(len(answers), 3), none, rater, item)
        low, high = right.corrected_bounds or (0.0, 0.0)
        one_holds += low <= (true[0] - 1 / 3) / (2 / 3) <= high
    return all_hold / studies, one_holds / studies


@pytest.mark.slow
def test_intervals_of_choices_cover_about_as_often_as_they_say() -> None:
    together, right = coverage(150)
    assert 0.90 <= together <= 1
    assert 0.89 <= right <= 0.99


@pytest.mark.soak
def test_intervals_of_choices_cover_as_often_as_they_say() -> None:
    together, right = coverage(2000)
    assert 0.94 <= together <= 0.985  # Bonferroni, of three shares that add up to 1
    assert 0.94 <= right <= 0.97  # as wide as Clopper and Pearson's, which are never too narrow


def test_confusions_are_counted_by_truth_and_answer() -> None:
    counts = confusion_counts(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), 3)
    assert counts.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 0]]


# --- A study, from the rater's page to the report ------------------------------------------------


def styled_study() -> Study:
    study = Study.objects.create(
        owner=factories.make_user(), key="styles", title="Styles", state="open", seed=1
    )
    factories.make_material(study, 2, 12, {})
    for n, clip in enumerate(study.stimuli.select_related("item").order_by("pk")):
        clip.attributes = {"correct_answer": STYLES[n % 3]}
        clip.save()
    plan: dict[str, Any] = {"block_size": 24, "ratings_per_stimulus": 12, "repeat_items": True}
    task = factories.add_task(
        study, method="free_choice", options={"choices": list(STYLES)}, **plan
    )
    strength = {"choices": [{"label": f"{n}", "score": n} for n in range(1, 6)]}
    scale = task_scale("free_choice", strength)
    Criterion.objects.create(task=task, key="intensity", order=1, question="?", scale=scale)
    allocation.plan_study(study)
    return study


def task_scale(method: str, options: dict[str, Any]) -> dict[str, Any]:
    return method_named(method).scale(options).as_dict()


def rhyming_study(words: str = "veal|feel") -> Study:
    study = Study.objects.create(
        owner=factories.make_user(), key="rhymes", title="Words", state="open", seed=1
    )
    factories.make_material(study, 2, 12, {})
    for n, item in enumerate(study.items.order_by("pk")):
        item.dimension = ("voicing", "nasality")[n % 2]
        item.save()
    for n, clip in enumerate(study.stimuli.order_by("pk")):
        own = [f"{word}{n % 3}" for word in words.split("|")]
        clip.attributes = {"alternatives": "|".join(own), "correct_answer": own[0]}
        clip.save()
    factories.add_task(
        study, method="closed_response", block_size=24, ratings_per_stimulus=12, repeat_items=True
    )
    allocation.plan_study(study)
    return study


def answer_all(study: Study, known: dict[str, float], seed: int = 1) -> None:
    """Raters recognize a clip with the probability of its condition, else they guess."""
    rng = np.random.default_rng(seed)
    clips = {s.pk: s for s in Stimulus.objects.filter(study=study).select_related("condition")}
    of_task = {task.pk: task.criteria.count() for task in study.tasks.all()}
    while Block.objects.filter(task__in=of_task, state=0).exists():
        session = factories.arrive(study)
        on_page = offered_to(session)  # of the first trial
        while (trial := factories.current(session)) is not None:
            clip = clips[trial.stimulus_id]
            brought = clip.attributes
            correct = brought["correct_answer"]
            offered = brought.get("alternatives", "|".join(STYLES)).split("|")
            assert on_page is None or set(on_page) == set(offered)
            on_page = None
            sure = rng.random() < known[clip.condition.key]
            label = correct if sure else offered[rng.integers(len(offered))]
            labels = {"0": label}
            if of_task[trial.task_id] > 1:
                labels["1"] = str(1 + rng.integers(5))
            answer = factories.an_answer(trial, "-")
            lifecycle.record_answer(session, type(answer)(**{**vars(answer), "labels": labels}))


def offered_to(session: Session) -> list[str] | None:
    """Which alternatives of its own the first trial of this rater shows, in their order."""
    trial = session_state(session, own=True)["trials"][0]
    return [step["label"] for step in trial["alternatives"]] if "alternatives" in trial else None


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("answer_alone")
def test_known_recognition_of_styles_comes_back_as_accuracy_and_confusions() -> None:
    study = styled_study()
    answer_all(study, {"cond-0": 0.7, "cond-1": 0.0})
    table = from_study(study.key)
    style, strength = (table[table["criterion"] == key] for key in ("naturalness", "intensity"))
    assert set(style["alternatives"]) == {"excited|neutral|tired"}
    assert set(style["correct_answer"]) == set(STYLES)
    assert set(strength["correct_answer"]) == {""}
    # Who hears what is drawn in secret: at 95 % the truth would be missed once in twenty runs.
    shown = part_of("choices", table, Options(level=0.9999))
    rows = {row["condition"]: row for row in rows_of_table(shown, "accuracy_2")}
    heard, guessed = rows["cond-0"], rows["cond-1"]
    assert heard["accuracy_low"] <= 0.7 + 0.3 / 3 <= heard["accuracy_high"]
    assert heard["corrected_low"] <= 0.7 <= heard["corrected_high"]
    assert heard["claim"] == "significantly above chance"
    assert guessed["claim"] == "not significantly different from chance"
    matrix = [r for r in rows_of_table(shown, "confusion_2") if r["condition"] == "cond-0"]
    own = style[style["condition"] == "cond-0"]
    crossed = pd.crosstab(own["correct_answer"], own["label"])
    for row in matrix:
        counts = [row[f"n_{n}"] for n in (1, 2, 3)]
        assert counts == crossed.loc[row["truth"], list(STYLES)].tolist()
    shares = [r for r in rows_of_table(shown, "choices_2") if r["condition"] == "cond-0"]
    assert sum(row["share"] for row in shares) == pytest.approx(1)
    assert any("significantly above chance" in sentence for sentence in shown["sentences"])
    report = report_of(table, options=Options(replicates=100))
    assert {row["criterion"] for row in report["estimates"]} == {"intensity"}


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("answer_alone")
def test_known_intelligibility_comes_back_corrected_for_guessing_and_by_feature() -> None:
    study = rhyming_study()
    answer_all(study, {"cond-0": 0.8, "cond-1": 0.3})
    table = from_study(study.key)
    assert table["score"].isin([0.0, 1.0]).all()
    assert (table["score"] == (table["label"] == table["correct_answer"])).all()
    shown = part_of("choices", table, Options(level=0.9999))  # as above
    rows = {row["condition"]: row for row in rows_of_table(shown, "accuracy")}
    for condition, known in (("cond-0", 0.8), ("cond-1", 0.3)):
        row = rows[condition]
        assert row["chance"] == 0.5
        assert row["corrected_low"] <= known <= row["corrected_high"]
    by_feature = rows_of_table(shown, "accuracy_by_dimension")
    assert [row["dimension"] for row in by_feature] == ["nasality"] * 2 + ["voicing"] * 2
    confusions = rows_of_table(shown, "confusions")
    wrong = table[table["label"] != table["correct_answer"]]
    assert sum(row["n"] for row in confusions) == len(wrong)
    report = report_of(table, options=Options(replicates=100))
    rows_of_means = [row for row in report["estimates"] if row["breakdown"] == "condition:"]
    means = {row["condition"]: row["value"] for row in rows_of_means}
    assert means["cond-0"] == pytest.approx(rows["cond-0"]["accuracy"])


def drt_answers(raters: int = 6) -> pd.DataFrame:
    """Answers to the whole DRT: words with voicing are missed by a third of the raters."""
    rows = []
    for rater in range(raters):
        for word in word_list("drt"):
            other = next(each for each in word.alternatives if each != word.word)
            missed = (word.dimension, word.state) == ("voicing", "present") and rater % 3 == 0
            rows.append(
                {
                    "method": "closed_response",
                    "rater": f"r{rater}",
                    "item": word.item,
                    "condition": "vits",
                    "dimension": word.dimension,
                    "label": other if missed else word.word,
                    "score": "0" if missed else "1",
                    "correct_answer": word.word,
                    "alternatives": "|".join(sorted(word.alternatives)),
                }
            )
    return pd.DataFrame(rows)


def test_features_of_the_drt_have_voiers_scores_for_both_states(tmp_path: Path) -> None:
    """100 (R - W) / T, counted by hand; the bias is the difference of the two states."""
    file = tmp_path / "drt.csv"
    drt_answers().to_csv(file, index=False)
    rows = {
        r["feature"]: r for r in rows_of_table(part_of("choices", read_csv(file).table), "features")
    }
    assert rows.keys() == DRT_PAIRS.keys()
    voicing = rows["voicing"]
    wrong, answers = 16 * 2, 16 * 6
    present = 100 * (answers - 2 * wrong) / answers
    assert voicing["present"] == pytest.approx(present)
    assert voicing["present_low"] < present < voicing["present_high"]
    assert (voicing["absent"], voicing["n"]) == (100, 2 * answers)
    assert voicing["score"] == pytest.approx((present + 100) / 2)
    assert voicing["bias"] == pytest.approx(present - 100)
    assert rows["nasality"]["score"] == 100


@pytest.mark.django_db
@pytest.mark.medium
def test_a_page_gets_shuffled_alternatives_and_the_server_takes_no_others() -> None:
    study = rhyming_study("peas|peak|peal|peace|peach|peat")
    orders = set()
    for _ in range(4):
        session = factories.arrive(study)
        state = session_state(session, own=True)
        for trial in state["trials"]:
            steps = trial["alternatives"]
            assert [step["hotkey"] for step in steps] == list("123456")
            assert all(set(step) == {"label", "text", "hotkey", "apart"} for step in steps)
            orders.add(tuple(step["label"][:-1] for step in steps))
        trial = factories.current(session)
        answer = factories.an_answer(trial, "-")
        wrong = type(answer)(**{**vars(answer), "labels": {"0": "veal0"}})
        with pytest.raises(Refused):
            lifecycle.record_answer(session, wrong)
    assert len(orders) > 6  # of 12 trials: no fixed order
    assert "correct_answer" not in str(state)
