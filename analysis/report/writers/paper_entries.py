"""What a paper's figure and its two tables hold: means as in the answer, and differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.formatting import Ends
from analysis.ratings.estimands import estimand_of, name_of
from analysis.ratings.scales import bare_title
from analysis.report.content import Figure, content_from
from analysis.report.figures.all_figures import ANSWER, estimate_plots
from analysis.report.pivot import Line, lines_of
from analysis.report.report_schema import Report
from analysis.report.writers.captions import Families

OVERALL = "condition:"
_NAIVE = frozenset({"naive_low", "naive_high"})
PERCENT = 1  # decimals of a share in per cent


@dataclass(frozen=True)
class Entry:
    """A row: the question it answers, a mean or difference (None: none), bounds, and counts."""

    question: str
    estimand: str  # its name
    name: str
    value: float | None
    low: float | None
    high: float | None
    decimals: int
    ends: Ends = None
    mark: str = ""
    n_ratings: int | None = None
    n_raters: int | None = None
    n_items: int | None = None
    p: float | None = None
    signed: bool = False
    percent: bool = False
    family: str = ""  # of a difference: with what it is adjusted together

    @property
    def sides(self) -> list[str]:
        """Of a difference, the two conditions."""
        return self.name.split(" − ")

    def turned(self) -> Entry:
        """The same difference, the other way round."""
        ends = [None if end is None else 0.0 - end for end in (self.high, self.low)]
        name = " − ".join(reversed(self.sides))
        value = None if self.value is None else 0.0 - self.value
        return replace(self, name=name, value=value, low=ends[0], high=ends[1])

    @property
    def about(self) -> str:
        """What its heading says."""
        return f"{self.question}, {self.family}" if self.family else self.question


def figures(report: Report) -> list[Figure]:
    """The figures of the answer as a paper prints them: a panel for each task and criterion.

    Names are labels, titles words; naive intervals are left to the report.
    """
    families = Families(report)
    answer = next((p for p in report["parts"] if p["key"] == ANSWER and not p["problem"]), None)
    drawn = list(content_from(answer).figures) if answer else []
    drawn = drawn or [plot.figure for plot in estimate_plots(report)]
    return [_panel(families, figure) for figure in drawn]


def _panel(families: Families, figure: Figure) -> Figure:
    rows = [
        {k: v for k, v in {**row, "name": families.name(row["name"])}.items() if k not in _NAIVE}
        for row in figure.rows
    ]
    return replace(figure, rows=rows, title=families.spoken(figure.title))


def results(report: Report) -> list[Entry]:
    """The rows of the main table: those of the figures, with how much each rests on."""
    families, counts = Families(report), _counts(report)
    return [entry for figure in figures(report) for entry in _of_figure(families, figure, counts)]


def _counts(report: Report) -> dict[tuple[str, str], Line]:
    """The line of each condition, or of two that were compared, by the family and the name."""
    names = Families(report).names
    found: dict[tuple[str, str], Line] = {}
    for line in lines_of(report["estimates"]):
        if line.weighting != "ratings" or line.row.get("breakdown") != OVERALL:
            continue
        versus = line.row.get("versus_condition") or ""
        name = names.get(line.row["condition"], line.row["condition"])
        about = bare_title(line.row)
        for shown in (name, f"{name} versus {names.get(versus, versus)}"):
            found.setdefault((about, shown), line)
    return found


def _of_figure(
    families: Families, figure: Figure, counts: dict[tuple[str, str], Line]
) -> Iterator[Entry]:
    question = families.spoken(figure.title)
    row_of = families.known.get(figure.about, {})
    key = str(row_of.get("estimand", ""))
    shares = figure.drawing == "shares"
    for row in figure.rows:
        line = counts.get((figure.about, row["name"]))
        of = line.row if line else None
        value = row.get("value")
        yield Entry(
            question=question,
            estimand="Share" if shares else name_of(key),
            name=f"{row['name']}: {row['label']}" if shares else row["name"],
            value=100 * value if shares and value is not None else value,
            low=row.get("low"),
            high=row.get("high"),
            decimals=PERCENT if shares or figure.decimals is None else figure.decimals,
            ends=figure.ends,
            mark=row.get("mark", ""),
            n_ratings=of["n_ratings"] if of else None,
            n_raters=of["n_raters"] if of else None,
            n_items=of["n_items"] if of else None,
            percent=shares,
        )


def differences(report: Report) -> list[Entry]:
    """Every difference of means, with the reference first; of comparisons a mean is one already."""
    from analysis.statistics.comparisons.declared_families import REFERENCE

    families = Families(report)
    rows = [row for row in report["contrasts"] if row["breakdown"] == OVERALL]
    found = []
    for line in lines_of(rows):
        estimand = estimand_of(line.row["estimand"])
        if line.weighting == "ratings" and not estimand.in_pairs:
            found.append(_difference(families, line, estimand.decimals))
    order = list(dict.fromkeys(entry.question for entry in found))

    def place(each: Entry) -> tuple[int, bool, float]:
        value = -(each.value or 0.0)
        return order.index(each.question), each.family != REFERENCE, value

    return sorted(_turned(found), key=place)


def _turned(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Each minus the reference, where the family has one; else the higher minus the lower."""
    for about in dict.fromkeys(entry.about for entry in entries):
        mine = [entry for entry in entries if entry.about == about]
        common = set.intersection(*(set(entry.sides) for entry in mine))
        for entry in mine:
            low = (entry.value or 0.0) < 0
            if common and len(mine) > 1:
                low = entry.sides[0] in common
            yield entry.turned() if low else entry


def _difference(families: Families, line: Line, decimals: int) -> Entry:
    main: Mapping[str, Any] = line.main or {}
    adjusted = main.get("low_all") is not None
    ends = ("low_all", "high_all") if adjusted else ("low", "high")
    versus = line.row.get("versus") or ""
    return Entry(
        question=families.words(line.row),
        family=main.get("family") or "",
        estimand=name_of(line.row["estimand"]),
        name=f"{families.name(line.row['condition'])} − {families.name(versus)}",
        value=line.row["value"],
        low=main.get(ends[0]),
        high=main.get(ends[1]),
        decimals=decimals,
        n_ratings=line.row["n_ratings"],
        n_raters=line.row["n_raters"],
        n_items=line.row["n_items"],
        p=main.get("p_adjusted") if adjusted else main.get("p"),
        signed=True,
    )
