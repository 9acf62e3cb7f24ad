"""Tables that spreadsheets and other programs write: read in their layouts, written safely."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from listening.common.input_limits import FOREIGN_COLUMNS, PYTHON_LINE_CHARACTERS, TABLE_BYTES
from listening.common.plain_json import JsonError, read_json

FORMULA = re.compile(r"'*[=+\-@＝＋－＠\t\r]")  # full-width signs run, too
PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}
SAMPLE_BYTES = 256 * 1024
SAMPLE_ROWS = 100
SAMPLE_SHOWN = 20
MOST_NAMED = 3  # rows or names in a sentence
SAVE = "save it as CSV UTF-8"
PARQUET = b"PAR1"  # begins each Parquet file
NO_TEXT = "holds characters that are no text (a NUL, or half of a pair)"
END_OF_FILE = "END OF FILE"  # the only cell of Gorilla's last row
IMPORT_ID = '{"ImportId"'  # begins each cell of the last of Qualtrics' three header rows
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_JOINERS = "\u200c\u200d"  # they spell words in Persian and Hindi, and mean nothing at an end
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)  # 1,000 may be a thousand, or one
_LEADING_ZEROS = re.compile(r"(?<![\d.])0+(?=\d)")
_POINT_ZERO = re.compile(r"(?<=\d)\.0+$")
_INNER_BLANKS = re.compile(r"(?<!\d)\s+|\s+(?!\d)")  # "1 12" and "11 2" stay apart
_JSON = re.compile(r"\s*[\[{]\s*[\[{\"]")
_SEPARATOR_LINE = re.compile(r'^"?sep=(.)"?[;,\t]*\r?\n?', re.IGNORECASE)
_OTHER_FILES = (
    ((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"), "is a file of a spreadsheet program; open it there and"),
    ((b"%PDF",), "is a PDF; export the table itself, and"),
    ((b"RDX", b"\x1f\x8b\x08\x00RDX"), "is a file of R; write it by write.csv, or"),
    ((b"$FL2", b"$FL3"), "is a file of SPSS; open it there and"),
    ((PARQUET,), "is a Parquet file; write it by to_csv, or"),
)
_NOT_FINITE = re.compile(r"(?<=: )(-?inf|nan)(?=[,}\]])")


class TableError(ValueError):
    """Why a table cannot be read: place, cause and remedy, a sentence each."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Layout:
    """How a file of cells is laid out: what separates them, and which rows are no data.

    ``names`` are the columns that are read, ``places`` where each stands in a row of the file.
    ``separator_line`` says whether the first line names the separator (``sep=;``), ``blank`` how
    many empty rows come before the header, and ``extra`` how many further header rows follow it.
    Rows are counted as spreadsheets do: the header is row 1 unless empty rows precede it.
    """

    delimiter: str
    names: tuple[str, ...]
    places: tuple[int, ...]
    separator_line: bool = False
    blank: int = 0
    extra: int = 0
    row_names: bool = False
    width: int = 0  # of the header's row, with empty cells at its end
    short: int = 0  # the cells of each row, where all have equally many and fewer than the header
    sample: tuple[tuple[str, ...], ...] = field(default=(), compare=False)  # some rows

    @property
    def header_row(self) -> int:
        """The number of the header's row."""
        return self.blank + 1

    @property
    def plain(self) -> bool:
        """Whether each row holds just the cells of ``names``, in their order."""
        return not (self.extra or self.row_names or self.blank)

    def notes(self) -> list[str]:
        """What a reader should know of the layout, a sentence each."""
        notes = []
        if self.delimiter != ",":
            notes.append(f"The file is read as separated by {DELIMITERS[self.delimiter]}.")
        if self.extra:
            rows = rows_text(range(self.header_row + 1, self.header_row + self.extra + 1))
            notes.append(f"Further header rows are not read as answers: {rows}.")
        if self.row_names:
            notes.append("The first cell of each row has no column: R's row names are not used.")
        return notes


@dataclass
class ForeignTable:
    """The rows of a file with their numbers, and notes on how it was read."""

    layout: Layout
    numbers: list[int] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def records(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Each row's number and its cells by the names of columns."""
        for number, cells in zip(self.numbers, self.rows, strict=True):
            yield number, dict(zip(self.layout.names, cells, strict=True))


def safe_cell(text: str) -> str:
    """A cell that begins like a formula would be run as one: it gets an apostrophe before it."""
    return f"'{text}" if FORMULA.match(text) and not PLAIN_NUMBER.fullmatch(text) else text


# --- Names and numbers ----------------------------------------------------------------------------


def clean_name(text: str) -> str:
    """A name as it is compared: NFC, no blanks around it, no invisible characters.

    No-break and other blanks become plain ones.
    """
    if text.isascii() and text.isprintable():
        return text.strip()
    seen = "".join(" " if char.isspace() else char for char in _INVISIBLE.sub("", text))
    return unicodedata.normalize("NFC", seen).strip(" " + _JOINERS)


def comparison_key(name: str) -> str:
    """What names share that differ only in case, width, blanks, leading zeros or a final ``.0``."""
    text = unicodedata.normalize("NFKC", clean_name(name)).casefold()
    text = _INNER_BLANKS.sub("", re.sub(f"[{_JOINERS}]", "", text))
    return _LEADING_ZEROS.sub("", _POINT_ZERO.sub("", text))


def strict_number(text: str) -> float | None:
    """The number that a cell holds, None where it is no plain decimal number.

    Python's own float() takes ``1_0``, digits of other scripts, ``nan`` and ``infinity``.
    """
    plain = clean_name(text).replace("\u2212", "-")  # a minus sign
    return float(plain) if _NUMBER.fullmatch(plain) else None


def rows_text(rows: Sequence[int]) -> str:
    """Numbers of rows (at least one) in words: row 2; rows 2, 17, 18 and 690 more."""
    return f"row {rows[0]}" if len(rows) == 1 else f"rows {some(map(str, rows))}"


def some(names: Iterable[str]) -> str:
    """The first three names, and how many more there are."""
    names = list(names)
    more = len(names) - MOST_NAMED
    if more > 0:
        return f"{', '.join(names[:MOST_NAMED])} and {more:,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def decimal_points(values: Sequence[str]) -> tuple[list[str], str]:
    """A column's cells with decimal points in the place of commas, and one that had a comma.

    Raises TableError where a comma may stand between thousands.
    """
    plain = [value.strip() for value in values]
    commas = [value for value in plain if _COMMA.fullmatch(value)]
    if not commas:
        return list(values), ""
    doubtful = [value for value in commas if _GROUPED.fullmatch(value)]
    if doubtful or any("." in value for value in plain):
        raise TableError(
            f"{(doubtful or commas)[0]!r} may be a decimal comma or one between thousands; write "
            "decimal points, and nothing between thousands"
        )
    known = set(commas)
    return [v.replace(",", ".") if p in known else v for v, p in zip(values, plain, strict=True)], (
        commas[0]
    )


def located(file: object, problem: str) -> str:
    """A problem of a `TableError` behind the name of its file: “a.csv, row 3: …”."""
    placed = problem.startswith(("row ", "rows ", "line ", "lines "))
    return f"{file}{',' if placed else ':'} {problem}"


# --- Text -----------------------------------------------------------------------------------------


def raw_bytes(path: Path) -> bytes:
    """All bytes of a file, decompressed where gzip packed it; TableError where it has none."""
    data = _first_bytes(path, TABLE_BYTES + 1)
    if len(data) > TABLE_BYTES:
        raise TableError(f"more than {TABLE_BYTES // 1024**2} MB, unpacked; split the table")
    return data


def _first_bytes(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            with gzip.open(file) if packed else nullcontext(file) as content:
                return content.read(most)
    except FileNotFoundError:
        raise TableError("there is no such file; check the path") from None
    except (EOFError, OSError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise TableError(f"not a readable CSV file ({why}); {SAVE}") from None


def decoded(data: bytes, encoding: str = "") -> tuple[str, str]:
    """The text of a file, and a note where its encoding was guessed.

    UTF-8 and UTF-16 are recognised; what is neither is read as Excel writes it in Western Europe
    and America (Windows-1252) or China (GB 18030). ``encoding`` names another one. Raises
    TableError.
    """
    for starts, what in _OTHER_FILES:
        if data.startswith(starts):
            raise TableError(f"{what} {SAVE}")
    if data[:512].lstrip().lower().startswith((b"<!doctype", b"<html", b"<table", b"<?xml")):
        raise TableError(
            f"is a web page or XML, whatever its name says; export the table, and {SAVE}"
        )
    known = encoding or _unicode_of(data)
    try:
        text, note = data.decode(known), ""
    except LookupError:
        raise TableError(
            f"there is no encoding {encoding!r}; try utf-8, cp1252 or gb18030"
        ) from None
    except UnicodeDecodeError as error:
        if known != "utf-8-sig":
            raise TableError(f"not {known} ({error.reason}); {SAVE}") from None
        text, note = _guessed(data)
    if "\0" in text:
        raise TableError(f"{NO_TEXT}; {SAVE}")
    return text.removeprefix("\ufeff"), note


def _guessed(data: bytes) -> tuple[str, str]:
    """The text of a file that is no Unicode, and a note that names the encoding it is taken for.

    In Chinese text two bytes make a character; in Western text bytes beyond ASCII stand alone.
    """
    runs = re.findall(rb"[\x80-\xff]+", data)
    likely = ("gb18030", "cp1252") if all(len(run) % 2 == 0 for run in runs) else ("cp1252",)
    for encoding in likely:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        word = next((word for word in re.findall(r"\w+", text) if not word.isascii()), "")
        named = {"gb18030": "GB 18030", "cp1252": "Windows-1252"}[encoding]
        return text, (
            f"The file is not UTF-8 and is read as {named} (for example “{word}”). If that looks "
            f"wrong, {SAVE}, or name its encoding: --encoding."
        )
    raise TableError(f"not UTF-8; {SAVE}, or name its encoding: --encoding")


def _unicode_of(data: bytes) -> str:
    """The Unicode encoding that a file's first bytes speak for."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    even, odd = data[:400:2], data[1:400:2]
    if len(odd) > 3 and odd.count(0) > 0.8 * len(odd):
        return "utf-16-le"
    return "utf-16-be" if len(odd) > 3 and even.count(0) > 0.8 * len(even) else "utf-8-sig"


# --- Layout ---------------------------------------------------------------------------------------


def layout_of(text: str, *, whole: bool = True) -> Layout:
    """The layout of a file by its first rows; TableError where they name no columns.

    Where ``text`` is not the ``whole`` file, its last row may be cut off and is not looked at.
    """
    if _JSON.match(text):
        raise TableError(
            "JSON, not a table; write it as CSV, one row for each rating: in Python, "
            "pandas.json_normalize(json.load(open(FILE)), …).to_csv(…)"
        )
    delimiter, body, line = separated(text, whole)
    records = _sample(body, delimiter, whole)
    blank = next((n for n, cells in enumerate(records) if any(map(str.strip, cells))), None)
    if blank is None:
        raise TableError("empty; the first row must name the columns")
    header, rows = records[blank], records[blank + 1 :]
    below = next(
        (n for n, cells in enumerate(rows, 1) if sum(map(bool, map(str.strip, cells))) > 1), 0
    )
    if below and len(header) > 1 and sum(map(bool, map(str.strip, header))) == 1:
        raise TableError(
            f"row {blank + 1} holds a title, not the names of columns; delete the rows above row "
            f"{blank + 1 + below}"
        )
    _check_separators(header, rows, blank + 1, delimiter)
    if len(header) > FOREIGN_COLUMNS:
        raise TableError(
            f"row {blank + 1}: {len(header):,} columns, and {FOREIGN_COLUMNS:,} are allowed; keep "
            "those that hold ratings or scores"
        )
    names, width = [clean_name(name) for name in header], len(header)
    extra = next((n for n, cells in enumerate(rows[:3], 1) if _names_questions(cells)), 0)
    rows = [
        without_empty_end(cells, len(names)) for cells in rows[extra:] if any(map(str.strip, cells))
    ]
    row_names = _has_row_names(names, rows)
    while (
        names and not names[-1] and all(not _cell(row, len(names) - 1 + row_names) for row in rows)
    ):
        names.pop()
    twice = sorted(name for name, count in Counter(filter(None, names)).items() if count > 1)
    if twice:
        raise TableError(f"row {blank + 1}: {some(twice)} more than once; name each column once")
    unnamed = names.count("")
    named = [name or ("" if unnamed == 1 else f"column {n}") for n, name in enumerate(names, 1)]
    places = tuple(range(row_names, row_names + len(named)))
    counts = {len(row) for row in rows}
    short = counts.pop() if len(counts) == 1 and max(counts) < len(names) else 0
    sample = tuple(tuple(_cell(row, place) for place in places) for row in rows[:SAMPLE_SHOWN])
    return Layout(
        delimiter, tuple(named), places, line, blank, extra, row_names, width, short, sample
    )


def _check_separators(
    header: Sequence[str], rows: Sequence[Sequence[str]], row: int, delimiter: str
) -> None:
    """Raise TableError where the header (of that row) is quoted as one cell, or parted otherwise.

    So write programs that take a whole line for a cell, and files that two programs wrote.
    """
    filled = [cells for cells in rows if any(map(str.strip, cells))]
    for other in DELIMITERS:
        if not filled or other == " ":
            continue
        parts = len(header[0].split(other)) if len(header) == 1 else 0
        below = {len(cells[0].split(other)) if len(cells) == 1 else len(cells) for cells in filled}
        if (parts > 2 and below == {parts}) or (parts == 2 and {*map(len, filled)} == {2}):
            raise TableError(
                f"row {row} is quoted as one cell; remove the quotes around whole rows"
            )
        if other == delimiter or len(header) < 2:
            continue
        if all(len(cells) == 1 and cells[0].count(other) == len(header) - 1 for cells in filled):
            raise TableError(
                f"the names in row {row} are separated by {DELIMITERS[delimiter]}, the cells below "
                f"by {DELIMITERS[other]}; separate all rows by {DELIMITERS[other]}"
            )


def separated(text: str, whole: bool = True) -> tuple[str, str, bool]:
    """What separates a text's cells, the text below a line such as ``sep=;``, and if there is one.

    Raises TableError where that line names no separator.
    """
    line = _SEPARATOR_LINE.match(text)
    body = text[line.end() :] if line else text
    if line and line[1] not in DELIMITERS:
        raise TableError(f"row 1: sep={line[1]} is no separator that is known; {SAVE}")
    return line[1] if line else _delimiter_of(body, whole), body, bool(line)


def layout_of_file(path: Path, encoding: str = "") -> Layout:
    """The layout of a file, of which only the beginning is read; TableError where it has none."""
    head = _first_bytes(path, SAMPLE_BYTES)
    whole = len(head) < SAMPLE_BYTES
    if not whole:
        head = head[: head.rfind(b"\n")] if b"\n" in head else head
        head = head[: len(head) - len(head) % 4] if b"\0" in head else head
    return layout_of(decoded(head, encoding)[0], whole=whole)


def _sample(body: str, delimiter: str, whole: bool) -> list[list[str]]:
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=delimiter)
    try:
        records = list(islice(reader, SAMPLE_ROWS + 1))
    except csv.Error as error:
        raise TableError(
            f"row {reader.line_num}: not a readable CSV file ({error}); {SAVE}"
        ) from None
    return records if whole or len(records) <= 1 or len(records) > SAMPLE_ROWS else records[:-1]


def _delimiter_of(body: str, whole: bool) -> str:
    """What separates the cells: what gives most rows as many cells as the header, and many."""
    best, most = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        if delimiter == " " and most[1] > 1:
            break  # blanks stand in names: they separate only where nothing else does
        try:
            records = [r for r in _sample(body, delimiter, whole) if any(map(str.strip, r))]
        except TableError:
            continue  # whoever reads the rows says it with the row
        width = len(without_empty_end(records[0], 0)) if records else 0
        rows = [len(without_empty_end(cells, width)) for cells in records[1:]]
        if width < 2:
            continue
        alike = sum(width <= count <= width + 1 for count in rows) / len(rows) if rows else 1.0
        if delimiter == " " and alike < 1:
            continue
        if (round(alike, 1), width) > most:
            best, most = delimiter, (round(alike, 1), width)
    return best


def _names_questions(cells: Sequence[str]) -> bool:
    """Whether a row is the last one of a header: of Qualtrics, or of SurveyMonkey."""
    if any(cell.replace(" ", "").startswith(IMPORT_ID) for cell in cells):
        return True
    return {cell.strip().casefold() for cell in cells} - {""} in (
        {"response"},
        {"response", "open-ended response"},
    )


def without_empty_end(cells: Sequence[str], width: int) -> list[str]:
    """The cells without the empty ones that stand after the first ``width``."""
    end = len(cells)
    while end > width and not cells[end - 1].strip():
        end -= 1
    return list(cells[:end])


def _cell(cells: Sequence[str], place: int) -> str:
    return cells[place].strip() if place < len(cells) else ""


def _has_row_names(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether each row has a cell more than the header, and begins with a number of its own.

    So R's write.table writes a data frame. Decimal commas give a cell more too: there first cells
    are raters, and repeat.
    """
    first = [row[0] for row in rows if row]
    longer = bool(rows) and all(len(row) == len(names) + 1 for row in rows)
    return longer and all(map(str.isdecimal, first)) and len(set(first)) == len(first)


# --- Rows -----------------------------------------------------------------------------------------


def read_table(
    source: Path | bytes | str,
    *,
    encoding: str = "",
    short_rows: bool = False,
    layout: Layout | None = None,
    most_rows: int | None = None,
) -> ForeignTable:
    """The table of a file (or of its bytes or text): CSV in any of the layouts of `Layout`.

    Rows of empty cells and repetitions of the header are left out, with a note. Rows with too many
    cells are refused; those with too few too, unless ``short_rows`` fills them up. Reading ends at
    the first row beyond ``most_rows``. Raises TableError with one sentence for each cause.
    """
    text, note = (source, "") if isinstance(source, str) else decoded(
        raw_bytes(source) if isinstance(source, Path) else source, encoding
    )  # fmt: skip
    layout = layout or layout_of(text.removeprefix("\ufeff"))
    table = ForeignTable(layout, notes=[*([note] if note else []), *layout.notes()])
    _fill(table, text.removeprefix("\ufeff"), short_rows, most_rows)
    return table


def _fill(table: ForeignTable, text: str, short_rows: bool, most_rows: int | None) -> None:
    """Puts the rows of a text into its table; TableError where some do not fit the header."""
    layout = table.layout
    body = _SEPARATOR_LINE.sub("", text, count=1) if layout.separator_line else text
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=layout.delimiter, strict=True)
    wanted = len(layout.names) + layout.row_names
    first, header = layout.header_row + layout.extra + 1, list(layout.names)
    empty: list[int] = []
    repeated: list[int] = []
    mixed: list[int] = []
    wrong: dict[int, list[int]] = {}  # by the number of cells
    ends: list[str] = []
    number = 0
    limit = None if most_rows is None else first + most_rows
    many = f"row {limit}: more than {most_rows or 0:,} rows below the header; split the table"
    if limit is not None and '"' not in body and body.count("\n") >= limit:
        raise TableError(many)  # without quotes, every line is a row: none needs to be read
    try:
        for number, cells in enumerate(reader, start=1):
            if number < first:
                continue
            if number == limit:
                raise TableError(many)
            if not any(map(str.strip, cells)):
                empty += [number] * bool(cells)
                continue
            cells = without_empty_end(cells, wanted)
            if len(cells) == 1 < wanted and cells[0].strip().upper() == END_OF_FILE:
                ends.append(f"Row {number} says {END_OF_FILE} and is not read.")
                continue
            if len(cells) < wanted and short_rows:
                cells += [""] * (wanted - len(cells))
            if len(cells) != wanted:
                wrong.setdefault(len(cells), []).append(number)
                continue
            row = [cells[place] for place in layout.places]
            named = [clean_name(cell) for cell in row] if row[0] in header else []
            if named == header:
                repeated.append(number)
            elif len(header) > 1 and sorted(named) == sorted(header):
                mixed.append(number)
            else:
                table.numbers.append(number)
                table.rows.append(row)
    except csv.Error as error:
        raise TableError(
            f"row {number + 1}: a quote is not closed, or stands within a cell ({error}); double "
            "quotes inside a cell are written twice"
        ) from None
    if wrong or mixed:
        raise TableError(*_misfits(layout, wrong, mixed, len(table.rows)))
    table.notes += [*omitted_row_notes(empty, repeated), *ends]


def omitted_row_notes(empty: Sequence[int], repeated: Sequence[int]) -> list[str]:
    """Notes on rows of empty cells, and on rows that repeat the header."""
    notes = []
    if empty:
        were = "has only empty cells and is" if len(empty) == 1 else "have only empty cells and are"
        notes.append(f"{rows_text(empty).capitalize()} {were} not read.")
    if repeated:
        say = "repeats" if len(repeated) == 1 else "repeat"
        notes.append(
            f"{rows_text(repeated).capitalize()} {say} the header, as in joined files; raters and "
            "items of the same name are taken for the same ones."
        )
    return notes


def _misfits(
    layout: Layout, wrong: dict[int, list[int]], mixed: list[int], fitting: int
) -> Iterator[str]:
    """What is wrong with rows of too many or too few cells, a sentence for each cause."""
    wanted, mark = len(layout.names) + layout.row_names, DELIMITERS[layout.delimiter]
    one = mark.removesuffix("s")
    for count, rows in sorted(wrong.items()):
        cells = f"{rows_text(rows)}: {count} cells where the header has {wanted}"
        if count > wanted:
            decimal = (
                "; decimal commas need semicolons or tabs between cells"
                if layout.delimiter == "," and count == wanted + 1
                else ""
            )
            yield f"{cells}; quote cells that hold a {one}{decimal}"
        elif not fitting and len(wrong) == 1:
            yield f"{cells}; a name in the header holds a {one}: put it in quotes"
        else:
            yield f"{cells}; write the {mark} of empty cells too, and quote cells that hold a {one}"
    if mixed:
        yield (
            f"{rows_text(mixed)}: the names of the columns in another order: files with different "
            "columns were joined; give each its own file"
        )


# --- JSON -----------------------------------------------------------------------------------------


def holds_json(text: str) -> bool:
    """Whether a text is JSON, or lines of it, rather than rows of cells."""
    return text.lstrip()[:1] in ("{", "[")


def json_records(text: str) -> Iterator[tuple[int, Any]]:
    """Each value of lines of JSON, or of one JSON array, with the number of its line or entry.

    Lines may also be Python's dictionaries, as older versions of VERSA write them. Raises
    TableError, naming the line.
    """
    if text.lstrip().startswith("["):
        try:
            yield from enumerate(read_json(text, most=TABLE_BYTES, finite=False), start=1)
        except JsonError as error:
            raise TableError(f"no JSON that can be used: {error}") from None
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = read_json(line, most=TABLE_BYTES, finite=False)
        except JsonError as error:
            value = _python_record(line, number, error)
        if "\\u" in line and not _storable(value):
            raise TableError(f"line {number}: {NO_TEXT}; write the file again")
        yield number, value


def _storable(value: Any) -> bool:
    """Whether escapes such as \\u0000 or a lone \\ud800 are absent: databases refuse them."""
    text = json.dumps(value, ensure_ascii=False).replace("\\\\", "")  # a backslash as such
    return "\\u0000" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def _python_record(line: str, number: int, error: Exception) -> Any:
    """A dictionary as Python prints it."""
    try:
        if line.lstrip().startswith("{'") and len(line) <= PYTHON_LINE_CHARACTERS:
            return ast.literal_eval(_NOT_FINITE.sub("None", line.strip()))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        pass
    raise TableError(f"line {number}: no JSON that can be used: {error}")
