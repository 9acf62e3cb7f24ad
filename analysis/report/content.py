"""What a part of a report shows: tables and figures as plain values, however they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from itertools import groupby
from typing import Any, TypeVar, cast, dataclass_transform

from analysis.name_spans import family_prefix, family_span
from analysis.report.report_schema import Drawing, Kind, PartRecord

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column:
    """A column of a table: its key in the rows, its heading, and how its values are written.

    ``interval`` reads the keys ``low`` and ``high`` after the column's key (``difference_low``),
    or ``low`` and ``high`` alone for the key ``interval``; ``percent`` takes shares of 0 to 1;
    ``mark`` is short text such as the letters of tiers. None is written as a dash everywhere.
    """

    key: str
    heading: str
    kind: Kind = "text"
    decimals: int = 3
    sign: bool = False  # a plus before what is above zero


def column(
    heading: str = "",
    kind: Kind = "text",
    decimals: int = 3,
    *,
    sign: bool = False,
    key: str = "",
    default: Any = MISSING,
) -> Any:
    """A field of a dataclass of rows that a table shows; see `Column`.

    ``key`` names the column where the field does not: ``difference`` for ``difference_low``, which
    stands for an interval. Fields without this are in the CSV alone, after the columns.
    """
    shown = {"heading": heading, "kind": kind, "decimals": decimals, "sign": sign, "key": key}
    return field(default=default, metadata={"column": shown})


@dataclass_transform(frozen_default=True, field_specifiers=(column, field))
def table_row(kind: type[Row]) -> type[Row]:
    """A frozen dataclass of which a table shows the fields that are a `column`."""
    return dataclass(frozen=True)(kind)


def row_from(kind: Callable[..., Row], source: Any, /, **cells: Any) -> Row:
    """A row with these cells; what it has besides is of the source, by the same names.

    ``source`` is a dataclass or a mapping.
    """
    names = [each.name for each in fields(cast(Any, kind)) if each.name not in cells]
    if not isinstance(source, Mapping):
        source = {name: getattr(source, name) for name in names if hasattr(source, name)}
    return kind(**cells, **{name: source[name] for name in names if name in source})


def interval_cells(key: str, estimate: Any, factor: float = 1.0) -> dict[str, Any]:
    """The cells KEY, KEY_low and KEY_high: an estimate with its interval, times the factor.

    Each is None where the estimate lacks it, or there is no estimate.
    """
    numbers = {f"{key}{end}": getattr(estimate, name, None) for end, name in _ENDS.items()}
    return {name: None if x is None else factor * x for name, x in numbers.items()}


_ENDS = {"": "value", "_low": "low", "_high": "high"}


def bounds_cells(key: str, bounds: tuple[float, float] | None) -> dict[str, Any]:
    """The cells KEY_low and KEY_high of an interval; each is None where there is none."""
    low, high = bounds or (None, None)
    return {f"{key}_low": low, f"{key}_high": high}


def columns_of(
    row: type, *names: str, level: float | None = None, decimals: int | None = None, **words: str
) -> tuple[Column, ...]:
    """The columns of a table of such rows, in the order of the fields, or of the ``names`` given.

    ``level`` in per cent and ``words`` stand for their names in braces in headings; ``decimals``,
    where they are given, for those of every number and interval.
    """
    known = {each.name: each.metadata["column"] for each in fields(row) if each.metadata}
    if level is not None:
        words = {**words, "level": f"{level * 100:g} %"}
    columns = []
    for name in names or known:
        shown = {**known[name], "key": known[name]["key"] or name}
        shown["heading"] = shown["heading"].format(**words)
        if decimals is not None and shown["kind"] in ("number", "interval"):
            shown["decimals"] = decimals
        columns.append(Column(**shown))
    return tuple(columns)


@dataclass(frozen=True)
class Table:
    """One table: a key that fits a file name, a title, columns, rows of plain values, and a note.

    Rows may hold more than the columns show: everything is in the CSV. ``about`` is the title of
    the family (`analysis.ratings.estimands.family_title`) that the table is about, empty for all.
    A table that is ``folded`` is closed on the page at first. ``group`` is a key of the rows: what
    stands there heads those that follow one another and share it. The best of a column is marked
    by `emphasis.with_best`.
    """

    key: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    about: str = ""
    folded: bool = False
    group: str = ""

    def grouped(self) -> list[tuple[str, list[Mapping[str, Any]]]]:
        """The rows under the heading of their group; without groups all under an empty one."""
        return [
            (heading, list(rows))
            for heading, rows in groupby(self.rows, lambda row: str(row.get(self.group) or ""))
        ]

    @classmethod
    def from_rows(
        cls,
        row: type,
        key: str,
        title: str,
        rows: Iterable[Any],
        *,
        columns: Sequence[Column] = (),
        level: float | None = None,
        **more: Any,
    ) -> Table:
        """A table of dataclasses of one kind, whose fields say which columns it shows.

        ``columns`` where not all are shown, or not in their order; ``level`` see `columns_of`.
        """
        shown = columns or columns_of(row, level=level)
        return cls(key, title, shown, [asdict(each) for each in rows], **more)


@dataclass(frozen=True)
class Figure:
    """One figure: what is drawn, its axes, and the data behind it as rows of plain values.

    ``drawing`` and the keys of its rows:

    - ``intervals``: ``name``, ``value``, ``low``, ``high`` (None: no interval), optional
      ``naive_low``, ``naive_high``, ``mark`` (letters of tiers), ``group`` (its own heading),
      ``role`` (said after the name), ``tier`` (a line where it changes), ``n`` (ratings),
      ``n_raters``, ``n_items``, ``key`` (the condition's, whatever its label)
    - ``scatter``: ``name``, ``x``, ``y``, optional ``group`` (its own sign), ``low`` and ``high``
      of y, ``x_low`` and ``x_high``; ``title`` instead of ``name``: not numbered
    - ``lines``: ``group`` (one line each), ``x``, ``y``, optional ``low``, ``high`` (a band)
    - ``heatmap``: ``row``, ``column``, ``value`` (None: blank), optional ``text``
    - ``shares``: ``name``, ``label``, ``value`` (0 to 1): bars of 100 %, labels in their order
    - ``boxes``: ``name``, ``low``, ``q1``, ``median``, ``q3``, ``high``, optional ``value`` (mean)
    - ``radar``: ``group`` (one closed line each), ``name`` (the axis), ``value``
    - ``bars``: ``name``, ``value`` (0 or more)
    - ``histogram``: ``group`` (a panel each), ``low``, ``high``, ``value``, optional ``mean``

    ``ends`` are the ends of a bounded scale, ``at`` values with a hair line (0 for differences).
    ``decimals`` are those that the words beside the figure have.
    ``interval`` names the thick intervals in the legend, where naive ones stand beside them;
    ``made_by`` says for captions how they were made, and for how many at once they hold.
    """

    key: str
    title: str
    drawing: Drawing
    rows: Sequence[Mapping[str, Any]]
    x: str = ""
    y: str = ""
    ends: tuple[float, float] | None = None
    at: Sequence[float] = ()
    note: str = ""
    about: str = ""
    interval: str = ""
    made_by: str = ""
    decimals: int | None = None  # of its numbers; None: as many as tell them apart


@dataclass(frozen=True)
class Headline:
    """One family's answer for the first screen: a sentence of at most 30 words, and its caveats.

    ``caveats`` stand in order, the worst first. ``about`` is the family's title.
    """

    about: str
    sentence: str
    caveats: Sequence[str] = ()


@dataclass(frozen=True)
class Content:
    """All that a part says: sentences first, then figures and tables; warnings; and its methods.

    Names of conditions and families in all texts and titles are spans (`analysis.name_spans`).
    ``sentences`` are the answer in words. ``warnings`` say in plain words where a claim is weak.
    ``methods`` are sentences for a paper's methods section. ``files`` are extra downloads by name
    (text only, such as a listing). ``headlines`` are those of the answer.
    """

    sentences: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    warnings: Sequence[str] = ()
    methods: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    headlines: Sequence[Headline] = ()

    def plain(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        return cast("dict[str, Any]", _plain_fields(self))


def _plain_fields(value: Any) -> Any:
    """As `dataclasses.asdict`, which copies each number and takes a sixth of a large report."""
    if isinstance(value, (str, float, int)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return type(value)([_plain_fields(each) for each in value])
    if isinstance(value, dict):
        return {name: _plain_fields(each) for name, each in value.items()}
    if is_dataclass(value):
        return {each.name: _plain_fields(getattr(value, each.name)) for each in fields(value)}
    return value


def together(parts: Iterable[Content]) -> Content:
    """All that several say, in their order; what they say of methods is said once."""
    every = list(parts)
    return Content(
        sentences=[text for part in every for text in part.sentences],
        figures=[figure for part in every for figure in part.figures],
        tables=[table for part in every for table in part.tables],
        warnings=[text for part in every for text in part.warnings],
        methods=list(dict.fromkeys(text for part in every for text in part.methods)),
        files={name: text for part in every for name, text in part.files.items()},
        headlines=[each for part in every for each in part.headlines],
    )


def with_titles(shown: Content, title_of: Callable[[Figure | Table], str]) -> Content:
    """The same with another title for each figure and table."""
    return replace(
        shown,
        figures=[replace(each, title=title_of(each)) for each in shown.figures],
        tables=[replace(each, title=title_of(each)) for each in shown.tables],
    )


def add_family_titles(shown: Content) -> Content:
    """The same with what each figure and table is about in its title."""
    return with_titles(shown, lambda each: f"{each.title}, {family_span(each.about)}")


def content_from(plain: PartRecord) -> Content:
    """What `Content.plain` gave, after a way through JSON."""
    return Content(
        sentences=plain["sentences"],
        figures=[
            replace(Figure(**each), ends=(ends[0], ends[1]) if (ends := each["ends"]) else None)
            for each in plain["figures"]
        ],
        tables=[
            Table(**{**cast(Any, each), "columns": [Column(**shown) for shown in each["columns"]]})
            for each in plain["tables"]
        ],
        warnings=plain["warnings"],
        methods=plain["methods"],
        files=plain["files"],
        headlines=[Headline(**each) for each in plain.get("headlines", ())],
    )


def warned_once(content: Content) -> Content:
    """The same with every warning said once."""
    return replace(content, warnings=list(dict.fromkeys(content.warnings)))


def add_family_words(content: Content, about: str, common: Collection[str] = ()) -> Content:
    """The same with the family it is about before its words and in brackets after its titles.

    Warnings that start with it stay, and those that are ``common`` to several contents.
    """
    prefix, suffix = family_prefix(about), family_span(about, " ({})")

    def warning(text: str) -> str:
        return text if text.startswith(prefix) or text in common else f"{prefix}{text}"

    return replace(
        with_titles(content, lambda each: f"{each.title}{suffix}"),
        sentences=[f"{prefix}{text}" for text in content.sentences],
        warnings=list(map(warning, content.warnings)),
    )


INTERVAL_CELLS = ("value", "low", "high", "naive_low", "naive_high")  # of a figure's intervals


def pick_cells(row: Any, *names: str) -> dict[str, Any]:
    """These fields of a dataclass, or keys of a mapping, in this order; of None each is None."""
    if row is None:
        return dict.fromkeys(names)
    return {name: row[name] if isinstance(row, Mapping) else getattr(row, name) for name in names}


def pick_fields(rows: Iterable[Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """These fields of dataclasses, or keys of mappings, as the rows of a figure."""
    return [pick_cells(row, *names) for row in rows]
