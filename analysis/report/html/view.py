"""What of a report is looked at: one task and criterion, one slice such as a dimension."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from analysis.name_spans import starts_with_family
from analysis.ratings.estimands import bare_title
from analysis.report.report_schema import (
    Counts,
    EstimateRow,
    FigureRecord,
    PartRecord,
    PlaceRow,
    Report,
    TableRecord,
)

OVERALL = "condition:"
MOST_SLICES = 200
JOINED = " / "


@dataclass(frozen=True)
class View:
    """One family's title, and a slice (`Slice.key`); empty for all of a report."""

    about: str = ""
    within: str = ""


@dataclass(frozen=True)
class Slice:
    """Part of the ratings that a report has estimates for, such as condition:dimension=poetry."""

    key: str
    group: str  # the breakdown in words
    name: str


def titles(report: Report) -> list[str]:
    """The families that a report is about, what they are compared with left out."""
    if "titles" in report:
        return list(report["titles"])
    rows = [row for row in report["estimates"] if row["breakdown"] == OVERALL]
    answers = (each for part in report.get("parts", ()) for each in part.get("headlines", ()))
    return list(dict.fromkeys([*map(bare_title, rows), *(each["about"] for each in answers)]))


def slices(report: Report) -> list[Slice]:
    """Every slice there are estimates for, in the order of the breakdowns; not too many."""
    if "slices" in report:
        return [Slice(*each) for each in report["slices"]]
    every: dict[str, Slice] = {}
    for row in report["estimates"]:
        key = slice_of(row)
        if key and key not in every and len(every) < MOST_SLICES:
            compare, _, by = row["breakdown"].partition(":")
            group = f"By {by.replace(',', ' and ')}" if by else f"By {compare}"
            group += f", per {compare}" if by and compare != "condition" else ""
            every[key] = Slice(key, group, key.partition("=")[2] or f"every {compare}")
    return list(every.values())


def slice_of(row: PlaceRow) -> str:
    """The slice of an estimate or a difference; empty for the overall ones."""
    breakdown = str(row["breakdown"])
    by = breakdown.partition(":")[2]
    if not by:
        return "" if breakdown == OVERALL else breakdown
    values = JOINED.join(str(row.get(name) or "(none)") for name in by.split(","))
    return f"{breakdown}={values}"


def usual(report: Report) -> View:
    """The first family: a page is about one, and leads to the others."""
    return View(about=next(iter(titles(report)), ""))


def place_of_family(report: Report, title: str) -> tuple[str, str]:
    """The task and criterion of the family with that title; empty of one that is not there."""
    for row in (*report["estimates"], *report["shares"]):
        if bare_title(row).partition(" · ")[2] == title.partition(" · ")[2]:
            return row["task"], row["criterion"]
    return "", ""


def view_report(report: Report, view: View) -> Report:
    """The report as if it were about that alone; what is unknown changes nothing."""
    if view.within in {each.key for each in slices(report)}:
        report = {
            **report,
            "estimates": _slice_rows(report["estimates"], view.within),
            "contrasts": _slice_rows(report["contrasts"], view.within),
            "shares": [],
            "counted": {
                key.removeprefix(view.within): counts
                for key, counts in report.get("counted", {}).items()
                if key.startswith(view.within)
            },
            "compared": view.within.partition(":")[0],
            "within": view.within,
        }
    if view.about and view.about in titles(report):
        rest = view.about.partition(" · ")[2]
        others = [title for title in titles(report) if title != view.about]
        report = {
            **report,
            "estimates": [row for row in report["estimates"] if bare_title(row) == view.about],
            "contrasts": [row for row in report["contrasts"] if bare_title(row) == view.about],
            "screening": [row for row in report["screening"] if bare_title(row) == view.about],
            "shares": [
                row for row in report["shares"] if bare_title(row).partition(" · ")[2] == rest
            ],
            "data": _data_of(report, view.about),
            "parts": [_part_about(part, view.about, others) for part in report.get("parts", ())],
            "warnings": _texts_about(report["warnings"], others),
        }
    return report


def _data_of(report: Report, title: str) -> Counts:
    """The counts of one family; those of all where the report does not have them by family."""
    data = report["data"]
    for design in report.get("design", ()):
        if bare_title(design).partition(" · ")[2] == title.partition(" · ")[2]:
            return {
                **data,
                "ratings": design.get("ratings_given", data["ratings"]),
                "ratings_kept": design["ratings"],
                "raters_kept": design["raters"],
                "items_kept": design["items"],
                "stimuli_kept": design["clips"],
                "conditions_kept": design["conditions"],
            }
    return data


def _slice_rows(rows: Iterable[EstimateRow], within: str) -> list[EstimateRow]:
    """The slice's rows as if they were overall: what they are crossed with left out."""
    sliced = []
    for row in rows:
        if slice_of(row) == within:
            by = row["breakdown"].partition(":")[2].split(",")
            plain = {name: value for name, value in row.items() if name not in by}
            sliced.append(cast(EstimateRow, {**plain, "breakdown": OVERALL}))
    return sliced


def _part_about(part: PartRecord, title: str, others: Sequence[str]) -> PartRecord:
    """The part with what is about that family, and what is about none."""

    def concerns_family(each: FigureRecord | TableRecord) -> bool:
        return each["about"].partition(" · versus ")[0] in ("", title)

    if part["problem"]:
        return part
    return {
        **part,
        "headlines": [each for each in part.get("headlines", ()) if each["about"] == title],
        "figures": [each for each in part["figures"] if concerns_family(each)],
        "tables": [each for each in part["tables"] if concerns_family(each)],
        "sentences": _texts_about(part["sentences"], others),
        "warnings": _texts_about(part["warnings"], others),
    }


def _texts_about(texts: Iterable[str], others: Sequence[str]) -> list[str]:
    """The texts that do not begin with the name of another family."""
    short = [title.partition(" · ")[2].replace(" · ", ", ") for title in others]
    names = {*others, *short}
    return [text for text in texts if not starts_with_family(text, names)]
