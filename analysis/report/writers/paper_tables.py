"""Every table of a report as papers print it: estimates, differences, labels, those of parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.ratings.scales import family_title
from analysis.report.content import Column, Table, content_from
from analysis.report.figures.all_figures import falling, part_keys, slug
from analysis.report.html.html_tables import percent
from analysis.report.html.part_html import cell
from analysis.report.pivot import Line, lines_of
from analysis.report.report_schema import EstimateRow, PartRecord, Report
from analysis.statistics.estimator import OF_CONTRASTS

OVERALL = "condition:"
_PLACES = ("condition", "versus_condition")


@dataclass(frozen=True)
class Named:
    """A table, the name of its files without ending, and the part that it is of, if any."""

    key: str
    table: Table
    part: PartRecord | None = None


def paper_tables(report: Report) -> list[Named]:
    """All tables in the order of the page; notes of rows are gathered below their table."""
    return [*_estimates(report), *_contrasts(report), *_shares(report), *part_tables(report)]


def part_tables(report: Report) -> Iterator[Named]:
    """The tables of the parts, under the names that `part_keys` gives them."""
    for part in report.get("parts", ()):
        if part["problem"]:
            continue
        tables = content_from(part).tables
        for key, table in zip(part_keys(part["key"], [t.key for t in tables]), tables, strict=True):
            yield Named(key, table, part)


def cells_of(table: Table) -> list[list[str]]:
    """The table's cells as people read them, a list per row."""
    return [[cell(column, row) for column in table.columns] for row in table.rows]


def is_number(column: Column) -> bool:
    """Whether a column is set to the right."""
    return column.kind not in ("text", "mark")


def _estimates(report: Report) -> Iterator[Named]:
    for breakdown in report["provenance"]["breakdowns"]:
        rows = [row for row in report["estimates"] if row["breakdown"] == breakdown]
        compare, _, rest = breakdown.partition(":")
        by = [name for name in rest.split(",") if name]
        kind = "-".join(["means", *([compare] if compare != "condition" else []), *by])
        for number, (title, lines) in enumerate(_families(rows), start=1):
            words = f"{title} by {' and '.join(by)}" if by else title
            words += f", per {compare}" if compare != "condition" else ""
            key = slug(f"{kind}-{number}-{title}")
            yield Named(key, _means(key, words, lines if by else falling(lines), by))


def _means(key: str, title: str, lines: Sequence[Line], by: Sequence[str]) -> Table:
    level = f"{lines[0].row['level'] * 100:g} % interval"
    columns = [
        *_places(lines),
        *(Column(name, name.capitalize()) for name in by),
        Column("value", "Mean", "number"),
        Column("interval", level, "interval"),
        Column("naive", "Naive", "interval"),
        Column("n_ratings", "Ratings", "count"),
        Column("n_raters", "Raters", "count"),
        Column("n_items", "Items", "count"),
    ]
    note = f"Interval: {_kind(lines)}. Naive: {_naive(lines)}. {_notes(lines)}".strip()
    return Table(key, title, columns, [_row(line) for line in lines], note)


def _contrasts(report: Report) -> Iterator[Named]:
    rows = [row for row in report["contrasts"] if row["breakdown"] == OVERALL]
    for number, (title, lines) in enumerate(_families(rows), start=1):
        key = slug(f"differences-{number}-{title}")
        columns = [
            Column("pair", "Difference"),
            Column("value", "Value", "number", sign=True),
            Column("family", "Family"),
            Column("all", f"{lines[0].row['level'] * 100:g} %, adjusted", "interval"),
            Column("p_adjusted", "p, adjusted", "p"),
            Column("interval", "This one alone", "interval"),
            Column("p", "p, alone", "p"),
            Column("naive", "Naive (Welch)", "interval"),
        ]
        made = [{**_row(x), "pair": f"{x.row['condition']} − {x.row['versus']}"} for x in lines]
        note = f"Interval: {_kind(lines)}. {_notes(lines)}".strip()
        yield Named(key, Table(key, f"Differences: {title}", columns, made, note))


def _shares(report: Report) -> Iterator[Named]:
    """A row per condition, a column per label; the estimand of a share is its label."""
    families: dict[str, list[Line]] = {}
    for line in lines_of(report["shares"]):
        title = family_title({**line.row, "estimand": "", "versus_condition": ""})
        families.setdefault(title.removeprefix(" · ") or "ratings", []).append(line)
    for number, (title, lines) in enumerate(families.items(), start=1):
        key = slug(f"labels-{number}-{title}")
        labels = list(dict.fromkeys(str(line.row["estimand"]) for line in lines))
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for line in lines:
            place = tuple(str(line.row.get(name) or "") for name in _PLACES)
            row = rows.setdefault(place, dict(zip(_PLACES, place, strict=True)))
            row[f"label {line.row['estimand']}"] = percent(line)
        columns = [
            *_places(lines),
            *(Column(f"label {name}", name.removeprefix("share:"), "text") for name in labels),
        ]
        yield Named(key, Table(key, f"Labels given: {title}", columns, list(rows.values())))


def _families(rows: Sequence[EstimateRow]) -> Iterator[tuple[str, list[Line]]]:
    families: dict[str, list[Line]] = {}
    for line in lines_of(rows):
        if line.weighting == "ratings":
            families.setdefault(family_title(line.row), []).append(line)
    yield from families.items()


def _places(lines: Sequence[Line]) -> list[Column]:
    named = [Column("condition", "Condition")]
    if any(line.row.get("versus_condition") for line in lines):
        named.append(Column("versus_condition", "Versus"))
    return named


def _row(line: Line) -> dict[str, Any]:
    main: Mapping[str, Any] = line.main or {}
    naive: Mapping[str, Any] = line.naive or {}
    return {
        **line.row,
        **{name: main.get(name) for name in ("low", "high", *OF_CONTRASTS)},
        "all_low": main.get("low_all"),
        "all_high": main.get("high_all"),
        **{f"naive_{name}": naive.get(name) for name in ("low", "high", "p")},
    }


def _kind(lines: Sequence[Line]) -> str:
    return next((k for x in lines for k in x.intervals if not k.startswith("naive")), "none")


def _naive(lines: Sequence[Line]) -> str:
    return next((k for x in lines for k in x.intervals if k.startswith("naive")), "none")


def _notes(lines: Sequence[Line]) -> str:
    """Each note of the main intervals once, with the first conditions that it is about."""
    about: dict[str, list[str]] = {}
    for line in lines:
        main = line.main
        if main and main["note"]:
            about.setdefault(main["note"], []).append(str(line.row["condition"]))
    sentences = []
    for note, names in about.items():
        some = "All" if len(names) == len(lines) else ", ".join(dict.fromkeys(names[:5]))
        sentences.append(f"{some}: {note}.")
    return " ".join(sentences)
