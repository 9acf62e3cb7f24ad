"""How metrics correlate with human ratings in a study's newest analysis, for the metrics page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.cache import cache

from analysis.models import AnalysisRun
from analysis.report.condition_labels import family_labels
from analysis.report.report_schema import PartRecord, TableRecord
from analysis.statistics.ceiling_gap import Bounded, gap

PART = "against_people"
UNITS = ("stimulus", "pair")
KEPT_S = 24 * 3600


def human_correlations(sender: object, study_key: str, **kwargs: Any) -> dict[str, Any] | None:
    """Return the numbers for `listening.common.signals.metrics_beside_raters`, if analysed.

    ``families``: for each task and criterion the metrics with their SRCC per stimulus, the noise
    ceiling, the gap between both, and the points of the one that goes with raters most closely.
    """
    done = AnalysisRun.objects.filter(study__key=study_key, state=AnalysisRun.State.DONE)
    pk = done.values_list("pk", flat=True).first()
    if pk is None:
        return None
    numbers: dict[str, Any] | None = cache.get_or_set(
        f"beside-raters-6-{pk}", lambda: _metric_numbers(pk), KEPT_S
    )
    return numbers


def _metric_numbers(pk: int) -> dict[str, Any]:
    run = AnalysisRun.objects.get(pk=pk)
    report = run.page_report()
    parts = [part for part in report.get("parts", ()) if part["key"] == PART]
    called = family_labels(report) if parts else {}
    titles = report.get("metric_titles", {})
    return {
        "run": pk,
        "at": run.finished_at,
        "families": [family for part in parts for family in families(part, called, titles)],
        "problem": next((str(part["problem"]) for part in parts if part.get("problem")), ""),
    }


def families(
    part: PartRecord,
    called: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """The part's numbers by task and criterion, as plain values.

    ``called``: what families are called, by their keys; ``titles``: metrics likewise.
    """
    from analysis.report.parts.against_people.metric_tables import FEW

    tables = part.get("tables", ())
    for table in tables:
        if not table["key"].startswith("correlations"):
            continue
        title = table["about"]
        top = ceiling_of(_first_about(title, tables, "ceiling"))
        rows = [row for row in table["rows"] if row["unit"] in UNITS]
        figure = _first_about(title, part["figures"], "stimuli")
        yield {
            "title": (called or {}).get(title, title),
            "unit": rows[0]["unit"] if rows else UNITS[0],
            "fewest": FEW,
            "ceiling": top and {"value": top.value, "low": top.low, "high": top.high},
            "metrics": [
                {**_metric(row, top), "title": (titles or {}).get(row["metric"], row["metric"])}
                for row in rows
            ],
            "points": list(figure["rows"]) if figure else [],
            "drawn": str(figure["note"]) if figure else "",
            "drawn_title": str(figure["x"]) if figure else "",
        }


def _first_about(title: str, records: Iterable[Any], key: str) -> Any:
    """The first table or figure about a family whose key begins so; None where there is none."""
    return next((r for r in records if r["key"].startswith(key) and r["about"] == title), None)


def ceiling_of(table: TableRecord | None) -> Bounded | None:
    """The SRCC per stimulus that a perfect metric could reach; None where none is known."""
    for row in table["rows"] if table else ():
        if (
            row["unit"] in UNITS
            and row["statistic"] == "SRCC"
            and (top := _bounded_coefficient(row))
        ):
            return top
    return None


def _bounded_coefficient(row: Mapping[str, Any]) -> Bounded | None:
    ends = [row.get(name) for name in ("ceiling", "ceiling_low", "ceiling_high")]
    return None if None in ends else Bounded(*ends)  # type: ignore[arg-type]


def _metric(row: Mapping[str, Any], top: Bounded | None) -> dict[str, Any]:
    """One metric; ``gap`` None where its interval or the ceiling is not known, or it goes against.

    The ceiling is over the clips that it scored; reports stored by earlier versions have ``top``.
    ``directed``: it says which way is better. ``against``: its coefficient has the other sign;
    ``told_against``: and so has all of its interval.
    """
    own = {name: row.get(name) for name in ("metric", "srcc", "srcc_low", "srcc_high", "n")}
    top = _bounded_coefficient(row) or top
    ends: list[Any] = [own["srcc"], own["srcc_low"], own["srcc_high"]]
    directed = row.get("sign") in ("+", "−")
    against = directed and (own["srcc"] or 0) * (1 if row["sign"] == "+" else -1) < 0
    known = top is not None and None not in ends and not against
    behind = gap(Bounded(*ends), top) if known and top is not None else None
    return {
        **own,
        "ceiling": top and {"value": top.value, "low": top.low, "high": top.high},
        "directed": directed,
        "against": against,
        "told_against": against and None not in ends and ends[1] * ends[2] > 0,
        "gap": behind and {"value": behind.value, "low": behind.low, "high": behind.high},
    }
