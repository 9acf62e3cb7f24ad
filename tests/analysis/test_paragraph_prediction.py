"""Paragraph MOS from sentence MOS: errors equal scikit-learn's, known weights are found again."""

import numpy as np
import pytest

from analysis.statistics.longform import ParagraphScores
from analysis.statistics.paragraph_prediction import MODELS, PLAIN, predict_paragraphs
from tests.analysis.simulation import bounds, sizes

WEIGHTS = {"mean": 0.5, "first": 0.3, "last": 0.1, "min": 0.2}
LARGEST = "place_and_worst"


def drawn(rng: np.random.Generator, n: int, speakers: int = 1, noise: float = 0.25):
    """Speakers of the same n paragraphs, of 2 to 9 sentences as in Clark et al. (2019)."""
    lengths = rng.choice([2, 3, 4, 5, 9], n, p=[0.45, 0.3, 0.15, 0.06, 0.04])
    names, unknown = tuple(f"p{i}" for i in range(n)), np.zeros(n)
    for place in range(speakers):
        sentences = tuple(rng.normal(3.5 + 0.3 * place, 0.4, length) for length in lengths)
        one = ParagraphScores("T", names, unknown, sentences, unknown, unknown, unknown)
        weighed = sum(weight * one.values(term) for term, weight in WEIGHTS.items())
        whole = weighed - 0.5 + 0.2 * place + rng.normal(0, noise, n)
        yield ParagraphScores(f"T{place}", names, whole, sentences, unknown, unknown, unknown)


@pytest.mark.medium
def test_errors_are_those_of_paragraphs_left_out_with_all_their_speakers():
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

    several = list(drawn(np.random.default_rng(3), 14, speakers=3))
    y = np.concatenate([one.whole for one in several])
    speakers, paragraphs = np.repeat(np.eye(3), 14, axis=0), np.tile(np.arange(14), 3)
    found = {each.model: each for each in predict_paragraphs(several)}
    assert list(found) == list(MODELS)
    for model, terms in list(MODELS.items())[1:]:
        x = [np.concatenate([one.values(term) for one in several]) for term in terms]
        left_out = cross_val_predict(
            LinearRegression(fit_intercept=False),
            np.column_stack([*x, speakers]),
            y,
            groups=paragraphs,
            cv=LeaveOneGroupOut(),
        )
        assert found[model].mae == pytest.approx(np.mean(np.abs(y - left_out)), rel=1e-9)
        assert found[model].rmse == pytest.approx(np.sqrt(np.mean((y - left_out) ** 2)), rel=1e-9)
        gap = found[model].versus_plain
        assert gap.value == pytest.approx(found[model].mae - found[PLAIN].mae, rel=1e-9)
    plain = np.concatenate([one.whole - one.values("mean") for one in several])
    assert found[PLAIN].mae == pytest.approx(np.mean(np.abs(plain)))


def test_too_few_paragraphs_or_regressors_that_say_the_same_give_no_model():
    rng = np.random.default_rng(4)
    assert predict_paragraphs(list(drawn(rng, 9))) == []
    assert predict_paragraphs([]) == []
    (one,) = drawn(rng, 20)
    pairs = tuple(each[:2] for each in one.sentences)  # the mean is that of the first and the last
    two = ParagraphScores("T", one.paragraphs, one.whole, pairs, one.words, one.words, one.words)
    assert [each.model for each in predict_paragraphs([two])] == [PLAIN, "fitted_mean", "worst"]


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(60, 1500)
def test_known_weights_are_found_and_their_intervals_cover(runs):
    rng = np.random.default_rng(1)
    covered, values, gaps = np.zeros(len(WEIGHTS)), [], []
    for _ in range(runs):
        made = {each.model: each for each in predict_paragraphs(list(drawn(rng, 60)))}
        weights = made[LARGEST].weights
        covered += [each.low < WEIGHTS[each.term] < each.high for each in weights]
        values.append([each.value for each in weights])
        gap = made[LARGEST].versus_plain
        gaps.append((gap.value, gap.low, gap.high))
    truth = np.array([WEIGHTS[each.term] for each in weights])
    error = np.std(values, axis=0) / np.sqrt(runs)
    assert np.all(np.abs(np.mean(values, axis=0) - truth) < 4 * error)
    low, high = bounds(0.94, 0.965, of=1500, runs=runs)
    assert low < covered.min() / runs
    assert covered.max() / runs < high
    value, below, above = np.array(gaps).T
    share, nominal = np.mean((below < value.mean()) & (value.mean() < above)), 0.95**0.25
    assert share > nominal - 4 * np.sqrt(nominal * (1 - nominal) / runs)
