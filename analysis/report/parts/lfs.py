"""The tables of LFS-Bench: judges and other scores beside raters, and preferences of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.arrays import Floats
from analysis.formatting import interval_text
from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import Part, PartInput
from analysis.report.parts.against_people.metric_data import Gathered, gathered, metrics_of
from analysis.report.parts.against_people.metric_tables import ordered
from analysis.report.parts.against_people.preference_table import preferences
from analysis.statistics.agreement import versus_rest
from analysis.statistics.agreement.kappa import FIVE
from analysis.statistics.metric_agreement import STIMULUS
from analysis.statistics.metric_agreement.metric_result import AS_IS
from analysis.statistics.rank_distance import williams

MOST_RATERS = 30  # in the table; a crowd's other raters are in the part on raters
JUDGE = "judge_"  # how the keys of audio language models that judge begin
MEASURES = ("plcc", "srcc", "krcc", "qwk", "mae")
_FIVE_POINTS = (1.0, 5.0)
_COLUMNS = [
    Column("who", "Score or rater"),
    Column("kind", "Kind"),
    Column("plcc", "PLCC", "number"),
    Column("plcc", "PLCC, interval", "interval"),
    Column("srcc", "SRCC", "number"),
    Column("srcc", "SRCC, interval", "interval"),
    Column("krcc", "KRCC", "number"),
    Column("qwk", "QWK", "number"),
    Column("mae", "MAE", "number"),
    Column("n", "Clips", "count"),
]
_HOW = (
    "Scores: against the mean human score of each clip. Raters: each against the mean of the other "
    "raters of the same clips. PLCC, SRCC, KRCC: Pearson, Spearman, Kendall's tau-b. QWK: "
    "quadratic weighted kappa, both sides rounded half up to 1 to 5; MAE: mean absolute error, not "
    "rounded; both for scores on the raters' scale alone. Intervals of scores: bootstrap over "
    "raters and items; of raters: Fisher's."
)


class Lfs(Part):
    """Tables 4 to 6 of LFS-Bench in one, and metric differences against preferences of pairs."""

    key = "lfs"
    version = "2"
    title = "LFS-Bench: automatic scores against people"
    order = 44
    always = False
    presets = frozenset({"lfs"})

    def make(self, inputs: PartInput) -> Content:
        """For each task and criterion: scores and raters against means, and pairs."""
        made: list[Content] = []
        warnings: list[str] = []
        if not metrics_of(inputs.scores):
            warnings.append(
                "There are no metric scores: score the clips, or give a CSV of scores "
                "(stimulus, metric, version, value), to see how they agree with people."
            )
        for place, family in enumerate(families(inputs.kept)):
            title = family.title
            suffix = f"-{place + 1}" if place else ""
            inputs.progress(0.5, title)
            paired = bool((family.table["versus_stimulus"] != "").any())
            if paired and family.in_pairs:
                if metrics_of(inputs.scores):
                    made.append(preferences(gathered(family, inputs), inputs, suffix))
            elif estimand_of(family.estimand).ends == _FIVE_POINTS:
                made.append(_of_five(family, inputs, title, suffix))
        if not any(each.tables for each in made):
            warnings.append("No task has scores of 1 to 5 or comparisons of pairs.")
        return Content(
            [text for each in made for text in each.sentences],
            [figure for each in made for figure in each.figures],
            [table for each in made for table in each.tables],
            warnings,
        )


def _of_five(family: Family, inputs: PartInput, title: str, suffix: str) -> Content:
    """Scores and raters in one table, and whether the best score is better."""
    of = gathered(family, inputs) if metrics_of(inputs.scores) else None
    scores = [_score(of, name) for name in ordered(of)] if of is not None else []
    raters, left = _raters(family, inputs)
    rows = [*scores, *_mean_rater(raters), *raters]
    note = _HOW
    note += f" The {MOST_RATERS} raters with most ratings; {left} more are left out." * (left > 0)
    named = f"Automatic scores and raters against people · {title}"
    tables = [Table(f"alignment{suffix}", named, _COLUMNS, rows, note, title)]
    if of is None or not scores:
        return Content(tables=tables)
    return Content(
        [_told(scores[0], len(scores), title)],
        [_figure(scores, raters, title, suffix)],
        [*tables, *_tests(of, [row["who"] for row in scores], title, suffix)],
    )


def _score(of: Gathered, name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"who": name, "kind": "judge" if name.startswith(JUDGE) else "metric"}
    for measure in MEASURES:
        each = of.number(name, STIMULUS, measure, AS_IS)
        if each is not None:
            row |= {measure: each.value, f"{measure}_low": each.low, f"{measure}_high": each.high}
            row["n"] = each.n
    return row


def _raters(family: Family, inputs: PartInput) -> tuple[list[dict[str, Any]], int]:
    """Table 6: each rater against the mean of the others, the busiest; how many are left out."""
    table = family.table
    counts = table["rater"].value_counts()
    busiest = sorted(counts.index, key=lambda name: (-counts[name], name))[:MOST_RATERS]
    shown = sorted(busiest, key=lambda name: (len(name), name))  # A2 before A10
    rows: dict[str, dict[str, Any]] = {name: {"who": name, "kind": "rater"} for name in shown}
    told = versus_rest(
        table["stimulus"].tolist(),
        table["rater"].tolist(),
        table["score"].to_numpy(dtype=np.float64),
        categories=FIVE,
        level=inputs.options.level,
        replicates=0,
        seed=inputs.options.seed,
    )
    for each in told:
        if each.rater in rows:
            row = rows[each.rater]
            row["n"] = each.n_units
            row |= {each.measure: each.value}
            row |= {f"{each.measure}_low": each.low, f"{each.measure}_high": each.high}
    return list(rows.values()), len(counts) - len(shown)


def _mean_rater(raters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean over the raters that are shown, which a score is best compared with."""
    if len(raters) < 2:
        return []
    row: dict[str, Any] = {"who": "One rater, on the mean", "kind": "raters"}
    for measure in MEASURES:
        known = [each[measure] for each in raters if each.get(measure) is not None]
        row[measure] = float(np.mean(known)) if known else None
    return [row]


def _told(first: dict[str, Any], n: int, title: str) -> str:
    if first["srcc"] is None:
        return f"{title}: no automatic score has a defined rank correlation with people."
    ends = "no interval"
    if first["srcc_low"] is not None:
        ends = f"{interval_text(first['srcc_low'], first['srcc_high'], None, 3)}"
    told = f"SRCC {first['srcc']:.3f} {ends}".replace("-", "−")
    return (
        f"{title}: of {n} automatic scores, {first['who']} follows people most closely "
        f"({told} over {first['n']} clips)."
    )


def _figure(
    scores: list[dict[str, Any]], raters: list[dict[str, Any]], title: str, suffix: str
) -> Figure:
    rows = [
        {"name": row["who"], "value": row["srcc"], "low": row["srcc_low"], "high": row["srcc_high"]}
        | {"group": group}
        for group, each in (("Automatic scores", scores), ("Raters against the others", raters))
        for row in each
        if row.get("srcc") is not None
    ]
    return Figure(
        f"alignment{suffix}",
        f"Rank correlation with people · {title}",
        "intervals",
        rows,
        x="SRCC over clips",
        ends=(-1.0, 1.0),
        at=(0.0,),
        about=title,
    )


def _tests(of: Gathered, names: list[str], title: str, suffix: str) -> list[Table]:
    """The best score against each other one, on the clips that both have."""
    found = []
    human, best = of.units.human, names[0]
    for name in names[1:]:
        a, b = of.values[best], of.values[name]
        both = np.isfinite(a) & np.isfinite(b)
        tested = williams(*_held(both, a, b, human)) if both.sum() > 3 else None
        if tested is not None:
            found.append(
                {"score": best, "versus": name, "difference": tested.difference}
                | {"t": tested.t, "df": tested.df, "p": tested.p, "n": int(both.sum())}
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


def _held(both: Any, *arrays: Floats) -> tuple[Floats, Floats, Floats]:
    a, b, human = (each[both] for each in arrays)
    return a, b, human
