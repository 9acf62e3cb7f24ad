"""What a paper's figure and its two tables hold: means as in the answer, and differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.formatting import Ends, enumerated
from analysis.name_spans import family_span, resolve
from analysis.ratings.estimands import estimand_of, name_of
from analysis.report.content import Figure, content_from
from analysis.report.figures.all_figures import ANSWER, estimate_plots
from analysis.report.interim_answer import interim_report, is_interim
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
    families, parts = Families(report), interim_report(report)["parts"]
    answer = next((p for p in parts if p["key"] == ANSWER and not p["problem"]), None)
    drawn = list(content_from(answer).figures) if answer else []
    drawn = drawn or [
        replace(plot.figure, title=family_span(plot.about[0])) for plot in estimate_plots(report)
    ]
    return [_panel(families, figure) for figure in drawn]


def _panel(families: Families, figure: Figure) -> Figure:
    rows = [
        {k: v for k, v in {**row, "name": families.name(row["name"])}.items() if k not in _NAIVE}
        for row in figure.rows
    ]
    return replace(
        figure,
        rows=rows,
        title=resolve(figure.title, families.in_words),
        note=resolve(figure.note, families.in_words),
    )


def results(report: Report) -> list[Entry]:
    """The rows of the main table: those of the figures, with how much each rests on."""
    families = Families(report)
    return [entry for figure in figures(report) for entry in _of_figure(families, figure)]


def interval_kinds(panels: Sequence[Figure]) -> list[str]:
    """How the intervals of each figure were made, a phrase each; once where all are alike."""
    made = {panel.title: panel.made_by for panel in panels if panel.made_by}
    if len(set(made.values())) <= 1:
        return list(dict.fromkeys(made.values()))
    by_kind: dict[str, list[str]] = {}
    for title, kind in made.items():
        by_kind.setdefault(kind, []).append(title)
    return [f"{kind} ({enumerated(titles)})" for kind, titles in by_kind.items()]


def _of_figure(families: Families, figure: Figure) -> Iterator[Entry]:
    row_of = families.known.get(figure.about, {})
    key = str(row_of.get("estimand", ""))
    shares = figure.drawing == "shares"
    unit = 100 if shares else 1
    for row in figure.rows:
        value, low, high = (
            None if row.get(key) is None else unit * row[key] for key in ("value", "low", "high")
        )
        yield Entry(
            question=figure.title,
            estimand="Share" if shares else name_of(key),
            name=f"{row['name']}: {row['label']}" if shares else row["name"],
            value=value,
            low=low,
            high=high,
            decimals=PERCENT if shares or figure.decimals is None else figure.decimals,
            ends=(0.0, 100.0) if shares else figure.ends,
            mark=row.get("mark", ""),
            n_ratings=row.get("n"),
            n_raters=row.get("n_raters"),
            n_items=row.get("n_items"),
            percent=shares,
        )


def differences(report: Report) -> list[Entry]:
    """Every difference that the study decides, the reference first; of pairs a mean is one already.

    Those are the differences of the declared families (`declared_families`): what meets an anchor
    is in none. Of an open study they are those that sequential intervals bound.
    """
    from analysis.statistics.comparisons.pairwise_contrasts import REFERENCE

    if is_interim(report):
        return _differences_so_far(report)
    families = Families(report)
    rows = [row for row in report["contrasts"] if row["breakdown"] == OVERALL]
    found = []
    for line in lines_of(rows):
        estimand = estimand_of(line.row["estimand"])
        declared = bool(line.main and line.main.get("family"))
        if line.weighting == "ratings" and not estimand.in_pairs and declared:
            found.append(_difference(families, line, estimand.decimals))
    order = list(dict.fromkeys(entry.question for entry in found))

    def place(each: Entry) -> tuple[int, bool, float]:
        value = -(each.value or 0.0)
        return order.index(each.question), each.family != REFERENCE, value

    return sorted(_turned(found), key=place)


def _differences_so_far(report: Report) -> list[Entry]:
    """The differences of an open study, with whether each is significant in place of p."""
    from analysis.statistics.comparisons.pairwise_contrasts import REFERENCE, SYSTEMS

    families, found = Families(report), []
    for row in report["interim"]:
        if row["kind"] != "systems":
            continue
        place = families.known.get(row["title"], row)
        for pair in row["pairs"]:
            sides = (families.name(pair[side]) for side in ("condition", "versus"))
            against = row["reference"] and row["reference"] in (pair["condition"], pair["versus"])
            found.append(
                Entry(
                    question=families.words(place),
                    family=REFERENCE if against else SYSTEMS,
                    estimand=name_of(row["estimand"]),
                    name=" − ".join(sides),
                    value=pair["value"],
                    low=pair["low"],
                    high=pair["high"],
                    decimals=estimand_of(row["estimand"]).decimals,
                    mark="yes" if pair["claimed"] else "no",
                    n_ratings=pair.get("ratings"),
                    n_raters=pair["raters"],
                    n_items=pair.get("items"),
                    signed=True,
                )
            )
    return found


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
    versus = line.row.get("versus") or ""
    return Entry(
        question=families.words(line.row),
        family=main["family"],
        estimand=name_of(line.row["estimand"]),
        name=f"{families.name(line.row['condition'])} − {families.name(versus)}",
        value=line.row["value"],
        low=main.get("low_all"),
        high=main.get("high_all"),
        decimals=decimals,
        n_ratings=line.row["n_ratings"],
        n_raters=line.row["n_raters"],
        n_items=line.row["n_items"],
        p=main.get("p_adjusted"),
        signed=True,
    )
