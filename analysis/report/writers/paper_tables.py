"""Every table of a report, for those who need more than the paper's two: labels, not keys."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.formatting import enumerated
from analysis.ratings.estimands import estimand_of, family_title
from analysis.report.condition_labels import label_report
from analysis.report.content import Column, Table, content_from
from analysis.report.figures.all_figures import ANSWER, falling, named_files, slug
from analysis.report.html.html_tables import percent
from analysis.report.html.part_html import cell
from analysis.report.pivot import Line, by_family, lines_of
from analysis.report.report_schema import PartRecord, Report
from analysis.report.writers.captions import Families
from analysis.statistics.estimator import OF_CONTRASTS

OVERALL = "condition:"
_PLACES = ("condition", "versus_condition")


@dataclass(frozen=True)
class NamedTable:
    """A table, the name of its files without ending, and the part that it is of, if any."""

    key: str
    table: Table
    part: PartRecord | None = None


def paper_tables(report: Report) -> list[NamedTable]:
    """All tables in the order of the page; notes of rows are gathered below their table.

    Conditions have their labels, captions say in words what they are about. The overall means of
    what the answer has a table for are there alone.
    """
    shown, families = label_report(report), Families(report)
    parts = [
        NamedTable(
            named.key,
            replace(named.table, title=_title_in_words(families, named.table)),
            named.part,
        )
        for named in part_tables(shown)
    ]
    answered = {n.table.about for n in parts if n.part is not None and n.part["key"] == ANSWER}
    return [
        *_estimates(shown, families, answered),
        *_contrasts(shown, families),
        *_shares(shown, families),
        *parts,
    ]


def part_tables(report: Report) -> Iterator[NamedTable]:
    """The tables of the parts, under the names that `named_files` gives them."""
    for part in report.get("parts", ()):
        if part["problem"]:
            continue
        for key, table in named_files(part["key"], content_from(part).tables):
            yield NamedTable(key, table, part)


def _title_in_words(families: Families, table: Table) -> str:
    """The table's title in words, with what it is about where it does not say so."""
    about = families.of_title(table.about)
    return f"{table.title} ({about})" if about and about not in table.title else table.title


def cells_of(table: Table) -> list[list[str]]:
    """The table's cells as people read them, a list per row."""
    return [[cell(column, row) for column in table.columns] for row in table.rows]


def is_number(column: Column) -> bool:
    """Whether a column is set to the right."""
    return column.kind not in ("text", "mark")


def _estimates(
    report: Report, families: Families, answered: Collection[str]
) -> Iterator[NamedTable]:
    for breakdown in report["provenance"]["breakdowns"]:
        rows = [row for row in report["estimates"] if row["breakdown"] == breakdown]
        compare, _, rest = breakdown.partition(":")
        by = [name for name in rest.split(",") if name]
        kind = "-".join(["means", *([compare] if compare != "condition" else []), *by])
        for number, (title, lines) in enumerate(by_family(lines_of(rows)).items(), start=1):
            if breakdown == OVERALL and title in answered:
                continue
            words = f"{families.words(lines[0].row)} per {compare}"
            words += f" by {enumerated(by)}" if by else ""
            key = slug(f"{kind}-{number}-{title}")
            yield NamedTable(key, _means(key, words, lines if by else falling(lines), by))


def _means(key: str, title: str, lines: Sequence[Line], by: Sequence[str]) -> Table:
    level = f"{lines[0].row['level'] * 100:g} % interval"
    what = estimand_of(lines[0].row["estimand"])
    columns = [
        *_places(lines),
        *(Column(name, name.capitalize()) for name in by),
        Column("value", what.name, "number", what.decimals),
        Column("interval", level, "interval", what.decimals),
        Column("naive", "Naive", "interval", what.decimals),
        Column("n_ratings", "Ratings", "count"),
        Column("n_raters", "Raters", "count"),
        Column("n_items", "Items", "count"),
    ]
    kinds = f"Interval: {_interval_kind(lines)}. Naive: {_interval_kind(lines, naive=True)}."
    note = f"{kinds} {_notes(lines)}".strip()
    return Table(key, title, columns, [_row(line) for line in lines], note)


def _contrasts(report: Report, families: Families) -> Iterator[NamedTable]:
    rows = [row for row in report["contrasts"] if row["breakdown"] == OVERALL]
    for number, (title, lines) in enumerate(by_family(lines_of(rows)).items(), start=1):
        key = slug(f"differences-{number}-{title}")
        what = estimand_of(lines[0].row["estimand"])
        level = f"{lines[0].row['level'] * 100:g} %"
        columns = [
            Column("pair", "Difference"),
            Column("value", f"Δ {what.name}", "number", what.decimals, sign=True),
            Column("family", "Family"),
            Column("all", f"{level}, adjusted", "interval", what.decimals),
            Column("p_adjusted", "p, adjusted", "p"),
            Column("interval", "This one alone", "interval", what.decimals),
            Column("p", "p, alone", "p"),
            Column("naive", "Naive (Welch)", "interval", what.decimals),
        ]
        pair_rows = [
            {**_row(x), "pair": f"{x.row['condition']} − {x.row['versus']}"} for x in lines
        ]
        note = f"Interval: {_interval_kind(lines)}. {_notes(lines)}".strip()
        words = f"Differences of {families.words(lines[0].row)}"
        yield NamedTable(key, Table(key, words, columns, pair_rows, note))


def _shares(report: Report, families: Families) -> Iterator[NamedTable]:
    """A row per condition, a column per label; the estimand of a share is its label."""
    lines_of_family: dict[str, list[Line]] = {}
    for line in lines_of(report["shares"]):
        title = family_title({**line.row, "estimand": "", "versus_condition": ""})
        lines_of_family.setdefault(title.removeprefix(" · ") or "ratings", []).append(line)
    for number, (title, lines) in enumerate(lines_of_family.items(), start=1):
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
        question = families.question(lines[0].row)
        yield NamedTable(
            key, Table(key, f"Labels given for {question}", columns, list(rows.values()))
        )


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


def _interval_kind(lines: Sequence[Line], naive: bool = False) -> str:
    """The kind of the first interval that is naive, or is not; "none" where there is none."""
    kinds = (kind for line in lines for kind in line.intervals)
    return next((kind for kind in kinds if kind.startswith("naive") == naive), "none")


def _notes(lines: Sequence[Line]) -> str:
    """Each note of the main intervals once, with the first conditions that it is about."""
    conditions_of: dict[str, list[str]] = {}
    for line in lines:
        main = line.main
        if main and main["note"]:
            conditions_of.setdefault(main["note"], []).append(str(line.row["condition"]))
    sentences = []
    for note, names in conditions_of.items():
        some = "All" if len(names) == len(lines) else ", ".join(dict.fromkeys(names[:5]))
        sentences.append(f"{some}: {note}.")
    return " ".join(sentences)
