"""REML with text and stimulus effects across and inside conditions equals lme4 and lmerTest."""

import numpy as np
import pytest

from analysis.statistics.mixed.crossed import Crossed, Plan
from analysis.statistics.mixed.linear_model import crossed_reml, nested_reml, sides_of
from analysis.statistics.mixed.model_contrasts import means, pairs
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.sufficient_statistics import sums
from tests.analysis.mixed_data import att, column, mos, values
from tests.analysis.reference import expected


def fitted(data, *, text="text", cells=("system",), stimulus=True):
    cell = data.codes(*cells)
    inside = {"rater:condition": data.codes("rater", "system")}
    if stimulus:
        inside["stimulus"] = data.codes("stimulus")
    across = {"rater": data.codes("rater"), "item": data.codes(text)}
    design = np.eye(cell.max() + 1)[cell]
    return crossed_reml(data.y, design, data.codes("system"), {**inside, **across})


def assert_is_rs(fit, r, names):
    np.testing.assert_allclose(fit.estimate, values(r["fixef"]), rtol=2e-8)
    np.testing.assert_allclose(fit.se, values(r["se"]), rtol=1e-6)
    for mine, theirs in names.items():
        assert fit.sds[mine] == pytest.approx(r["sd"][theirs], rel=3e-5)
    assert fit.log_likelihood == pytest.approx(r["logLik_REML"], abs=1e-7)


NAMES = {"rater": "rater", "rater:condition": "rater:system", "residual": "Residual"}
ALL = NAMES | {"item": "text", "stimulus": "stimulus"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mos_s2", pytest.param("mos_s1", marks=pytest.mark.soak)])
def test_text_and_stimulus_with_satterthwaite_contrasts_are_rs(name):
    fit, r = fitted(mos(name)), expected(name)["lmm_isolation"]
    assert_is_rs(fit, r, ALL)
    degrees = column(r["emmeans"], "df")
    np.testing.assert_allclose(means(fit).degrees, degrees, rtol=2e-6)
    found = pairs(fit)
    np.testing.assert_allclose(found.se, column(r["pairs_none"], "SE"), rtol=1e-6)
    np.testing.assert_allclose(found.degrees, column(r["pairs_none"], "df"), rtol=2e-6)
    np.testing.assert_allclose(found.low, column(r["pairs_none"], "lower.CL"), rtol=1e-5)
    np.testing.assert_allclose(
        found.p_tukey, column(r["pairs_tukey"], "p.value"), rtol=1e-4, atol=3e-7
    )


@pytest.mark.slow
def test_a_small_stimulus_variance_is_found():
    assert_is_rs(fitted(att("att_s2")), expected("att_s2")["lmm_stimulus"], NAMES)


@pytest.mark.soak
def test_cells_of_system_and_paragraph_condition_are_rs():
    fit = fitted(mos("mos_s1", None), text="paragraph", cells=("system", "condition"))
    r = expected("mos_s1")["lmm_condition"]
    assert_is_rs(fit, r, NAMES | {"item": "paragraph", "stimulus": "stimulus"})


@pytest.mark.soak
def test_any_design_matrix_will_do():
    """The effect of the paragraph condition on synthetic speech, beside system effects."""
    frame = mos("mos_s1", None).frame
    data = type(mos("mos_s1"))(frame[frame["system"] != "natural"].reset_index(drop=True))
    columns = [np.ones(len(data.frame))]
    columns += [data.frame["condition"].eq(c).to_numpy(float) for c in ("paragraph", "context")]
    columns += [data.frame["system"].eq(s).to_numpy(float) for s in data.names()[1:]]
    effects = {"rater:condition": ("rater", "system"), "stimulus": ("stimulus",)}
    effects |= {"rater": ("rater",), "item": ("paragraph",)}
    codes = {name: data.codes(*what) for name, what in effects.items()}
    fit = crossed_reml(data.y, np.column_stack(columns), data.codes("system"), codes)
    rows = expected("mos_s1")["condition_effect_tts"]["table"]
    np.testing.assert_allclose(fit.estimate[:3], column(rows, "Estimate"), rtol=1e-6)
    np.testing.assert_allclose(fit.se[:3], column(rows, "Std..Error"), rtol=1e-5)
    degrees = fit.degrees(np.eye(len(fit.estimate))[:3])
    np.testing.assert_allclose(degrees, column(rows, "df"), rtol=1e-4)


@pytest.mark.soak
def test_texts_across_857_raters_are_rs():
    assert_is_rs(fitted(att("att_s1"), stimulus=False), expected("att_s1")["lmm_text"], NAMES)


CODES = ("rater", "rater:condition", "item", "stimulus")
ORDERS = [Plan(0.0, by_condition, first) for by_condition in (False, True) for first in (0, 1)]


def small_design():
    """Sixty ratings of two conditions: scores, design, condition and the codes of every effect."""
    rng = np.random.default_rng(4)
    n = 60
    condition, rater, item, voice = (rng.integers(0, size, n) for size in (2, 5, 4, 2))
    both, stimulus = condition * 5 + rater, (condition * 4 + item) * 2 + voice
    codes = [np.unique(c, return_inverse=True)[1] for c in (rater, both, item, stimulus)]
    design = np.column_stack([np.eye(2)[condition], voice])
    return rng.standard_normal(n), design, condition, dict(zip(CODES, codes, strict=True))


@pytest.mark.parametrize("order", [*ORDERS, None])
@pytest.mark.parametrize(
    "ratios", [(0.4, 0.2, 0.9, 0.3), (0.4, 0.2, 0.9, 0), (0.4, 0, 0.9, 0), (0, 0.2, 0, 0.3)]
)
def test_every_order_of_elimination_is_the_likelihood_written_out(order, ratios):
    y, design, condition, codes = small_design()
    assert_written_out(y, design, condition, codes, order, ratios)


@pytest.mark.parametrize("order", [*ORDERS, None])
@pytest.mark.parametrize("gone", CODES)
def test_a_side_may_have_one_effect_alone(order, gone):
    y, design, condition, codes = small_design()
    some = {name: codes[name] for name in CODES if name != gone}
    assert_written_out(y, design, condition, some, order, (0.4, 0.9, 0.3))


def test_texts_alone_need_no_raters():
    y, design, condition, codes = small_design()
    texts = {name: codes[name] for name in CODES[2:]}
    assert_written_out(y, design, condition, texts, ORDERS[0], (0.9, 0.3))


def assert_written_out(y, design, condition, codes, order, ratios):
    model = Crossed(y, design, condition, sides_of(codes), order)
    v = np.eye(len(y))
    for ratio, c in zip(ratios, codes.values(), strict=True):
        v += ratio * (c[:, None] == c)
    inverse, e = np.linalg.inv(v), y - design @ model.centre
    parts = model.at(np.array([ratios]))
    np.testing.assert_allclose(parts.a[0], design.T @ inverse @ design, rtol=1e-10)
    np.testing.assert_allclose(parts.b[0], design.T @ inverse @ e, rtol=1e-8, atol=1e-12)
    assert parts.c[0] == pytest.approx(e @ inverse @ e, rel=1e-10)
    assert parts.logdet[0] == pytest.approx(np.linalg.slogdet(v)[1], rel=1e-10)


def test_another_design_of_the_same_space_has_the_same_fit():
    rng = np.random.default_rng(7)
    rater, condition, item = (x.reshape(-1) for x in np.indices((8, 3, 6)))
    y = condition / 2 + rng.normal(0, 0.5, 8)[rater] + rng.normal(0, 0.5, 6)[item]
    y = y + rng.standard_normal(len(y))
    means, change = np.eye(3)[condition], np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1]])
    across = {"rater": rater, "item": item}
    cells = crossed_reml(y, means, condition, across)
    other = crossed_reml(y, means @ change, condition, across)
    np.testing.assert_allclose(change @ other.estimate, cells.estimate, rtol=1e-7)
    np.testing.assert_allclose(
        change @ other.covariance @ change.T, cells.covariance, rtol=1e-5, atol=1e-12
    )
    assert other.sds == pytest.approx(cells.sds, rel=1e-5)


@pytest.mark.slow
def test_without_texts_it_is_the_nested_model():
    data = att("att_s2")
    rater, system = data.codes("rater"), data.codes("system")
    effects = {"rater": rater, "rater:condition": data.codes("rater", "system")}
    crossed = crossed_reml(data.y, np.eye(4)[system], system, effects)
    nested = nested_reml(sums(data.y, rater, system))
    np.testing.assert_allclose(crossed.estimate, nested.estimate, rtol=1e-9)
    np.testing.assert_allclose(crossed.se, nested.se, rtol=1e-7)
    assert crossed.log_likelihood == pytest.approx(nested.log_likelihood, abs=1e-8)


@pytest.mark.slow
def test_raters_alone_need_no_effect_inside_conditions():
    data = att("att_s2")
    system, rater = data.codes("system"), data.codes("rater")
    fit = crossed_reml(data.y, np.eye(4)[system], system, {"rater": rater})
    assert fit.sds["rater"] == pytest.approx(0.26, abs=0.02)


def test_what_cannot_be_estimated_is_refused_in_words():
    y, condition = np.arange(6.0) % 4, np.array([0, 0, 0, 1, 1, 1])
    design, own = np.eye(2)[condition], np.arange(6)
    with pytest.raises(NotEstimable, match="every rating has its own stimulus; leave stimulus out"):
        crossed_reml(y, design, condition, {"stimulus": own, "rater": own % 3})
    with pytest.raises(NotEstimable, match="there is one rater"):
        crossed_reml(y, design, condition, {"rater": own * 0})
    with pytest.raises(NotEstimable, match="some means are combinations of others"):
        crossed_reml(y, np.ones((6, 2)), condition, {"rater": own % 3})
    with pytest.raises(ValueError, match="a level in two conditions"):
        crossed_reml(y, design, condition, {"stimulus": own % 3, "rater": own % 3})
