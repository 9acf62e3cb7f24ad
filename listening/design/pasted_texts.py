"""The words of sentences, as they are pasted or stand in a file beside the sounds.

A table is read by the separator and the column that name most sentences: LJSpeech's
``name|text|normalized``, tabs, semicolons, commas with quotes, and lines that quotes span. What may
be a table and names no sentence is asked about: a whole line is never taken for the words.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from listening.common.spreadsheets import clean_name

SEPARATORS = ("|", "\t", ";", ",")
WORDS_FOR = {"|": "|", "\t": "a tab", ";": ";", ",": "a comma"}
MOST_COLUMNS = 12
UNREADABLE = "\ufffd"  # what a browser puts for bytes of another encoding
ENDING = re.compile(r"\.\w{2,4}$")
IDS = re.compile(r"[\w./-]{3,}")
ID = re.compile(r"[\w.-]*\d[\w.-]*|[\w-]+[_/.][\w./-]+")
# Columns that hold the words, in the order in which they are preferred.
WORD_COLUMNS = (
    *("normalized", "normalised", "normalized_text", "normalised_text"),
    *("text", "sentence", "transcript", "transcription", "words", "caption"),
)


class UnclearTexts(ValueError):
    """Lines that can be read in several ways: what was seen, and how to write them."""


@dataclass(frozen=True)
class _Table:
    """Lines cut by a separator, and the column that names most sentences."""

    separator: str
    lines: list[tuple[str, list[str]]]  # as written, and its cells
    column: int
    named: int


def texts_in(pasted: str, sentences: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Sentence -> text, and the lines that name no sentence.

    Lines without names are taken in order where there are as many as sentences. UnclearTexts where
    it must be asked what the lines mean.
    """
    if UNREADABLE in pasted:
        raise UnclearTexts(
            f"Some letters cannot be read, and stand as {UNREADABLE}. Save the file as UTF-8, or "
            "copy its lines from the program that shows them rightly."
        )
    folded = {_folded(name): name for name in sentences}
    tables = [_table(pasted, separator, folded) for separator in SEPARATORS]
    table = max(tables, key=lambda each: each.named)  # the first of equals
    if table.named:
        texts, unknown = _texts_of(table, folded)
        if unknown and any(_table("\n".join(unknown), each, folded).named for each in SEPARATORS):
            more, unknown = texts_in("\n".join(unknown), sentences)  # cut by another separator
            texts = {**more, **texts}
        return texts, unknown
    lines = [line.strip() for line in pasted.splitlines() if line.strip()]
    if (spaced := _behind_names(lines, folded)) is not None:
        return spaced, []
    if len(lines) != len(sentences):
        return {}, lines
    if all(_name_in(line, folded) for line in lines):
        raise UnclearTexts(
            f"The lines name sentences, like “{lines[0][:60]}”, in a way that cannot be read. "
            "Write the name, a tab and the words in each line, or paste the words alone."
        )
    if (like := _like_a_table(tables)) is not None:
        first = like.lines[0][1][0]
        raise UnclearTexts(
            f"The lines look like a table with {WORDS_FOR[like.separator]} between its columns, "
            f"but “{first[:60]}” is not the name of a sentence. Names here are like "
            f"“{sentences[0]}”. Name the sentences so, or paste the words alone."
        )
    return dict(zip(sentences, lines, strict=True)), []


def _behind_names(lines: Sequence[str], folded: dict[str, str]) -> dict[str, str] | None:
    """The words where each line begins with a sentence of its own, as in Kaldi's ``text``."""
    texts: dict[str, str] = {}
    for line in lines:
        first, _, words = line.partition(" ")
        first = first.rstrip(":.)")
        name = folded.get(_folded(first)) if ID.fullmatch(first) else None  # no usual word
        if name is None or name in texts or not words.strip():
            return None
        texts[name] = " ".join(words.split())
    return texts or None


def _name_in(line: str, folded: dict[str, str]) -> bool:
    """Whether a name that is no usual word stands somewhere in a line."""
    return any(ID.fullmatch(each) and _folded(each) in folded for each in IDS.findall(line))


def _folded(name: str) -> str:
    plain = clean_name(name.strip().strip('"').replace("\\", "/").rpartition("/")[2])
    return ENDING.sub("", plain).casefold()


def _table(pasted: str, separator: str, folded: dict[str, str]) -> _Table:
    lines = _cut(pasted, separator)
    widest = min(max((len(cells) for _, cells in lines), default=0), MOST_COLUMNS)
    named = [
        sum(len(cells) > max(k, 1) and _folded(cells[k]) in folded for _, cells in lines)
        for k in range(widest)
    ]
    most = max(named, default=0)
    return _Table(separator, lines, named.index(most) if most else 0, most)


def _cut(pasted: str, separator: str) -> list[tuple[str, list[str]]]:
    """LJSpeech and its like quote nothing; other tables may, over several lines."""
    if separator != "|":
        try:
            rows = list(csv.reader(StringIO(pasted, newline=""), delimiter=separator, strict=True))
            return [(separator.join(row), row) for row in rows if any(c.strip() for c in row)]
        except csv.Error:  # quotes that are part of the words
            pass
    lines = [line.strip() for line in pasted.splitlines() if line.strip()]
    return [(line, _cells(line, separator)) for line in lines]


def _cells(line: str, separator: str) -> list[str]:
    try:
        if separator != "|":
            return next(csv.reader([line], delimiter=separator, strict=True))
    except csv.Error:
        pass
    return [_unquoted(cell) for cell in line.split(separator)]


def _unquoted(cell: str) -> str:
    inner = cell.strip()[1:-1].replace('""', "")
    quoted = re.fullmatch(r'\s*".*"\s*', cell) and '"' not in inner
    return cell.strip()[1:-1].replace('""', '"') if quoted else cell


def _texts_of(table: _Table, folded: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    texts: dict[str, str] = {}
    unknown: list[str] = []
    lines = table.lines
    words = _called_words(table, folded)
    if words is not None:
        lines = lines[1:]
    else:
        words = _only_other_column(table)
    for line, cells in lines:
        known = folded.get(_folded(cells[table.column])) if len(cells) > table.column else None
        text = " ".join(_words(table, cells, words).split()) if known else ""
        if known and text:
            texts[known] = text
        else:
            unknown.append(line)
    return texts, unknown


def _words(table: _Table, cells: list[str], column: int | None) -> str:
    if column is not None:
        return cells[column] if column < len(cells) else ""
    rest = cells[table.column + 1 :]
    if table.separator == "|":  # the last is normalized, where there is one
        return next((cell for cell in reversed(rest) if cell.strip()), "")
    return table.separator.join(rest)


def _called_words(table: _Table, folded: dict[str, str]) -> int | None:
    """The column of the words by the names in the first line; None where it has none."""
    head = [cell.strip().casefold() for cell in table.lines[0][1]]
    if any(_folded(cell) in folded for cell in head):
        return None
    return next((head.index(name) for name in WORD_COLUMNS if name in head), None)


def _only_other_column(table: _Table) -> int | None:
    """None where all that follows the name are the words, with separators among them."""
    widths = {len(cells) for _, cells in table.lines}
    others = [k for k in range(max(widths)) if k != table.column]
    if len(others) == 1:
        return others[0]
    among = table.separator == "|" or len(widths) > 1 or _prose(table)
    if table.column == 0 and among:
        return None
    raise UnclearTexts(
        f"The lines have {max(widths)} columns, and it is not plain which one holds the words. "
        "Keep two columns, the name and the words, or call the column “text” in a first line."
    )


def _prose(table: _Table) -> bool:
    """Whether what is cut are parts of sentences: behind a comma there is a space."""
    behind = [cell for _, cells in table.lines for cell in cells[2:] if cell.strip()]
    return table.separator in ",;" and all(cell[0].isspace() for cell in behind)


def _like_a_table(tables: Sequence[_Table]) -> _Table | None:
    """Lines that all have the same columns, of which the first are ids rather than words."""
    for table in tables:
        widths = {len(cells) for _, cells in table.lines}
        cut = len(widths) == 1 and widths != {1} and len(table.lines) > 1
        ids = all(ID.fullmatch(cells[0].strip()) for _, cells in table.lines)
        if cut and (table.separator in "|\t" or ids):
            return table
    return None
