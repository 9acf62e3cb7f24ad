"""What pages and paper files show of a study that is still open: one verdict, and no test.

Fixed-sample tests, letters, tiers and rankings are for the ratings of a closed study; while raters
are still coming, only sequential intervals decide anything (`analysis.report.interim`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from analysis.citations import cite
from analysis.formatting import all_of, ci_words, counted, enumerated, number
from analysis.name_spans import condition_span, family_span, resolve
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Column, Content, Figure, Headline, Table, content_from
from analysis.report.report_schema import (
    InterimMean,
    InterimPair,
    InterimRow,
    PartRecord,
    Report,
)

LOOKING = "sequential interval"
_MADE_BY = f"sequential over raters {cite('waudbysmith2024')}, valid under continuous monitoring"
MADE_BY = resolve(_MADE_BY)
BOUNDS = (
    "Means over the {} that finished so far, with sequential intervals. Letters and tiers are "
    "assigned when the study closes."
)
FIXED_SAMPLE = (
    "No sequential interval exists for this question: these are fixed-sample intervals, which do "
    "not hold under repeated checking."
)
OPEN = (
    "Recruiting is still open, so intervals are sequential: valid however often you check, and "
    "wider than the final ones. They hold for new raters and these clips; a rater counts once "
    "finished."
)
OPEN_FIXED = f"Recruiting is still open. {FIXED_SAMPLE}"
RUNNING = "still running"  # what the caveat on running sessions says, which OPEN says better
ANSWER, DIFFERENCES = "answer", "interim"
SIGNIFICANT = "Significant at the sequential bound"
SHOWN_WHEN_OPEN = frozenset(  # parts without a test of conditions; the rest waits for the end
    {
        *(ANSWER, "agreement", "raters", "rater_models", "screening", "participants"),
        *("justifications", "example_reasons", "clip_scores", "clip_validation"),
        *("against_people", "trap_detection", "versions", "stop_rule"),
    }
)


def is_interim(report: Report) -> bool:
    """Return whether recruiting was still open when the ratings were read."""
    return "interim" in report


def interim_row(report: Report, about: str) -> InterimRow:
    """Return the bounds of a family of an open study; of one without any, that there are none."""
    for row in report.get("interim", ()):
        if row["title"] == about:
            return row
    return without_bounds(about, report["provenance"]["level"])


def without_bounds(title: str, level: float) -> InterimRow:
    """Return the row of a family of which nothing may be claimed."""
    return InterimRow(
        title=title,
        estimand="",
        task="",
        criterion="",
        kind="none",
        level=level,
        neutral=0.0,
        raters=0,
        reference="",
        means=[],
        pairs=[],
    )


def interim_report(report: Report) -> Report:
    """Return the report of an open study as people see it; that of a closed study as it is.

    The answer is that of the sequential intervals, the part ``interim`` has the differences that
    they bound, and every part that tests conditions for a fixed sample is left out.
    """
    if not is_interim(report):
        return report
    parts = []
    left_out = []
    for part in report.get("parts", ()):
        if part["key"] == ANSWER and not part["problem"]:
            parts.append(_answer_so_far(report, part))
        elif part["key"] in SHOWN_WHEN_OPEN:
            parts.append(part)
        elif part["key"] == DIFFERENCES:
            return report  # shown so already
        else:
            left_out.append(part["title"])
    parts.append(_differences_so_far(report, left_out))
    return {**report, "contrasts": [], "counted": {}, "parts": parts}


def finished_raters(report: Report) -> int:
    """Return how many raters the means of an open study are over; 0 where there are no such."""
    rows = [row for row in report.get("interim", ()) if row["kind"] != "none"]
    return max((row["raters"] for row in rows), default=0)


def interim_words(report: Report) -> str:
    """Return the sentence by which a file says that it is interim; empty for a closed study."""
    if not is_interim(report):
        return ""
    raters = max((row["raters"] for row in report["interim"]), default=0)
    who = f"{counted(raters, 'rater')} had finished" if raters else "no finished rater was kept"
    return f"Interim results: recruiting was still open, and {who}."


def _answer_so_far(report: Report, part: PartRecord) -> PartRecord:
    """Return the answer with the sentences, figures and caveats of an open study, and no table."""
    shown = content_from(part)
    headlines, figures, sentences, notes = [], [], [], []
    for each in shown.headlines:
        row = interim_row(report, each.about)
        sentence = interim_sentence(row)
        notes.append(OPEN_FIXED if row["kind"] == "none" else OPEN)
        rest = [text for text in each.caveats if RUNNING not in text and text != OPEN]
        headlines.append(Headline(each.about, sentence, [notes[-1], *rest]))
        sentences.append(
            f"{family_span(each.about, '{}: ')}{sentence}" if len(shown.headlines) > 1 else sentence
        )
        closed = next(
            (f for f in shown.figures if f.about.partition(" · versus ")[0] == each.about), None
        )
        drawn = interim_figure(row, closed)
        figures += [drawn] if drawn else []
    note = OPEN_FIXED if notes and OPEN not in notes else OPEN
    warnings = [note, *(text for text in shown.warnings if RUNNING not in text and text != OPEN)]
    content = Content(sentences, figures, (), warnings, (), {}, headlines)
    return cast(PartRecord, {**part, **content.plain()})


def _differences_so_far(report: Report, waiting: Sequence[str]) -> PartRecord:
    """Return the part with the differences so far, and with what waits for the end."""
    tables = [_table(row) for row in report["interim"] if row["pairs"]]
    later = [f"Shown when the study closes: {enumerated(waiting)}."] * bool(waiting)
    content = Content(later, tables=tables, methods=[f"Interim intervals are {_MADE_BY}."])
    heading = {"key": DIFFERENCES, "version": "1", "title": "Differences so far", "problem": ""}
    return cast(PartRecord, {**heading, **content.plain()})


def _table(row: InterimRow) -> Table:
    """Return the table of a family's differences (of comparisons: of each pair's mean)."""
    estimand = estimand_of(row["estimand"])
    what = "Mean" if row["kind"] == "pairs" else "Difference"
    signed = row["kind"] != "pairs" or estimand.signed
    columns = [
        Column("condition", "Condition"),
        Column("versus", "Versus"),
        Column("value", what, "number", estimand.decimals, sign=signed),
        Column("interval", f"{row['level'] * 100:g} % {LOOKING}", "interval", estimand.decimals),
        Column("claimed_in_words", SIGNIFICANT),
        Column("raters", "Raters", "count"),
    ]
    rows = [
        {**pair, "claimed_in_words": "yes" if pair["claimed"] else "no"} for pair in row["pairs"]
    ]
    count = len(rows)
    note = f"Simultaneous intervals for {count} comparisons." if count > 1 else ""
    return Table("differences", f"{what}s so far", columns, rows, note, row["title"])


def interim_sentence(row: InterimRow) -> str:
    """Return what the sequential intervals of a family show so far, and nothing beyond them."""
    from analysis.statistics.planning.interim import FEWEST  # SciPy: not for every page

    if row["kind"] == "none":
        return (
            "Interim: nothing is claimed before the study closes, as no sequential interval exists "
            "for this question."
        )
    if row["raters"] < FEWEST:
        return f"Interim ({counted(row['raters'], 'rater')}): too early to compare anything."
    if row["kind"] == "pairs":
        return _of_pairs(row)
    return _of_systems(row)


def interim_figure(row: InterimRow, closed: Figure | None) -> Figure | None:
    """The plot of an open study: means or pairs with bounds that hold however often one looks.

    Without letters and tiers, which belong to the closed study; ``closed`` is the figure that will
    be shown then, and stays, without marks, where there are no such bounds.
    """
    if closed is None:
        return closed
    if row["kind"] == "none":
        bare = [{**each, "mark": "", "tier": None} for each in closed.rows]
        return replace(closed, rows=bare, note=FIXED_SAMPLE)
    rows: list[dict[str, Any]] = []
    if row["kind"] == "systems":
        for mean in row["means"]:
            role = "reference" if mean["condition"] == row["reference"] else ""
            name = mean["condition"]
            rows.append({"name": name, "key": name, "role": role, **_numbers(mean)})
    else:
        for pair in row["pairs"]:
            rows.append({"name": f"{pair['condition']} versus {pair['versus']}", **_numbers(pair)})
    rows = [each for each in rows if each["value"] is not None]
    note = BOUNDS.format(counted(row["raters"], "rater"))
    title = family_span(row["title"]) if row["kind"] == "pairs" else closed.title
    at_once = f", simultaneous for all {len(row['pairs'])} pairs" if len(row["pairs"]) > 1 else ""
    made_by = MADE_BY + at_once * (row["kind"] == "pairs")
    return replace(closed, rows=rows, interval=LOOKING, made_by=made_by, note=note, title=title)


def _numbers(mean: InterimMean) -> dict[str, Any]:
    """Return what a figure's row holds of a mean or a pair."""
    return {
        **{name: mean[name] for name in ("value", "low", "high")},
        **{"n": mean.get("ratings"), "n_raters": mean["raters"], "n_items": mean.get("items")},
    }


def _of_systems(row: InterimRow) -> str:
    interim, reference = f"Interim ({counted(row['raters'], 'rater')})", row["reference"]
    compared = {name for pair in row["pairs"] for name in (pair["condition"], pair["versus"])}
    systems = [m["condition"] for m in row["means"] if m["condition"] in compared - {reference}]
    if not systems:
        return f"{interim}: there is nothing to compare yet."
    if not any(pair["claimed"] for pair in row["pairs"]):
        return f"{interim}: no difference is significant yet."
    sentences = [_leader(row, systems)] if len(systems) > 1 else []
    sentences += [_against(row, systems)] if reference else []
    return f"{interim}: {' '.join(sentences)}"


def _leader(row: InterimRow, systems: Sequence[str]) -> str:
    """Return the sentence about the best system and the others."""
    best, others = systems[0], len(systems) - 1
    beaten = sum(_better(row, pair) == best for pair in _among(row, systems, best))
    (mean,) = (mean for mean in row["means"] if mean["condition"] == best)
    estimand = estimand_of(row["estimand"])
    decimals = estimand.decimals
    interval = ci_words(
        mean["low"], mean["high"], row["level"], estimand.ends, decimals, "sequential CI"
    )
    value = f"{estimand.name} {number(mean['value'], False, decimals)}{interval}"
    lead = f"{condition_span(best)} {estimand.leads()} of the {len(systems)} systems ({value})"
    if not beaten:
        return f"{lead}, but not significantly {estimand.higher} than any other yet."
    than = f"{beaten} of the {others} others"
    if beaten == others:
        than = "the other" if others == 1 else f"{all_of(others)} others"
    return f"{lead} and significantly {estimand.higher} than {than}."


def _against(row: InterimRow, systems: Sequence[str]) -> str:
    """Return the sentence about the systems and the reference."""
    reference = row["reference"]
    (mean,) = (mean for mean in row["means"] if mean["condition"] == reference)
    estimand = estimand_of(row["estimand"])
    won = [_better(row, p) for p in row["pairs"] if reference in (p["condition"], p["versus"])]
    below = sum(name == reference for name in won)
    above = sum(name in systems for name in won)
    value = number(mean["value"], False, estimand.decimals)
    shown, n_systems = f"{condition_span(reference)}, the reference ({value})", len(systems)
    counts = {estimand.higher: above, estimand.lower: below}
    parts = [f"{count} significantly {how}" for how, count in counts.items() if count]
    if not parts:
        return f"None is significantly different from {shown} yet."
    if len(parts) > 1:
        return f"Relative to {shown}, {' and '.join(parts)} (of {counted(n_systems, 'system')})."
    how, count = next((how, count) for how, count in counts.items() if count)
    which = f"{count} of the {n_systems} systems"
    if n_systems == 1:
        (own,) = (mean for mean in row["means"] if mean["condition"] == systems[0])
        value = number(own["value"], False, estimand.decimals)
        which = f"{condition_span(systems[0])} ({estimand.name} {value})"
    elif count == n_systems:
        which = f"{all_of(n_systems).capitalize()} systems"
    return f"{which} {estimand.verb(count)} significantly {how} than {shown}."


def _among(row: InterimRow, systems: Sequence[str], one: str) -> list[InterimPair]:
    return [
        pair
        for pair in row["pairs"]
        if one in (pair["condition"], pair["versus"])
        and {pair["condition"], pair["versus"]} <= set(systems)
    ]


def _better(row: InterimRow, pair: InterimPair) -> str:
    """Who is claimed to be ahead; empty where nobody is."""
    if not pair["claimed"] or pair["value"] is None:
        return ""
    first = pair["value"] > row["neutral"]
    if estimand_of(row["estimand"]).lowest_is_best:
        first = not first
    return pair["condition"] if first else pair["versus"]


def _of_pairs(row: InterimRow) -> str:
    interim, n_pairs = f"Interim ({counted(row['raters'], 'rater')})", len(row["pairs"])
    claimed = [pair for pair in row["pairs"] if pair["claimed"]]
    if not claimed:
        return f"{interim}: no preference is significant yet."
    clearest = max(claimed, key=lambda pair: abs((pair["value"] or 0.0) - row["neutral"]))
    one, other = (condition_span(clearest[side]) for side in ("condition", "versus"))
    estimand = estimand_of(row["estimand"])
    value = number(clearest["value"], False, estimand.decimals)
    ahead = _better(row, clearest) == clearest["condition"]
    if estimand.discriminates:
        words = f"{one} and {other} are {'distinguished' if ahead else 'confused'} ({value})"
    else:
        one, other = (one, other) if ahead else (other, one)
        words = f"{one} is preferred to {other} ({value})"
    count = (
        ""
        if n_pairs == 1
        else f"{len(claimed)} of {n_pairs} pairs differ significantly. Clearest: "
    )
    return f"{interim}: {count}{words}."
