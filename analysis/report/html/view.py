"""What of a report is looked at: one task and criterion, one slice such as a dimension."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.ratings.scales import family_title

OVERALL = "condition:"
MOST_SLICES = 200
MOST_LINES = 150  # conditions times families on one page
JOINED = " / "
_FAMILIES = ("estimates", "contrasts", "screening")


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


def titles(report: Mapping[str, Any]) -> list[str]:
    """The families that a report is about, what they are compared with left out."""
    if "titles" in report:
        return list(report["titles"])
    rows = [row for row in report["estimates"] if row["breakdown"] == OVERALL]
    return list(dict.fromkeys(_bare(row) for row in rows))


def slices(report: Mapping[str, Any]) -> list[Slice]:
    """Every slice there are estimates for, in the order of the breakdowns; not too many."""
    if "slices" in report:
        return [Slice(*each) for each in report["slices"]]
    found: dict[str, Slice] = {}
    for row in report["estimates"]:
        key = slice_of(row)
        if key and key not in found and len(found) < MOST_SLICES:
            compare, _, by = row["breakdown"].partition(":")
            group = f"By {by.replace(',', ' and ')}" if by else f"By {compare}"
            group += f", per {compare}" if by and compare != "condition" else ""
            found[key] = Slice(key, group, key.partition("=")[2] or f"every {compare}")
    return list(found.values())


def slice_of(row: Mapping[str, Any]) -> str:
    """The slice of an estimate or a difference; empty for the overall ones."""
    breakdown = str(row["breakdown"])
    by = breakdown.partition(":")[2]
    if not by:
        return "" if breakdown == OVERALL else breakdown
    values = JOINED.join(str(row.get(name) or "(none)") for name in by.split(","))
    return f"{breakdown}={values}"


def usual(report: Mapping[str, Any]) -> View:
    """Everything, but of a large report one family: a page that can be read and comes at once."""
    every = titles(report)
    large = len(every) * report["data"]["conditions_kept"] > MOST_LINES
    return View(about=every[0]) if large and len(every) > 1 else View()


def viewed(report: Mapping[str, Any], view: View) -> Mapping[str, Any]:
    """The report as if it were about that alone; what is unknown changes nothing."""
    if view.within in {each.key for each in slices(report)}:
        report = {
            **report,
            "estimates": list(_sliced(report["estimates"], view.within)),
            "contrasts": list(_sliced(report["contrasts"], view.within)),
            "shares": [],
            "counted": _counted(report, view.within),
            "compared": view.within.partition(":")[0],
            "within": view.within,
        }
    if view.about and view.about in titles(report):
        rest = view.about.partition(" · ")[2]
        chosen = {name: [r for r in report[name] if _bare(r) == view.about] for name in _FAMILIES}
        shares = [row for row in report["shares"] if _bare(row).partition(" · ")[2] == rest]
        others = [title for title in titles(report) if title != view.about]
        parts = [_about(part, view.about, others) for part in report.get("parts", ())]
        warnings = _said(report["warnings"], others)
        told = {"shares": shares, "parts": parts, "warnings": warnings}
        report = {**report, **chosen, **told}
    return report


def _counted(report: Mapping[str, Any], within: str) -> dict[str, list[int]]:
    every: Mapping[str, list[int]] = report.get("counted", {})
    return {k.removeprefix(within): v for k, v in every.items() if k.startswith(within)}


def _sliced(rows: list[Mapping[str, Any]], within: str) -> Iterator[dict[str, Any]]:
    for row in rows:
        if slice_of(row) == within:
            by = str(row["breakdown"]).partition(":")[2].split(",")
            plain = {name: value for name, value in row.items() if name not in by}
            yield {**plain, "breakdown": OVERALL}


def _bare(row: Mapping[str, Any]) -> str:
    return family_title({**row, "versus_condition": ""})


def _about(part: Mapping[str, Any], title: str, others: Sequence[str]) -> dict[str, Any]:
    """The part with what is about that family, and what is about none."""

    def kept(each: Mapping[str, Any]) -> bool:
        return str(each["about"]).partition(" · versus ")[0] in ("", title)

    if part["problem"]:
        return dict(part)
    chosen = {k: [e for e in part.get(k, ()) if kept(e)] for k in ("figures", "tables")}
    said = {name: _said(part.get(name, ()), others) for name in ("sentences", "warnings")}
    return {**part, **chosen, **said}


def _said(texts: Iterable[str], others: Sequence[str]) -> list[str]:
    """The texts that do not begin with the name of another family."""
    names = [f"{title}:" for title in others]
    names += [f"{title.partition(' · ')[2].replace(' · ', ', ')}:" for title in others]
    return [text for text in texts if not text.startswith(tuple(names))]
