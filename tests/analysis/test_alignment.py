"""Williams' test as R has it for align_s1, and Kendall's distance by hand."""

import csv
import gzip

import numpy as np
import pytest

from analysis.statistics.correlations import rank_distance, williams
from tests.analysis.reference import DATA, expected, table_of


@pytest.fixture(scope="module")
def human() -> dict[str, float]:
    means = table_of("align_s1").groupby("stimulus")["score"].mean()
    return {str(name): float(value) for name, value in means.items()}


def predicted(name: str, human: dict[str, float]) -> np.ndarray:
    with gzip.open(DATA / "align_s1.pred.csv.gz", "rt", encoding="utf-8") as file:
        found = {row["stimulus"]: float(row[name]) for row in csv.DictReader(file)}
    return np.array([found[stimulus] for stimulus in human])


def test_williams_is_that_of_r(human: dict[str, float]) -> None:
    y = np.array(list(human.values()))
    found = williams(predicted("judge_best", human), predicted("judge_mid", human), y)
    told = expected("align_s1")["dependent_correlation_best_vs_mid"]
    assert found is not None
    assert found.t == pytest.approx(told["t"], rel=1e-9)
    assert found.p == pytest.approx(told["p"], rel=1e-6)
    assert found.df == told["df"]
    assert williams(y, y, y) is None
    assert williams(np.ones(len(y)), y, y) is None


def test_the_distance_of_two_orders_by_hand() -> None:
    assert rank_distance(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 3, 4])).distance == 0
    assert rank_distance(np.array([1.0, 2, 3, 4]), np.array([4.0, 3, 2, 1])).distance == 1
    found = rank_distance(np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 3, 4]))
    assert found.distance == pytest.approx(1 / 6)
    assert found.p == pytest.approx(4 * 2 / 24)  # exact: 4 of 24 orders are as close, two-sided
    assert rank_distance(np.array([1.0, 1, 2]), np.array([1.0, 2, 3])).distance == pytest.approx(
        0.5 / 3
    )
    assert rank_distance(np.ones(3), np.arange(3.0)).p is None
