"""stimuli.csv read: rows with their numbers, and the items and stimuli that they make."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import Any

from listening.common.input_limits import CELL_CHARACTERS, TABLE_BYTES, TABLE_COLUMNS, TABLE_ROWS
from listening.common.spreadsheets import TableError, decoded, separated, without_empty_end
from listening.design.studyfile import values
from listening.design.studyfile.entries import ConditionEntry, ItemEntry, StimulusEntry, StudyFile
from listening.design.studyfile.problems import Notebook, did_you_mean, quoted
from listening.design.studyfile.values import Wrong
from listening.methods.paired import BETWEEN

Cell = Callable[[str], str]
ITEM_COLUMNS: dict[str, Cell] = {
    "text": values.text,
    "transcript": values.text,
    "dimension": partial(values.text, longest=80),
    "paragraph": partial(values.text, longest=80),
    "position": partial(values.text, longest=10),
    "speaker": partial(values.text, longest=80),
    "language": partial(values.language, longest=16),
    "split": partial(values.text, longest=40),
}
COLUMNS: dict[str, Cell] = {
    "stimulus": partial(values.identifier, longest=120),
    "condition": partial(values.identifier, longest=80),
    "item": partial(values.identifier, longest=80),
    "file": partial(values.text, longest=255),
    **ITEM_COLUMNS,
    "trap": partial(values.text, longest=40),
    "run": partial(values.text, longest=3),
}
CAPTION = "caption"  # of a clip, kept among its attributes: raters may see it, metrics read it
OF_REPORTS = ("speakers", "sentences", "challenge")  # of a clip, read by reports (LFS-Bench)
REQUIRED = ("stimulus", "condition", "item", "file")
ATTRIBUTE = partial(values.text, longest=2000)
MISSPELT = 0.8  # a name so like a declared one is a mistake until it is declared, too


@dataclass
class Row:
    """One row, checked cell by cell; `raw` holds ids as they were typed."""

    number: int
    cells: dict[str, str]
    attributes: dict[str, str]
    raw: dict[str, str]


def read_rows(data: bytes, notes: Notebook) -> list[Row]:
    """Every row whose required cells are usable; all that is wrong is noted."""
    if len(data) > TABLE_BYTES:
        notes.csv(None, "", f"The file has {len(data) // 1024**2} MB; {TABLE_BYTES // 1024**2} "
                  "are allowed.", "Split the study.")  # fmt: skip
        return []
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):  # .xlsx and .ods, .xls
        what = "This is a file of a spreadsheet program, whatever its name says."
        notes.csv(None, "", what, "Open it there and save it as “CSV UTF-8”.")
        return []
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            data = decoded(data)[0].encode()
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        delimiter, body, _ = separated(text)
    except TableError as error:
        notes.csv(None, "", f"The file cannot be read: {error}.", "Save it as “CSV UTF-8”.")
        return []
    lines = _numbered(body, delimiter, notes)
    number, header = next(((n, cells) for n, cells in lines if any(cells)), (1, []))
    if not header:
        remedy = f"Its first row must name the columns: {', '.join(COLUMNS)}."
        notes.csv(None, "", "The file is empty.", remedy)
        return []
    columns = _columns(without_empty_end(header, 0), number, notes)
    if columns is None:
        return []
    rows = [row for n, cells in lines if any(cells) and (row := _row(n, cells, columns, notes))]
    if not rows and not len(notes):
        notes.csv(None, "", "There is no row below the header.", "Write one row per stimulus.")
    return rows


def _numbered(content: str, delimiter: str, notes: Notebook) -> Iterator[tuple[int, list[str]]]:
    """Records with the number that a spreadsheet shows for them."""
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    number = 0
    while True:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            notes.csv(number, "", f"The quotes do not match, or a cell has more than "
                      f"{CELL_CHARACTERS:,} characters ({error}).",
                      "Nothing below this row was read: correct it, then try again.")  # fmt: skip
            notes.cut_off = True
            return
        if number > TABLE_ROWS + 1:
            notes.csv(number, "", f"There are more than {TABLE_ROWS:,} rows.", "Split the study.")
            return
        yield number, cells


def _columns(header: Sequence[str], number: int, notes: Notebook) -> list[str] | None:
    """The names of the columns, or None when rows cannot be read with this header."""
    names = [values.composed(cell) for cell in header]
    if len(names) > TABLE_COLUMNS:
        notes.csv(number, "", f"There are {len(names)} columns.", f"Keep to {TABLE_COLUMNS}.")
        return None
    for place, name in enumerate(names, start=1):
        _check_column(name, place, names, number, notes)
    for missing in REQUIRED:
        if missing not in names:
            notes.csv(number, missing, "This column is missing.", f"Add a column “{missing}”.")
    return names if set(REQUIRED) <= set(names) and len(set(names)) == len(names) else None


def _check_column(name: str, place: int, names: list[str], number: int, notes: Notebook) -> None:
    if not name:
        notes.csv(number, f"column {place}", "This column has no name.", "Name or delete it.")
    elif names.index(name) + 1 != place:
        notes.csv(number, name, "There are two columns of this name.", "Rename or delete one.")
    elif name not in COLUMNS:
        meant = "" if name in (CAPTION, *OF_REPORTS) else _near(name)
        if meant and meant not in names:
            what = f"The column “{name}” looks like “{meant}”, and would not be used as such."
            notes.csv(number, name, what, f"Rename it to “{meant}”, or to something else.")
        try:
            values.identifier(name, longest=80)
        except Wrong as wrong:
            notes.csv(number, f"column {place}", wrong.what, wrong.remedy)


def _near(name: str) -> str:
    """The column of ours that a misspelt one probably means."""
    folded = name.casefold().replace(" ", "").replace("_", "")
    for column in COLUMNS:
        if folded in (column, f"{column}s", f"{column}id", f"{column}name"):
            return column
    meant = did_you_mean(name, COLUMNS)
    column = meant.removeprefix("Did you mean “").removesuffix("”?")
    if column not in COLUMNS or abs(len(column) - len(name)) > 1:
        return ""
    return column if sorted(column) == sorted(folded) or _one_letter_off(column, folded) else ""


def _one_letter_off(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    if len(short) == len(long):
        return sum(x != y for x, y in zip(short, long, strict=True)) == 1
    return any(long[:k] + long[k + 1 :] == short for k in range(len(long)))


def _row(number: int, cells: list[str], columns: list[str], notes: Notebook) -> Row | None:
    cells = without_empty_end(cells, len(columns))
    if len(cells) != len(columns):
        if len(cells) > len(columns):
            what = f"The row has {len(cells)} cells, the header {len(columns)}."
            remedy = "Put texts that hold a comma in double quotes, or delete the extra cells."
        else:
            what = f"The row has only {len(cells)} cells, the header {len(columns)}."
            remedy = "Write the separators (such as commas) of empty cells too."
        notes.csv(number, "", what, remedy)
        notes.unread.update(cells)
        return None
    row = Row(number, {}, {}, dict(zip(columns, cells, strict=True)))
    usable = True
    for column, cell in row.raw.items():
        read = COLUMNS.get(column, ATTRIBUTE)
        try:
            _check_encoding(cell)
            value = read(cell)
            if column in REQUIRED and not value:
                raise Wrong("The cell is empty.", "Fill it in.")
        except Wrong as wrong:
            notes.csv(number, column, wrong.what, wrong.remedy)
            usable = usable and column not in REQUIRED
            continue
        if column in COLUMNS:
            row.cells[column] = value
        elif value:
            row.attributes[column] = value
    if not usable:
        notes.unread.update(cells)
        return None
    return row


def _check_encoding(cell: str) -> None:
    for place, char in enumerate(cell):
        if "\udc80" <= char <= "\udcff":
            before = cell[:place].encode("utf-8", "surrogateescape")
            raise Wrong(
                f"Byte {len(before) + 1} of the cell ({ord(char) - 0xDC00:#04x}) is not UTF-8.",
                "Save the file as “CSV UTF-8”.",
            )


def stimuli_of(rows: Sequence[Row], notes: Notebook) -> tuple[StimulusEntry, ...]:
    _say_two_spellings(rows, notes)
    first_key: dict[str, int] = {}
    first_cell: dict[tuple[str, str, str, int], int] = {}
    entries = []
    for row in rows:
        entry = StimulusEntry(
            key=row.cells["stimulus"],
            condition=row.cells["condition"],
            item=row.cells["item"],
            file=row.cells["file"],
            trap=row.cells.get("trap", ""),
            attributes=row.attributes,
            run=_run(row, notes),
        )
        if any(char.isspace() for char in entry.key):
            what = f"The id “{entry.key}” holds a space."
            notes.csv(row.number, "stimulus", what, "Use - or _ instead.")
        cell = (entry.condition, entry.item, entry.trap, entry.run)
        if cell in first_cell and first_cell[cell] == first_key.get(entry.key):
            what = f"The row is that of row {first_cell[cell]} once more."
            notes.csv(row.number, "stimulus", what, "Remove one of them.")
        elif entry.key in first_key:
            what = f"The id “{entry.key}” stands already in row {first_key[entry.key]}."
            notes.csv(row.number, "stimulus", what, "Give every stimulus an id of its own.")
        elif cell in first_cell:
            what = f"Row {first_cell[cell]} has the same condition, item and trap."
            remedy = "Remove one, make them two conditions, or number their runs (column run)."
            notes.csv(row.number, "condition", what, remedy)
        first_key.setdefault(entry.key, row.number)
        first_cell.setdefault(cell, row.number)
        entries.append(entry)
    return tuple(entries)


def _run(row: Row, notes: Notebook) -> int:
    """The run of the synthesis that a clip is from; the first where nothing is said."""
    written = row.cells.get("run", "")
    if not written:
        return 1
    if not (written.isascii() and written.isdigit() and int(written)):
        what = f"“{written}” is no number of a run."
        notes.csv(row.number, "run", what, "Write 1, 2, 3 …; raters get run 1.")
        return 1
    return int(written)


def _say_two_spellings(rows: Sequence[Row], notes: Notebook) -> None:
    """Ids that look alike and are composed of different code points: two ids, or one?"""
    for column in ("stimulus", "condition", "item"):
        spellings: dict[str, tuple[str, int]] = {}
        for row in rows:
            clean, typed = row.cells[column], row.raw[column].strip()
            first, number = spellings.setdefault(clean, (typed, row.number))
            if typed != first:
                forms = " and ".join(
                    "composed" if unicodedata.is_normalized("NFC", one) else "decomposed"
                    for one in (first, typed)
                )
                what = (
                    f"“{clean}” differs from that of row {number} only by Unicode normalisation "
                    f"({forms})."
                )
                notes.csv(row.number, column, what, "Copy one spelling to both rows.")


def items_of(rows: Sequence[Row], default_language: str, notes: Notebook) -> tuple[ItemEntry, ...]:
    """Items in order of appearance; rows that leave a field empty take it from the others."""
    known: dict[str, dict[str, tuple[str, int]]] = {}
    for row in rows:
        fields = known.setdefault(row.cells["item"], {})
        for column in ITEM_COLUMNS:
            value = row.cells.get(column, "")
            if not value:
                continue
            first, number = fields.setdefault(column, (value, row.number))
            if value != first:
                mine, theirs = _apart(value, first)
                what = f"“{mine}” contradicts “{theirs}” in row {number} (same item)."
                notes.csv(row.number, column, what, "Make them equal, or make them two items.")
    return tuple(_item(key, fields, default_language, notes) for key, fields in known.items())


def _item(
    key: str, fields: dict[str, tuple[str, int]], default_language: str, notes: Notebook
) -> ItemEntry:
    words: dict[str, Any] = {column: value for column, (value, _) in fields.items()}
    position, row = fields.get("position", ("", 0))
    words.pop("position", None)
    words.setdefault("language", default_language)
    if position and not (position.isascii() and position.isdigit() and int(position) < 2**31):
        what = f"“{position}” is no whole number from 0."
        notes.csv(row, "position", what, "Write the place in the paragraph: 1, 2, 3 …")
        position = ""
    return ItemEntry(key, position=int(position) if position else None, **words)


def _apart(one: str, other: str) -> tuple[str, str]:
    """Both shortened, from shortly before the place where they begin to differ."""
    pairs = enumerate(zip(one, other, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = max(0, same - 20) if max(len(one), len(other)) > 40 else 0
    before = "…" if start else ""
    return before + _short(one[start:]), before + _short(other[start:])


def _short(value: str) -> str:
    return value if len(value) <= 40 else value[:40] + "…"


def with_undeclared(study: StudyFile) -> tuple[StudyFile, tuple[str, ...]]:
    """The study with a condition for each name of the table that study.toml lacks, and in words
    which these are. Whose rows are all traps is for traps only."""
    declared = {condition.key for condition in study.conditions}
    traps: dict[str, set[bool]] = defaultdict(set)
    for stimulus in study.stimuli:
        if stimulus.condition not in declared:
            traps[stimulus.condition].add(bool(stimulus.trap))
    undeclared = [
        ConditionEntry(key, role="trap" if kinds == {True} else "test")
        for key, kinds in traps.items()
        if BETWEEN not in key and not get_close_matches(key, declared, n=1, cutoff=MISSPELT)
    ]
    if not undeclared:
        return study, ()
    own = "Only stimuli.csv names the condition"
    remarks = []
    for role, what in (("test", "compared under"), ("trap", "for traps only, by its rows; called")):
        if keys := [c.key for c in undeclared if c.role == role]:
            one = len(keys) == 1
            name = "this name" if one else "these names"
            remarks.append(f"{own}{'' if one else 's'} {quoted(keys)}: {what} {name}.")
    if not any(c.role == "reference" for c in study.conditions):
        remarks.append("No condition is declared to be a reference or an anchor.")
    return replace(study, conditions=(*study.conditions, *undeclared)), tuple(remarks)
