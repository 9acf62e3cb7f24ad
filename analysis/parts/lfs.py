"""The tables of LFS-Bench: automatic scores against people, raters against the others, pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.agreement import versus_rest
from analysis.agreement.kappa import FIVE
from analysis.alignment import alignment, williams
from analysis.breakdowns import Family, families
from analysis.parts.base import Given, Part
from analysis.parts.shown import Column, Figure, Shown, Table
from analysis.scales import AGAINST_OPEN_REFERENCE, family_title

if TYPE_CHECKING:
    import pandas as pd

MOST_RATERS = 30  # in the table of raters; a crowd's other raters are in the part on raters
_FIVE_POINTS = frozenset({"mos", "context_mos", "p835", "dmos"})
_MEASURES = [
    Column("plcc", "PLCC", "number"),
    Column("plcc_interval", "PLCC, interval", "text"),
    Column("srcc", "SRCC", "number"),
    Column("srcc_interval", "SRCC, interval", "text"),
    Column("krcc", "KRCC", "number"),
    Column("qwk", "QWK", "number"),
    Column("mae", "MAE", "number"),
    Column("n", "Clips", "count"),
]
_HOW = (
    "PLCC, SRCC, KRCC: Pearson, Spearman, Kendall's tau-b with the mean human score of a clip. "
    "QWK: quadratic weighted kappa, both sides rounded half up to 1 to 5. MAE: mean absolute "
    "error, not rounded. QWK and MAE take the score to be on the scale of the raters. Intervals: "
    "bootstrap over clips."
)


class Lfs(Part):
    """Tables 4 to 6 of LFS-Bench, and metric differences against preferences of pairs."""

    key = "lfs"
    version = "1"
    title = "LFS-Bench: automatic scores against people"
    order = 44
    always = False
    presets = frozenset({"lfs"})

    def make(self, given: Given) -> Shown:
        """For each task and criterion: scores against means, raters against the rest, pairs."""
        tables: list[Table] = []
        figures: list[Figure] = []
        sentences: list[str] = []
        warnings: list[str] = []
        if given.scores is None or not len(given.scores):
            warnings.append(
                "There are no metric scores: score the clips, or give a CSV of scores "
                "(stimulus, metric, version, value), to see how they agree with people."
            )
        for place, family in enumerate(families(given.kept)):
            title = family_title({"estimand": family.estimand, **family.group})
            suffix = f"-{place + 1}" if place else ""
            given.progress(0.5, title)
            paired = bool((family.table["versus_stimulus"] != "").any())
            if paired and family.estimand not in AGAINST_OPEN_REFERENCE:
                made = _pairs(family, given, title, suffix)
                tables += [made] if made else []
                continue
            if family.estimand not in _FIVE_POINTS:
                continue
            told = _scores(family, given, title, suffix)
            if told:
                tables += told[0]
                figures.append(told[1])
                sentences.append(told[2])
            tables.append(_raters(family, given, title, suffix))
        if not tables:
            warnings.append("No task has scores of 1 to 5 or comparisons of pairs.")
        return Shown(sentences, figures, tables, warnings)


def _scores(
    family: Family, given: Given, title: str, suffix: str
) -> tuple[list[Table], Figure, str] | None:
    """Tables 4 and 5: every automatic score against the mean human score of each clip."""
    if given.scores is None or not len(given.scores):
        return None
    human = family.table.groupby("stimulus")["score"].mean()
    rows: list[dict[str, Any]] = []
    drawn: list[dict[str, Any]] = []
    known: dict[str, pd.Series] = {}
    for (metric, version), values in given.scores.groupby(["metric", "version"], sort=True):
        both = human.to_frame("human").join(values.set_index("stimulus")["value"], how="inner")
        both = both[np.isfinite(both["value"])]
        if len(both) < 3:
            continue
        name = f"{metric} (version {version})"
        x, y = both["value"].to_numpy(dtype=np.float64), both["human"].to_numpy(dtype=np.float64)
        row: dict[str, Any] = {"score": name, "n": len(both)}
        for measure in alignment(x, y, level=given.options.level, seed=given.options.seed):
            row |= _cells(measure.measure, measure.value, measure.low, measure.high)
            if measure.measure == "srcc":
                drawn.append(
                    {"name": name, "value": measure.value, "low": measure.low, "high": measure.high}
                )
        rows.append(row)
        known[name] = both["value"]
    if not rows:
        return None
    rows.sort(key=lambda row: (-(row["srcc"] if row["srcc"] is not None else -2), row["score"]))
    columns = [Column("score", "Automatic score"), *_MEASURES]
    named = f"Automatic scores against people · {title}"
    tables = [Table(f"alignment{suffix}", named, columns, rows, _HOW, title)]
    tables += _tests(known, human, rows, title, suffix)
    figure = Figure(
        f"alignment{suffix}",
        f"Rank correlation with people · {title}",
        "intervals",
        [row for row in drawn if row["value"] is not None],
        x="SRCC over clips",
        ends=(-1.0, 1.0),
        at=(0.0,),
        about=title,
    )
    first = rows[0]
    told = f"{title}: no automatic score has a defined rank correlation with people."
    if first["srcc"] is not None:
        told = (
            f"{title}: of {len(rows)} automatic scores, {first['score']} follows people most "
            f"closely (SRCC {first['srcc']:.3f} {first['srcc_interval']} over {first['n']} clips)."
        )
    return tables, figure, told


def _tests(
    known: dict[str, pd.Series],
    human: pd.Series,
    rows: list[dict[str, Any]],
    title: str,
    suffix: str,
) -> list[Table]:
    """The best score against each other one, on the clips that both have."""
    found = []
    best = rows[0]["score"]
    for row in rows[1:]:
        both = known[best].to_frame("a").join(known[row["score"]].to_frame("b"), how="inner")
        y = human.reindex(both.index).to_numpy(dtype=np.float64)
        a, b = (both[name].to_numpy(dtype=np.float64) for name in ("a", "b"))
        tested = williams(a, b, y)
        if tested is not None:
            found.append(
                {"score": best, "versus": row["score"], "difference": tested.difference}
                | {"t": tested.t, "df": tested.df, "p": tested.p, "n": len(both)}
            )
    columns = [
        Column("score", "Score"),
        Column("versus", "Against"),
        Column("difference", "Difference of PLCC", "number", sign=True),
        Column("t", "t", "number", 2),
        Column("p", "p", "p"),
        Column("n", "Clips", "count"),
    ]
    note = "Williams' test of two correlations with the same human means; not adjusted for several."
    named = f"Is the best score better? · {title}"
    return [Table(f"williams{suffix}", named, columns, found, note, title, True)] if found else []


def _raters(family: Family, given: Given, title: str, suffix: str) -> Table:
    """Table 6: each rater against the mean of the others; the busiest where there are many."""
    table = family.table
    counts = table["rater"].value_counts()
    busiest = sorted(counts.index, key=lambda name: (-counts[name], name))[:MOST_RATERS]
    shown = sorted(busiest, key=lambda name: (len(name), name))  # A2 before A10
    rows: dict[str, dict[str, Any]] = {name: {"rater": name} for name in shown}
    options = given.options
    told = versus_rest(
        table["stimulus"].tolist(),
        table["rater"].tolist(),
        table["score"].to_numpy(dtype=np.float64),
        categories=FIVE,
        level=options.level,
        replicates=100,
        seed=options.seed,
    )
    for measure in told:
        if measure.rater in rows:
            rows[measure.rater]["n"] = measure.n_units
            rows[measure.rater] |= _cells(measure.measure, measure.value, measure.low, measure.high)
    columns = [Column("rater", "Rater"), *_MEASURES]
    more = len(counts) - len(shown)
    note = "Each rater against the mean of the other raters of the same clips."
    note += f" The {MOST_RATERS} raters with most ratings; {more} more are left out." * (more > 0)
    named = f"Each rater against the others · {title}"
    return Table(f"raters{suffix}", named, columns, list(rows.values()), note, title, more > 0)


def _pairs(family: Family, given: Given, title: str, suffix: str) -> Table | None:
    """Preferences of pairs against the difference of each automatic score (Spearman)."""
    if given.scores is None or not len(given.scores):
        return None
    table = family.table
    human = table.groupby(["stimulus", "versus_stimulus"])["score"].mean().reset_index()
    rows = []
    for (metric, version), values in given.scores.groupby(["metric", "version"], sort=True):
        of = values.set_index("stimulus")["value"]
        apart = of.reindex(human["stimulus"]).to_numpy() - of.reindex(human["versus_stimulus"])
        x, y = apart.to_numpy(dtype=np.float64), human["score"].to_numpy(dtype=np.float64)
        both = np.isfinite(x)
        if both.sum() < 3:
            continue
        row: dict[str, Any] = {"score": f"{metric} (version {version})", "n": int(both.sum())}
        for measure in alignment(
            x[both], y[both], level=given.options.level, seed=given.options.seed
        ):
            if measure.measure in ("plcc", "srcc", "krcc"):
                row |= _cells(measure.measure, measure.value, measure.low, measure.high)
        rows.append(row)
    columns = [Column("score", "Automatic score"), *_MEASURES[:5], Column("n", "Pairs", "count")]
    note = "The difference of the score between two clips against the mean preference of the pair."
    named = f"Differences of scores against preferences · {title}"
    return Table(f"preference{suffix}", named, columns, rows, note, title) if rows else None


def _cells(
    measure: str, value: float | None, low: float | None, high: float | None
) -> dict[str, Any]:
    told = "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]".replace("-", "−")
    return {measure: value, f"{measure}_interval": told}
