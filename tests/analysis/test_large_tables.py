"""Files of many ratings: Parquet, columns of codes, a sample of raters, the model of millions."""

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from analysis.ratings.large_tables import as_texts
from analysis.ratings.metric_scores import named_scores
from analysis.ratings.table import read_csv, table_hash
from analysis.report.build import report_of
from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.crossed import crossing
from analysis.statistics.mixed.large_fit import BY_MOMENTS, moments_fit
from analysis.statistics.mixed.linear_model import affordable, crossed_reml, effects_of
from analysis.statistics.mixed.model_contrasts import means as means_of
from analysis.statistics.mixed.model_contrasts import pairs
from benchmarks.bench_million import (
    analysed,
    clustered_rows,
    model_rows,
    recovered,
    write_ratings,
)
from tests.analysis.simulation import bounds, sizes

HEADER = "rater,item,condition,score,passed,rated_at"
LINES = [
    f"r{r},{i + 10},{'ab'[(r + i) % 2]},{1 + (3 * r + i * i) % 5},{'true' if i else ''},"
    f"2026-11-0{1 + r % 9}"
    for r in range(8)
    for i in range(6)
]
IGNORED = ("--ignore-column", "passed")


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    """The same ratings as CSV and as Parquet with numbers, truths, categories and empty cells."""
    text, binary = tmp_path / "mine.csv", tmp_path / "mine.parquet"
    text.write_text("\n".join([HEADER, *LINES, ""]))
    rater, item, condition, score, passed, at = zip(*(x.split(",") for x in LINES), strict=True)
    columns: dict[str, Any] = {
        "rater": pa.array(rater).dictionary_encode(),
        "item": pa.array([float(x) for x in item]),
        "condition": pa.array(condition, pa.large_string()),
        "score": pa.array([int(x) for x in score], pa.int8()),
        "passed": pa.array([True if x else None for x in passed]),
        "rated_at": pa.array(at),
    }
    pq.write_table(pa.table(columns), binary, row_group_size=17)
    return text, binary


def test_parquet_gives_the_same_report_as_its_csv(both: tuple[Path, Path]) -> None:
    printed = []
    for path in both:
        out = StringIO()
        call_command("analyse", str(path), *IGNORED, stdout=out, stderr=out)
        printed.append(out.getvalue())
    assert printed[0] == printed[1]
    assert "48 of 48 ratings kept" in printed[0]
    texts, cells = (read_csv(path, ignore=["passed"]) for path in both)
    assert table_hash(texts.table) == table_hash(cells.table)
    assert texts.order == cells.order


def test_parquet_that_holds_no_cells_is_refused_with_its_column(tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    pq.write_table(pa.table({"rater": ["r"], "scores": [[1, 2]]}), path)
    with pytest.raises(CommandError, match="column scores holds lists or records"):
        call_command("analyse", str(path))
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(CommandError, match="not a readable Parquet file"):
        call_command("analyse", str(path))


def test_scores_are_read_from_parquet_as_from_csv(tmp_path: Path) -> None:
    text, binary = tmp_path / "scores.csv", tmp_path / "scores.parquet"
    text.write_text("stimulus,metric,version,value\na-1,utmos,2,3.25\na-2,utmos,2,\n")
    columns = {"stimulus": ["a-1", "a-2"], "metric": ["utmos"] * 2, "version": [2, 2]}
    pq.write_table(pa.table({**columns, "value": [3.25, None]}), binary)
    (first, notes), (second, others) = named_scores(text), named_scores(binary)
    assert first.equals(second)
    assert notes == others


def near(first: Any, second: Any) -> bool:
    """Whether two reports are equal, numbers but for rounding."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(near(first[k], second[k]) for k in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(near, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return bool(np.isclose(first, second, rtol=1e-6, atol=1e-9, equal_nan=True))
    return bool(first == second)


def test_columns_of_codes_give_the_report_of_columns_of_texts(
    both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.ratings.table.LARGE", 10)
    codes = read_csv(both[0], ignore=["passed"]).table
    assert str(codes["rater"].dtype) == "category"
    reports = [report_of(table, made_at="now") for table in (codes, as_texts(codes))]
    assert not [part["problem"] for part in reports[0]["parts"] if part["problem"]]
    assert near(*reports)


def test_the_hash_of_many_rows_does_not_hang_on_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.ratings.table.LARGE", 10)
    hashes = []
    for lines in (LINES, LINES[::-1], [LINES[0].replace("r0", "r9"), *LINES[1:]]):
        path = tmp_path / "some.csv"
        path.write_text("\n".join([HEADER, *lines, ""]))
        hashes.append(table_hash(read_csv(path, ignore=["passed"]).table))
    assert hashes[0] == hashes[1] != hashes[2]


def test_parts_of_many_ratings_say_which_raters_they_are_made_of(
    both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (
        *("ratings.table", "report.pipeline", "report.parts.answer", "report.parts.models"),
        *("report.parts.comparisons", "report.parts.robustness", "statistics.robustness"),
        "statistics.mixed.linear_model",
    ):
        monkeypatch.setattr(f"analysis.{module}.LARGE", 10)
    monkeypatch.setattr("analysis.ratings.large_tables.SAMPLED", 24)
    reading = read_csv(both[1], ignore=["passed"])
    report = report_of(reading.table)
    (agreement,) = [part for part in report["parts"] if part["key"] == "agreement"]
    assert "4 of 8 raters, drawn at random (seed 0): 24 of 48 ratings" in agreement["warnings"][0]
    (models,) = [part for part in report["parts"] if part["key"] == "models"]
    assert BY_MOMENTS in " ".join(models["methods"])
    assert "too many ratings for draws" in " ".join(models["warnings"])
    assert not [part["problem"] for part in report["parts"] if part["problem"]]
    (answer,) = [part for part in report["parts"] if part["key"] == "answer"]
    assert not any("drawn at random" in text for text in answer["warnings"])


def crossed_ratings(raters: int, items: int, n: int, seed: int = 1) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    sizes = raters, 3, items
    rater, condition, item = (rng.integers(0, size, n) for size in sizes)
    y = 3 + 0.2 * condition + rng.normal(0, 0.5, raters)[rater] + rng.normal(0, 0.4, items)[item]
    y += rng.normal(0, 0.3, (raters, 3))[rater, condition] + rng.normal(0, 0.7, n)
    y += rng.normal(0, 0.3, (items, 3))[item, condition]
    effects = effects_of(rater, condition, item, crossing(item, condition)).codes
    return y, condition, effects


def test_the_model_of_millions_is_exact_least_squares_given_its_variances() -> None:
    y, condition, effects = crossed_ratings(25, 15, 500)
    fit = moments_fit(y, condition, condition, effects, 3)
    covariance = fit.sds["residual"] ** 2 * np.eye(len(y))
    for name, codes in effects.items():
        covariance += fit.sds[name] ** 2 * (codes[:, None] == codes[None, :])
    design = np.eye(3)[condition]
    weighed = np.linalg.solve(covariance, design)
    of_means = np.linalg.inv(design.T @ weighed)
    assert fit.covariance == pytest.approx(of_means, rel=1e-9)
    assert fit.estimate == pytest.approx(of_means @ weighed.T @ y, rel=1e-9)
    for name, slope in zip(("rater", "item"), fit.slopes[[0, 2]], strict=True):
        sums = np.eye(int(effects[name].max()) + 1)[effects[name]].T @ weighed @ of_means
        assert slope == pytest.approx(sums.T @ sums, rel=1e-8)
    assert fit.notes == (BY_MOMENTS,)


def test_the_model_of_millions_is_near_reml() -> None:
    y, condition, effects = crossed_ratings(120, 60, 4000)
    moments = moments_fit(y, condition, condition, effects, 3)
    reml = crossed_reml(y, np.eye(3)[condition], condition, effects)
    assert moments.estimate == pytest.approx(reml.estimate, abs=0.005)
    assert moments.se == pytest.approx(reml.se, rel=0.1)
    for name, sd in reml.sds.items():
        assert moments.sds[name] == pytest.approx(sd, abs=0.06)


@pytest.mark.parametrize("design", ["raters of one condition", "once each", "nested", "one"])
def test_the_model_of_millions_is_near_reml_where_effects_are_confounded(
    design: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    rater, item = rng.integers(0, (120, 60), (6000, 2)).T
    condition = rng.integers(0, 3, 6000)
    if design == "raters of one condition":
        condition = rater % 3
    elif design == "once each":  # of different items
        rater, condition = np.divmod(np.arange(6000), 3)
    elif design == "nested":  # an item is a stimulus
        condition = item % 3
    else:
        condition = np.zeros_like(rater)
    y = 3 + rng.normal(0, 0.5, 2000)[rater] + rng.normal(0, 0.4, 60)[item]
    y += rng.normal(0, 0.3, (60, 3))[item, condition] + rng.normal(0, 0.7, 6000)
    monkeypatch.setattr(linear_model, "LARGE", 5000)
    effects = affordable(effects_of(rater, condition, item, crossing(item, condition)), condition)
    assert effects.by_moments
    n_conditions = int(condition.max()) + 1
    moments = moments_fit(y, condition, condition, effects.codes, n_conditions)
    reml = crossed_reml(y, np.eye(n_conditions)[condition], condition, effects.codes)
    assert moments.estimate == pytest.approx(reml.estimate, abs=0.01)
    assert moments.se == pytest.approx(reml.se, rel=0.1)
    if n_conditions > 1:
        assert pairs(moments).se == pytest.approx(pairs(reml).se, rel=0.1)
    for name, sd in reml.sds.items():
        assert moments.sds[name] == pytest.approx(sd, abs=0.06)


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(60, 1000)
def test_intervals_of_the_model_of_millions_cover(runs: int) -> None:
    means = 3 + 0.2 * np.arange(3)
    truths = means, means[[0, 0, 1]] - means[[1, 2, 2]]
    held = []
    for seed in range(runs):
        y, condition, effects = crossed_ratings(100, 60, 2000, seed)
        fit = moments_fit(y, condition, condition, effects, 3)
        for found, true in zip((means_of(fit), pairs(fit)), truths, strict=True):
            held.append(np.mean((found.low <= true) & (true <= found.high)))
    low, high = bounds(0.94, 0.96, of=1000, runs=runs)
    assert low < np.mean(held[::2]) < high
    assert low < np.mean(held[1::2]) < high


@pytest.mark.soak
def test_ten_million_ratings_are_reported_in_five_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    write_ratings(path, 10_000_000)
    made = analysed(path, tmp_path / "out", ["--part", "models"])
    assert made["gb"] < 4
    assert not [part["key"] for part in made["report"]["parts"] if part["problem"]]
    for rows, names in (
        (clustered_rows(made["report"]), ("value", "low", "high")),
        (model_rows(made["report"]), ("mean", "mean_low", "mean_high")),
    ):
        error, inside = recovered(rows, names)
        assert error < 0.02
        assert inside >= 8
