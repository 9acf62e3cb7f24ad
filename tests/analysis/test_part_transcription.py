"""What raters type, from the answer over the stored score to the report's tables."""

from __future__ import annotations

import sys
from functools import cache
from random import Random
from statistics import NormalDist, fmean
from typing import Any

import numpy as np
import pytest
from django.test import Client

from analysis.ratings.table import from_rows
from analysis.report.build import report_of
from analysis.report.html.page import page_html
from analysis.report.writers.methods_text import methods_text
from analysis.statistics.intervals import clustered, t_interval
from analysis.statistics.options import Options
from listening.methods import phonemes
from listening.methods.phoneme_scores import score_phonemes
from listening.methods.transcript_scores import NOTHING, SpokenText, score_transcript
from listening.models import Item, Rating, Study
from listening.selectors import method_facts, rating_rows
from listening.sessions import lifecycle
from listening.sessions.simulated_raters.opinions import KnownClip, Opinions, Spread, Truth
from tests import factories
from tests.analysis.simulation import bounds, sizes

PARTS = ("transcription",)
pytestmark = pytest.mark.usefixtures("answer_alone")
TEXTS = ["Glue the sheet to the dark blue background.", "It's easy to tell the depth of a well."]


def typed_study(**options: Any) -> Study:
    study = factories.make_study(
        conditions=2,
        items=2,
        task={
            "method": "transcription",
            "key": "words",
            "options": options,
            "block_size": 2,
            "ratings_per_stimulus": 2,
        },
    )
    items = study.items.filter(stimuli__trap="").distinct().order_by("key")
    for item, text in zip(items, TEXTS, strict=True):
        Item.objects.filter(pk=item.pk).update(text=text)
    return study


def test_an_answer_is_stored_as_typed_and_scored_by_the_text_of_its_clip(db: None) -> None:
    study = typed_study(typos="one_letter", plays=2)
    texts = dict(study.stimuli.values_list("pk", "item__text"))
    wrong = {TEXTS[0]: "Glue the SHEAT to the duck blue background", TEXTS[1]: NOTHING}
    sessions = [factories.arrive(study) for _ in range(4)]
    for number, session in enumerate(sessions):
        while (trial := factories.current(session)) is not None:
            text = texts[trial.stimulus_id]
            label = text.upper() if number % 2 else wrong[text]
            plays = 3 if number == 1 else 1
            lifecycle.record_answer(session, factories.an_answer(trial, label, plays=plays))
    stored = Rating.objects.values_list("label", "score")
    assert set(stored) == {
        ("Glue the SHEAT to the duck blue background", 7 / 8),
        (NOTHING, 0.0),
        *((text.upper(), 1.0) for text in TEXTS),
    }
    rows = list(rating_rows(study.key))
    assert {(r["label"], r["score"]) for r in rows} == set(stored)
    assert {r["estimand"] for r in rows} == {"words_right"}
    facts = method_facts(study.key)
    report = report_of(from_rows(rows), options=Options(replicates=100), facts=facts)
    means = {r["condition"]: r["value"] for r in report["estimates"]}
    (part,) = [each for each in report["parts"] if each["key"] == "transcription"]
    rates = next(t for t in part["tables"] if t["key"] == "rates")["rows"]
    for row in rates:
        own = [r for r in rows if r["condition"] == row["condition"]]
        assert row["right"] == pytest.approx(100 * fmean(r["score"] or 0.0 for r in own))
        assert row["right"] == pytest.approx(100 * means[row["condition"]])
        assert row["nothing"] == sum(r["label"] == NOTHING for r in own)
    assert fmean(row["errors"] for row in rates) == pytest.approx(100 * (1 / 8 + 1) / 4)
    confused = next(t for t in part["tables"] if t["key"] == "confusions")["rows"]
    first = {(r["word"], r["typed"]): (r["count"], r["heard"]) for r in confused}
    assert first["dark", "duck"] == (2, 4)
    assert first["easy", None] == (2, 4)
    assert not any(word == "sheet" for word, _ in first)  # a typo that is right
    said = " ".join([*part["sentences"], *part["methods"]])
    assert "2 of 48 correct words had one wrong letter" in said
    assert "2 answers came after more than 2 plays" in said
    assert part["warnings"] == []
    assert "Words most often missed or confused" in page_html(report)


def test_phonemes_are_scored_reported_and_named_by_their_tool(db: None) -> None:
    study = typed_study(unit="phonemes", dialect="en-us")
    texts = dict(study.stimuli.values_list("pk", "item__text"))
    typed = {TEXTS[0]: "glue the sheep to the dark blue background", TEXTS[1]: NOTHING}
    for number in range(4):
        session = factories.arrive(study)
        while (trial := factories.current(session)) is not None:
            text = texts[trial.stimulus_id]
            label = text if number % 2 else typed[text]
            lifecycle.record_answer(session, factories.an_answer(trial, label))
    rows = list(rating_rows(study.key))
    assert {r["estimand"] for r in rows} == {"phonemes_correct"}
    assert {r["score"] for r in rows} == {1.0, 26 / 27, 0.0}  # sheep for sheet
    report = report_of(
        from_rows(rows), options=Options(replicates=100), facts=method_facts(study.key)
    )
    (part,) = [each for each in report["parts"] if each["key"] == "transcription"]
    rates = next(t for t in part["tables"] if t["key"] == "rates")
    headings = [each["heading"] for each in rates["columns"]]
    assert "Phonemes correct (%)" in headings
    assert "PER, raters (%)" in headings
    assert {row["phonemes_by"] for row in rates["rows"]} == {"eSpeak NG 1.52.0, English (America)"}
    assert fmean(row["errors"] for row in rates["rows"]) == pytest.approx(100 * (1 / 27 + 1) / 4)
    confused = next(t for t in part["tables"] if t["key"] == "confusions")["rows"]
    found = {(r["phoneme"], r["heard_as"]): r for r in confused}
    assert found["t", "p"]["count"] == 2
    assert found["v", None]["kind"] == "Deletion"
    assert found["v", None]["share"] == 50
    for said in (" ".join(part["methods"]), methods_text(report)):
        assert "eSpeak NG 1.52.0, English (America)" in said
    assert part["warnings"] == []
    page = page_html(report)
    assert "Most frequent confusions of phonemes" in page
    assert "{" not in " ".join([*headings, rates["note"], *part["methods"]])


def test_a_report_without_the_tool_of_phonemes_says_what_to_install(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = typed_study(unit="phonemes")
    session = factories.arrive(study)
    while (trial := factories.current(session)) is not None:
        lifecycle.record_answer(session, factories.an_answer(trial, "glue"))
    facts, rows = method_facts(study.key), list(rating_rows(study.key))
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    for each in (phonemes._library, phonemes.voices, phonemes.voice_for, phonemes.phonemes_of):
        each.cache_clear()
    report = report_of(from_rows(rows), options=Options(replicates=100), facts=facts)
    (part,) = [each for each in report["parts"] if each["key"] == "transcription"]
    assert "requirements-phonemes.txt" in " ".join(part["sentences"])
    assert [t["key"] for t in part["tables"]] == ["rates"]


def test_no_page_of_a_rater_holds_what_is_to_be_typed(db: None, client: Client) -> None:
    study = typed_study()
    session = factories.arrive(study)
    page = client.get(f"/s/{session.code}/").content.decode()
    assert "plays" in page  # the trial is there
    assert NOTHING in page
    assert "sheet to the dark" not in page
    assert "depth of a well" not in page


def clip(words: int, stimulus: str = "s") -> KnownClip:
    return KnownClip("a", stimulus, words=tuple(f"w{k}" for k in range(words)))


def test_simulated_raters_type_with_the_error_rate_of_the_truth() -> None:
    truth = Truth(3, {"a": 0.4}, Spread(stimulus=0.0))
    own = clip(8)
    spoken = SpokenText(" ".join(own.words), "en")
    scores = [
        score_transcript(typed, spoken).share or 0.0
        for typed in (Opinions(truth, n).transcript(own, careless=False) for n in range(3000))
    ]
    assert fmean(scores) == pytest.approx(truth.words_right("a", "s"), abs=0.02)
    lazy = Opinions(truth, 1).transcript(own, careless=True)
    assert score_transcript(lazy, spoken).share == 0


PAIRS = ("veal-feel", "meat-beat", "sheet-cheat", "jest-guest", "pool-tool", "key-tea", "coat-goat")


def typed_words(rater: Opinions, own: KnownClip) -> str:
    return rater.transcript(own, careless=False)


def typed_pairs(rater: Opinions, own: KnownClip) -> str:
    """The first word of each pair with Φ(utility), else the second: one phoneme is another."""
    right = NormalDist().cdf(rater.utility(own))
    return " ".join(pair.split("-")[rater.random.random() >= right] for pair in PAIRS)


def words_score(typed: str) -> float:
    return score_transcript(typed, SpokenText(" ".join(clip(7).words), "en")).share or 0.0


@cache  # there are 128 answers
def phonemes_score(typed: str) -> float:
    text = " ".join(pair.split("-")[0] for pair in PAIRS)
    return score_phonemes(typed, SpokenText(text, "en")).share or 0.0


@pytest.mark.slow
@sizes(60, 1000)
@pytest.mark.parametrize(
    ("typed_by", "score", "worst"),
    [(typed_words, words_score, 0.0), (typed_pairs, phonemes_score, None)],
    ids=["words", "phonemes"],
)
def test_intervals_of_what_is_correct_hold_the_truth(runs, typed_by, score, worst):
    """20 new raters type 24 new sentences each time; the truth is that of all raters and texts.

    A share between that of nothing understood and 1 is right, in proportion to the words heard.
    """
    held = 0
    worst = phonemes_score(" ".join(p.split("-")[1] for p in PAIRS)) if worst is None else worst
    for run in range(runs):
        truth = Truth(run, {"a": 0.3}, Spread(rater_condition=0.0))
        scores, raters, items = [], [], []
        for r in range(20):
            rater = Opinions(truth, r)
            for i in Random(f"{run}/{r}").sample(range(24), 12):
                scores.append(score(typed_by(rater, clip(7, f"s{i}"))))
                raters.append(r)
                items.append(i)
        y, zero = np.array(scores), np.zeros(len(scores), dtype=np.int64)
        means = clustered(y, zero, np.array(raters), np.array(items), 1)
        low, high = t_interval(
            float(means.value[0]), means.variance(0) ** 0.5, means.degrees(0), 0.95
        )
        held += low <= worst + (1 - worst) * truth.words_right("a") <= high
    low, high = bounds(0.93, 0.97, of=1000, runs=runs)
    assert low <= held / runs <= high
