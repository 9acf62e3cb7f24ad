"""Clark et al.'s tables 1 and 2 equal R's; contexts are paired; names and places are understood."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.ratings.table import from_rows
from analysis.statistics.longform import (
    Material,
    by_position,
    context_effects,
    form_of,
    least_squares,
    materials,
    paragraph_scores,
    pearson,
    pooled_correlates,
    within_correlates,
)
from tests.analysis.reference import BLANK, DATA, expected, heard_on_headphones
from tests.analysis.simulation import bounds, sizes

NAMES = {"n_sent": "n_sentences"}
CLOSE = {"rel": 1e-9, "abs": 1e-12}


@pytest.fixture(scope="module")
def mos_s1():
    """The paragraphs of mos_s1's synthetic systems, as R used them."""
    (material,) = materials(heard_on_headphones("mos_s1"))
    texts = pd.read_csv(DATA / "mos_s1.texts.csv.gz").set_index("text")["n_words"]
    words = {
        s: texts[i] for s, i in zip(material.stimulus, material.items, strict=True) if i in texts
    }
    return [one for one in paragraph_scores(material, words) if one.speaker != "natural"]


def same(ours, told) -> None:
    rows = {one.correlate: one for one in ours}
    for row in told:
        mine = rows[NAMES.get(row["correlate"], row["correlate"])]
        assert mine.n == row["n"]
        assert mine.r == pytest.approx(row["r"], **CLOSE)
        assert mine.p == pytest.approx(row["p"], **CLOSE)
        assert (mine.low, mine.high) == pytest.approx((row["lo"], row["hi"]), **CLOSE)


@pytest.mark.medium
def test_correlations_within_a_system_are_rs(mos_s1):
    told = expected("mos_s1")["clark_table1"]["single_system"]
    (one,) = [one for one in mos_s1 if one.speaker == told["system"]]
    same(within_correlates(one), told["table"])


@pytest.mark.medium
def test_pooled_correlations_are_rs_and_far_above_those_within(mos_s1):
    pooled = pooled_correlates(mos_s1)
    same(pooled, expected("mos_s1")["clark_table1"]["pooled"])
    centred = pooled_correlates(mos_s1, centred=True)
    assert pooled[0].r > 0.7
    assert centred[0].r < 0.35


@pytest.mark.medium
def test_centred_is_the_partial_correlation_given_the_system(mos_s1):
    """By hand: residuals of both sides on a dummy per system, df less the systems."""
    y = np.concatenate([one.whole for one in mos_s1])
    x = np.concatenate([one.values("mean") for one in mos_s1])
    system = np.repeat(np.arange(len(mos_s1)), [len(one.whole) for one in mos_s1])
    dummies = np.eye(len(mos_s1))[system]
    left_y, left_x = (v - dummies @ np.linalg.lstsq(dummies, v, rcond=None)[0] for v in (y, x))
    r = float(np.corrcoef(left_x, left_y)[0, 1])
    df = len(y) - len(mos_s1) - 1
    p = float(2 * stats.t.sf(abs(r) * (df / (1 - r * r)) ** 0.5, df))
    mine = pooled_correlates(mos_s1, centred=True)[0]
    assert (mine.r, mine.p) == pytest.approx((r, p), rel=1e-9)


@pytest.mark.medium
def test_regressions_by_position_are_rs(mos_s1):
    for found in by_position(mos_s1):
        told = expected("mos_s1")["clark_table2_pooled"][f"n{found.sentences}"]
        got = (found.n, found.r2, found.adjusted_r2, found.f, found.df1, found.df2, found.p)
        keys = ("n", "R2", "adjR2", "F", "df1", "df2", "p")
        assert got == pytest.approx([told[key] for key in keys], **CLOSE)
        for slope, row in zip(found.slopes, told["coef"], strict=True):
            assert slope.term == row["term"]
            numbers = [row[key] for key in ("Estimate", "Std..Error", "t.value", "Pr...t..")]
            assert (slope.value, slope.se, slope.t, slope.p) == pytest.approx(numbers, **CLOSE)


def test_a_regression_with_too_few_paragraphs_says_so():
    with pytest.raises(ValueError, match="4 paragraphs of 3 sentences"):
        least_squares(np.arange(4.0), np.arange(12.0).reshape(4, 3) ** 2)
    with pytest.raises(ValueError, match="say the same"):
        least_squares(np.arange(9.0), np.ones((9, 2)))


def test_an_undefined_correlation_is_none():
    assert pearson(np.ones(9), np.arange(9.0)) == (None,) * 4
    assert pearson(np.arange(3.0), np.arange(3.0)) == (None,) * 4
    assert pearson(np.arange(9.0), np.arange(9.0)) == (1.0, None, None, 0.0)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Ri", ("isolation", "R", "", "", 1, "", 0)),
        ("Tp", ("paragraph", "T", "", "", 0, "", 0)),
        ("R1T1", ("context", "T", "", "", 1, "R", 1)),
        ("Text1T1", ("context", "T", "", "", 1, "Text", 1)),
        ("T2T1 (flite)", ("context", "T", "flite", "", 1, "T", 2)),
        ("talk T1R2 (flite)", ("context", "R", "", "talk", 2, "T", 1)),
        ("my talk Ti (a (b))", ("isolation", "T", "a (b)", "my talk", 1, "", 0)),
    ],
)
def test_a_conditions_name_says_what_is_rated_after_what(name, told):
    form = form_of(name)
    parts = (form.setting, form.voice, form.system, form.key)
    assert (*parts, form.lines, form.context, form.context_lines) == told


@pytest.mark.parametrize("name", ["flite", "Text", "R", "T0T1", "Textp", "Rip", "RiTi"])
def test_other_names_are_no_form(name):
    assert form_of(name) is None


def made(scores: dict[tuple[str, str, str], float], **fields) -> list:
    """Materials of {(condition, item, rater): score}; the paragraph stands before the dot."""
    return list(
        materials(
            from_rows(
                BLANK
                | {
                    "condition": condition,
                    "item": item,
                    "paragraph": item.partition(".")[0],
                    "rater": rater,
                    "session": rater,
                    "stimulus": f"{condition}:{item}",
                    "score": score,
                }
                | fields
                for (condition, item, rater), score in scores.items()
            )
        )
    )


@pytest.mark.medium
def test_context_effects_pair_the_same_lines_and_weigh_them_the_same():
    rng = np.random.default_rng(3)
    scores, means = {}, {"R1T1": [], "T1T1": []}
    for line in range(12):
        for condition, shift in (("R1T1", -0.5), ("T1T1", 0.0)):
            given = np.clip(3.5 + shift + line / 8 + rng.normal(0, 0.3, 3 + line % 3), 1, 5)
            means[condition].append(given.mean())
            for rater, score in enumerate(given):
                scores[condition, f"p{line}.2", f"r{(rater + line) % 7}"] = float(score)
    scores["T1T1", "alone.2", "r1"] = 1.0  # a line of one condition only counts nowhere
    (material,) = made(scores)
    (found,) = context_effects(material)
    difference = np.subtract(means["R1T1"], means["T1T1"])
    assert (found.form.name, found.versus.name, found.n_lines) == ("R1T1", "T1T1", 12)
    assert found.value == pytest.approx(difference.mean())
    told = stats.ttest_rel(means["R1T1"], means["T1T1"])
    assert (found.paired_t, found.paired_p) == pytest.approx((told.statistic, told.pvalue))
    sums = {"rater": {}, "line": {}, "both": {}}
    for (condition, item, rater), score in scores.items():
        if item == "alone.2":
            continue
        line, sign = int(item[1:-2]), 1 if condition == "R1T1" else -1
        n = sum(key[:2] == (condition, item) for key in scores)
        part = sign * (score - np.mean(means[condition])) / (12 * n)
        for way, group in (("rater", rater), ("line", line), ("both", (rater, line))):
            sums[way][group] = sums[way].get(group, 0.0) + part
    by = {way: sum(value**2 for value in groups.values()) for way, groups in sums.items()}
    raters, lines = by["rater"] * 7 / 6, by["line"] * 12 / 11
    two_way = (by["rater"] + by["line"] - by["both"]) * 7 / 6 * 12 / 11
    variance = max(two_way, raters, lines)
    df = max(6, 1 / ((raters / variance) ** 2 / 6 + (lines / variance) ** 2 / 11))
    half = stats.t.ppf(0.975, df) * variance**0.5
    width = found.high - found.low  # 48 answers each: those unseen keep lines from sharing all
    assert 2 * half < width < 2.8 * half
    assert found.high - found.value == pytest.approx(found.value - found.low, abs=0.03)
    assert by["line"] == pytest.approx(np.sum((difference - difference.mean()) ** 2) / 12**2)


@pytest.mark.medium
def test_a_speakers_context_is_not_compared_with_anothers():
    scores = {
        (name, f"p{i}.2", f"r{j}"): float(3 + (i + j) % 2)
        for name in ("R1R1", "R1T1 (a)", "R1T1 (b)", "T1T1 (a)")
        for i in range(4)
        for j in range(4)
    }
    (material,) = made(scores)
    assert [(one.form.name, one.versus.name) for one in context_effects(material)] == [
        ("R1T1 (a)", "T1T1 (a)")
    ]


@pytest.mark.medium
def test_places_are_read_from_names_else_from_their_order():
    names = ("p1.1", "p1.2", "p1.10")
    (material,) = made({("Ti", name, "r1"): 3.0 for name in names})
    assert dict(zip(material.items, material.place, strict=True)) == dict(
        zip(names, (1, 2, 10), strict=True)
    )
    assert (material.places_from, material.length) == ("names", {"p1": 10})
    scores = {("Ti", name, "r1"): 3.0 for name in ("s10-a", "s2-a", "s9-b")}
    (material,) = made(scores, paragraph="p")
    assert [material.items[i] for i in np.argsort(material.place)] == ["s2-a", "s9-b", "s10-a"]
    assert material.places_from == "the order of names"


def test_a_paragraph_without_all_of_its_sentences_is_left_out_and_counted():
    scores = {("Tp", f"p{i}.1-2", "r1"): 3.0 + i % 2 for i in range(6)}
    scores |= {("Ti", f"p{i}.{k}", "r1"): 3.0 for i in range(6) for k in (1, 2)}
    del scores["Ti", "p3.2", "r1"]
    (material,) = made(scores)
    (found,) = paragraph_scores(material)
    assert (found.left_out, len(found.paragraphs)) == (1, 5)
    assert "p3" not in found.paragraphs


def test_words_are_the_paragraphs_own_or_the_sum_of_its_sentences():
    scores = {("Tp", f"p{i}.1-2", "r1"): 3.0 + i % 2 for i in range(4)}
    scores |= {("Ti", f"p{i}.{k}", "r1"): 3.0 for i in range(4) for k in (1, 2)}
    (material,) = made(scores)
    words = {f"Ti:p{i}.{k}": 10.0 * i + k for i in range(4) for k in (1, 2)} | {"Tp:p3.1-2": 99.0}
    (found,) = paragraph_scores(material, words)
    assert found.words.tolist() == [3.0, 23.0, 43.0, 99.0]
    (bare,) = paragraph_scores(material)
    assert "n_words" in {one.correlate: one.note for one in within_correlates(bare)}["n_words"]


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(40, 400)
def test_intervals_of_context_effects_cover_for_new_raters_and_paragraphs(runs):
    """40 paragraphs, 40 raters, 8 ratings a clip: nominal 95 %."""
    rng, truth, covered = np.random.default_rng(5), -0.5, 0
    forms = (form_of("R1T1"), form_of("T1T1"))
    for _ in range(runs):
        line, rater, own = (
            rng.normal(0, sd, size) for sd, size in ((0.2, (40, 2)), (0.4, 40), (0.2, (40, 2)))
        )
        heard = np.array([rng.choice(40, 8, replace=False) for _ in range(80)])
        p, c = np.repeat(np.arange(40), 16), np.tile(np.repeat([0, 1], 8), 40)
        k = heard.reshape(-1)
        y = 3 + truth * (c == 0) + line[p, c] + rater[k] + own[k, c] + rng.normal(0, 0.6, len(p))
        names = p.astype(str).astype(object)
        where = {"item": p, "cluster": p, "paragraph": names, "items": names, "stimulus": names}
        empty = {"key": "", "criterion": "", "study": "", "estimands": ("mos",), "criteria": ("",)}
        rest = {"place": np.full(len(p), 2), "length": {}, "places_from": "names"}
        material = Material(forms=forms, y=y, form=c, rater=k, **where, **empty, **rest)
        (found,) = context_effects(material)
        covered += found.low < truth < found.high
    low, high = bounds(0.92, 0.985, of=400, runs=runs)
    assert low < covered / runs < high
