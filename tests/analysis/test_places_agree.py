"""No two places of a report disagree: sentences, letters, tables, figures and files."""

import re
from itertools import combinations

import numpy as np
import pytest

from analysis.ratings.estimands import estimand_of_method
from analysis.ratings.table import from_rows
from analysis.report.build import report_of
from analysis.report.part import PartInput
from analysis.report.parts.answer import Answer
from analysis.report.parts.comparisons import Comparisons
from analysis.report.parts.pairs import Pairs
from analysis.report.ranking import rankings
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen
from tests.analysis.reference import BLANK
from tests.analysis.shown_by import in_keys
from tests.analysis.simulation import sizes

OPTIONS = Options(intervals=("two_way",), replicates=100, rules=())
ALPHA = 1 - OPTIONS.level
ALONE = ("mos", "att", "mushra", "context_mos", "dcr", "rank")
PAIRED = ("cmos", "ab", "ccr", "preference", "abx")
STEPS = {"att": (0.0, 0.5, 1.0), "mushra": (0.0, 100.0), "ab": (0.0, 0.5, 1.0), "abx": (0.0, 1.0)}
EMPTY = {"sentences": [], "figures": [], "tables": [], "warnings": []}
NAMES = ("human", "B, the old", "C and D", "E (new)", "F")


def study(method, seed):
    """Ratings of a few conditions by a few raters, some of them alike, some far apart."""
    rng = np.random.default_rng([seed, len(method)])
    raters, items = int(rng.integers(2, 14)), int(rng.integers(2, 9))
    names = NAMES[: int(rng.integers(2, 6))]
    sizes_of = rng.choice([0.0, 0.3, 1.5], len(names)) * rng.normal(0, 1, len(names))
    spread = rng.choice([0.05, 0.4, 1.0])
    of_rater, of_item = rng.normal(0, spread, raters), rng.normal(0, spread, items)
    full = rng.random() < 0.5
    rows = []
    for r in range(raters):
        for i in range(items):
            for c, name in enumerate(names):
                if not full and rng.random() < 0.4:
                    continue
                value = sizes_of[c] + of_rater[r] + of_item[i] + rng.normal(0, spread)
                rows.append(row(method, name, r, i, value, names, c, rng))
    return from_rows([each for each in rows if each])


def row(method, name, r, i, value, names, c, rng):
    other = names[(c + 1) % len(names)] if method in PAIRED else ""
    if method in ("dcr", "mushra"):
        other = names[0]
    return BLANK | {
        "method": method,
        "estimand": estimand_of_method(method).key,
        "condition": name,
        "versus_condition": other,
        "rater": f"r{r}",
        "session": f"r{r}",
        "item": f"i{i}",
        "stimulus": f"{name}_{i}",
        "versus_stimulus": f"{other}_{i}" if other else "",
        "presented_first": str(rng.choice(["rated", "versus"])) if method in PAIRED else "",
        "score": scored(method, value),
    }


def scored(method, value):
    if method == "mushra":
        return float(np.clip(round(60 + 15 * value), 0, 100))
    if method in STEPS:
        return float(min(STEPS[method], key=lambda step: abs(step - (0.5 + value / 3))))
    if method in PAIRED:
        reach = 2 if method == "preference" else 3
        return float(np.clip(round(value), -reach, reach))
    return float(np.clip(round(3 + value), 1, 5))


def given_of(table):
    """What parts are given, and of the report what these tests look at."""
    screened = screen(table, OPTIONS.rules)
    kept = screened.kept(OPTIONS.rules)
    maker = MeanScore(intervals=OPTIONS.intervals)
    rows = {
        "estimates": [line.row() for line in maker.fit(kept)],
        "contrasts": [line.row() for line in maker.contrasts(kept)],
        "shares": [],
    }
    for name, lines in rows.items():
        rows[name] = [{"breakdown": "condition:", **line} for line in lines]
    given = PartInput(kept, screened, OPTIONS, report=rows)
    parts = []
    for kind in (Answer, Comparisons, Pairs):
        if kind().applies(given):
            try:
                shown = in_keys(kind().make(given)).plain()
            except ValueError as error:
                shown = {**EMPTY, "warnings": [str(error)]}
            parts.append({"key": kind.key, **shown})
    return {**rows, "parts": parts}, given


def part(report, key):
    return next((each for each in report["parts"] if each["key"] == key), None)


def excludes(row, low, high, neutral=0.0):
    ends = row[low], row[high]
    return None not in ends and (ends[0] > neutral or ends[1] < neutral)


SLIPS = {
    "a number that is none": r"\bnan\b|\binf\b|\bNone\b(?! of)",
    "a hyphen as minus, or a sign before nothing": r"(?<![\w-])-\d|[+−]0\.0+(?!\d)",
    "no rejection, with a p as if there was one": r"not significantly[^.;(]*\((?:adjusted )?p <",
    "a phrase in the quotation marks of a name": r"“[^”]*\d ?%[^”]*”",
    "a joint without parts": r", ,|,,| and and |\(\)|\[\]|  |\.\.(?!\.)| ,| \.(?!\d)",
    "one of many": r"(?<![\d.,] )(?<![\d.,])\b1 (?:raters|ratings|items|clips|pairs|conditions)\b",
}


def sentences_hold_no_slips(report):
    for each in report["parts"]:
        for text in (*each["sentences"], *each["warnings"]):
            for slip, pattern in SLIPS.items():
                assert not re.search(pattern, text), f"{slip}: {text}"


@pytest.mark.slow
@pytest.mark.parametrize("method", ALONE)
@sizes(1, 46)
def test_conditions_rated_one_by_one_are_told_alike_everywhere(method, runs):
    for seed in range(runs):
        alone_are_told_alike(study(method, seed))


def alone_are_told_alike(table):
    report, given = given_of(table)
    sentences_hold_no_slips(report)
    files = {
        frozenset((r["condition"], r["versus"])): r
        for r in report["contrasts"]
        if r["breakdown"] == "condition:" and r["interval"].startswith("two-way")
        if r["weighting"] == "ratings"
    }
    for s in rankings(given):
        for r in files.values():
            assert bool(r["claimed"]) == excludes(r, "low_all", "high_all")
            assert bool(r["claimed"]) == (r["p_adjusted"] is not None and r["p_adjusted"] < ALPHA)
        claims = {pair for pair, r in files.items() if r["claimed"]}
        letters_agree(s, claims)
        tables_agree(report, claims)
        sentence_agrees(s, part(report, "answer")["sentences"][0], claims)


def letters_agree(s, claims):
    if s.tiers is None:
        assert not claims
        return
    for a, b in combinations(s.tiers.order, 2):
        apart = not set(s.tiers.letters[a]) & set(s.tiers.letters[b])
        assert apart == (frozenset((a, b)) in claims)


def tables_agree(report, claims):
    made = part(report, "comparisons")
    if made is None:
        return
    for table in made["tables"]:
        for r in table["rows"]:
            if "claimed" in r:
                pair = frozenset((r["condition"], r["versus"]))
                assert r["claimed"] == (pair in claims)
                assert r["claimed"] == excludes(r, "difference_low", "difference_high")
    for figure in made["figures"]:
        for r in figure["rows"]:
            assert r["text"].endswith("*") == (frozenset((r["row"], r["column"])) in claims)


def sentence_agrees(s, text, claims):
    """What is said of the reference, and of two systems, is what the claims are."""
    if s.reference and "Relative to " in text and s.tiers:
        told = text.partition("Relative to ")[2].partition(": ")[2]
        for piece in told.split("; "):
            same = "not significantly different" in piece
            apart = re.search(r"significantly (higher|lower|better|worse)", piece)
            for name in s.systems:
                if name in piece and (same or apart):
                    claimed = frozenset((name, s.reference.name)) in claims
                    assert claimed != same, text
    if len(s.systems) == 2 and s.tiers:
        order = text.partition("Relative to ")[0]
        claimed = frozenset(s.systems) in claims
        same = "not significantly different" in order or "do not tell the conditions apart" in order
        assert same != claimed, text


@pytest.mark.slow
@pytest.mark.parametrize("method", PAIRED)
@sizes(1, 46)
def test_pairs_are_told_alike_in_the_answer_and_in_their_part(method, runs):
    for seed in range(runs):
        pairs_are_told_alike(method, study(method, seed))


def pairs_are_told_alike(method, table):
    report, _ = given_of(table)
    sentences_hold_no_slips(report)
    neutral = estimand_of_method(method).neutral
    made, answer = part(report, "pairs"), part(report, "answer")
    if made is None or not answer["figures"]:
        return
    key = "abx" if method == "abx" else "pairs"
    shares = next(t for t in made["tables"] if t["key"].startswith(key))
    shown = 0.0 if method in ("cmos", "ccr", "preference") else neutral
    decided = set()
    for r in shares["rows"]:
        if r["name"] == "all pairs":
            continue
        claimed = r["p"] is not None and r["p"] < ALPHA
        assert claimed == excludes(r, "low", "high", shown)
        if claimed:
            decided.add(frozenset(re.split(r" against | and (?!D)", r["name"])))
    marked = [r for r in answer["figures"][0]["rows"] if r["mark"] == "*"]
    assert len(marked) == len(decided)
    assert all(excludes(r, "low", "high", neutral) for r in marked)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*ALONE, *PAIRED])
@sizes(0, 92)
def test_every_sentence_of_a_whole_report_is_read(method, runs, request):
    """All parts of a report, models among them; in `make test` of two, models of one."""
    if not runs and method != "mos":
        request.getfixturevalue("without_models")
    for seed in range(1000, 1000 + (runs or int(method in ("mos", "ab")))):
        report = report_of(study(method, seed), options=OPTIONS)
        assert not [each["problem"] for each in report["parts"] if "broke" in each["problem"]]
        made = [{**EMPTY, **in_keys(each)} for each in report["parts"]]
        sentences_hold_no_slips({"parts": [*made, {**EMPTY, "warnings": report["warnings"]}]})


def test_the_parts_under_test_are_those_of_every_report():
    assert all(kind.always for kind in (Answer, Comparisons, Pairs))
