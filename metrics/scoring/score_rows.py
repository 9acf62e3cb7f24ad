"""Metric scores of a file, whatever wrote it: long, wide, JSON; NISQA, DNSMOS, VERSA, ESPnet."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from listening.common.parquet_tables import is_parquet, parquet_table
from listening.common.spreadsheets import (
    TableError,
    decimal_points,
    decoded,
    holds_json,
    json_records,
    raw_bytes,
    read_table,
    rows_text,
    some,
    strict_number,
)

CLIPS = ("stimulus", "sha256", "file", "key", "path")  # what names a clip; VERSA writes key
DEGRADED = ("deg", "filepath_deg", "filename_deg")  # of NISQA, whose file is no name of a file
LIKE_CLIPS = (  # what other tools call it, in this order; case, blanks and hyphens do not count
    *DEGRADED,
    *("filename", "file_name", "filepath", "file_path", "file", "path", "stimulus"),
    *("audio_file", "audio_path", "audio", "wav_file", "wav_path", "wav"),
    *("utterance_id", "utterance", "utt_id", "utt", "clip_id", "clip"),
)
ABOUT = ("metric", "value", "version", "higher_is_better", "unit", "reason", "title", "low", "high")
LEFT_OUT = frozenset(  # of wide rows: what they say of a clip is no score
    {
        *("condition", "item", "role", "text", "language", "speaker", "parameters", "group"),
        *("architecture",),
        *("dimension", "challenge", "speakers", "sentences", "run", "failed", "warnings", "", "db"),
    }
)
LIKE_OURS = ("higher_is_better", "low", "high", "reason")  # looked for under similar names
NO_VALUE = "no value in the imported file"
NOT_FINITE = "not finite in the imported file"
MOST_VALUE = 1e100  # beyond it, means and deviations overflow
TRUE, FALSE = ("1", "true", "yes", "higher"), ("0", "false", "no", "lower")
ESPNET = re.compile(r"utt2([A-Za-z0-9_.:+-]+?)(\.txt)?")  # utt2pmos: the clip, a blank, the score
_EMPTY = ("", "nan", "na", "none", "null")
_LIKE_A_NUMBER = re.compile(r"[-+]?[.\d].*|[-+]?(inf|infinity)", re.IGNORECASE)
_INDEX = re.compile(r"(unnamed: 0|index|column \d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Tool:
    """The column by which the table of a tool is known, which are no scores, and which rise."""

    name: str
    needs: str
    no_scores: frozenset[str]
    rises: frozenset[str]


TOOLS = (
    Tool(
        "NISQA",
        "mos_pred",
        frozenset({"model", "con", *DEGRADED}),
        frozenset({"mos_pred", "noi_pred", "dis_pred", "col_pred", "loud_pred"}),
    ),
    Tool(
        "DNSMOS",
        "P808_MOS",
        frozenset({"len_in_sec", "sr", "num_hops"}),
        frozenset({"OVRL_raw", "SIG_raw", "BAK_raw", "OVRL", "SIG", "BAK", "P808_MOS"}),
    ),
)


@dataclass(frozen=True)
class ScoreRow:
    """One score of a file: the names of its clip, and all that the row says of it."""

    number: int
    clip: Mapping[str, str]  # by columns of `CLIPS`
    metric: str
    value: float | None
    version: str = ""
    reason: str = ""
    title: str = ""
    unit: str = ""
    higher_is_better: bool | None = None
    low: float | None = None
    high: float | None = None
    parameters: str = ""  # JSON, or nothing
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)  # the whole row


@dataclass
class Problems:
    """What is wrong with a file: each cause once, with its rows and the values that differ."""

    place: str
    unit: str = "row"
    rows: dict[str, dict[int, None]] = field(default_factory=dict)
    values: dict[str, dict[str, None]] = field(default_factory=dict)

    def add(self, number: int, cause: str, value: str = "") -> None:
        """One more row with this cause; ``{}`` in it stands for a value that may differ."""
        self.rows.setdefault(cause, {})[number] = None
        self.values.setdefault(cause, {})[value] = None

    def lines(self) -> list[str]:
        """A sentence for each cause, in the order in which they were met."""
        lines = []
        for cause, rows in self.rows.items():
            first, *others = self.values[cause]
            likewise = f" (likewise {some(others)})" if others else ""
            where = rows_text(list(rows)).replace("row", self.unit, 1)
            comma = ", " if cause.startswith("column ") else ": "
            lines.append(f"{self.place}, {where}{comma}{cause.replace('{}', first)}{likewise}")
        return lines


@dataclass
class ScoreTable:
    """The scores of a file, notes on how it was read, and what is wrong with rows."""

    problems: Problems
    rows: list[ScoreRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_score_rows(path: Path) -> ScoreTable:
    """All scores of a CSV, JSON or Parquet file; TableError where it cannot be read at all.

    Long rows have the columns metric and value, wide ones a column for each metric. Rows with
    mistakes are left out and stand in ``problems``.
    """
    parquet = is_parquet(path)
    text, note = ("", "") if parquet else decoded(raw_bytes(path))
    score_table = ScoreTable(Problems(str(path)), notes=[note] * bool(note))
    if not parquet and (holds_json(text) or path.suffix.lower() in (".jsonl", ".json")):
        score_table.problems.unit = "line"
        records = list(_json_rows(text, score_table.problems))
    elif espnet := ESPNET.fullmatch(path.name):
        records = list(_espnet_rows(text, espnet[1], score_table.problems))
    else:
        table = parquet_table(path) if parquet else read_table(text, short_rows=True)
        score_table.notes += table.notes
        records, names = list(table.records()), table.layout.names
        _without_decimal_commas(score_table, records, names)
        if "value" in names or "metric" in names:
            _check_long(names)
    _name_clips(score_table, records)
    long = [(n, row) for n, row in records if "metric" in row]
    wide = [(n, row) for n, row in records if "metric" not in row]
    for number, record in long:
        if record["metric"] is not None or not record.get("failed"):
            _add_long(score_table, number, record)
    _add_wide(score_table, wide)
    return score_table


def _without_decimal_commas(
    score_table: ScoreTable, records: list[tuple[int, dict[str, str]]], names: Iterable[str]
) -> None:
    """Turns 3,5 into 3.5 in columns that hold numbers, with a note; TableError where in doubt."""
    for name in names:
        cells = [record[name] for _, record in records]
        try:
            plain, comma = decimal_points(cells)
        except TableError as error:
            raise TableError(f"column {name}: {error}") from None
        if comma:
            score_table.notes.append(
                f"The column {name} is read with decimal commas, like {comma}."
            )
            for (_, record), value in zip(records, plain, strict=True):
                record[name] = value


def _name_clips(score_table: ScoreTable, records: Iterable[tuple[int, dict[str, Any]]]) -> None:
    """Turns what another tool calls its clips into the column file, with a note."""
    names = list(dict.fromkeys(name for _, record in records for name in record))
    plain = {re.sub(r"[\s-]+", "_", name.casefold()): name for name in reversed(names)}
    like = DEGRADED if set(CLIPS) & set(names) else LIKE_CLIPS
    theirs = next((plain[each] for each in like if each in plain), None)
    if theirs is None or (like is DEGRADED and "mos_pred" not in names):
        return
    for _, record in records:
        if theirs in record:
            record["file"] = record.pop(theirs)
    score_table.notes.append(f"The column {theirs} names the clip.")


def _check_long(names: Iterable[str]) -> None:
    """TableError where a long table lacks a column, or calls one almost as it should be called."""
    there = list(names)
    absent = [name for name in ("metric", "value") if name not in there]
    if absent:
        raise TableError(
            f"no column {', '.join(absent)}; a row for each score needs metric and value (it has "
            f"{', '.join(there)})"
        )
    for ours in LIKE_OURS:
        others = [name for name in there if name not in (*ABOUT, *LIKE_OURS)]
        near = get_close_matches(ours, [name.casefold() for name in others], 1, 0.8)
        if ours not in there and near:
            theirs = next(name for name in others if name.casefold() == near[0])
            raise TableError(
                f"the column {theirs} looks like {ours} and would not be used; call it {ours}, or "
                "take it away"
            )


def _json_rows(text: str, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, record in json_records(text):
        if not isinstance(record, dict):
            problems.add(number, 'must be a JSON object, such as {"file": "a.wav"}')
        else:
            yield number, {str(name).strip(): value for name, value in record.items()}


def _espnet_rows(
    text: str, metric: str, problems: Problems
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        match line.split():
            case [key, value]:
                yield number, {"key": key, "metric": metric, "value": value}
            case [_, *_]:
                problems.add(number, "must be a clip and its score, such as a_001 3.52")


# --- Long rows ------------------------------------------------------------------------------------


def _add_long(score_table: ScoreTable, number: int, record: Mapping[str, Any]) -> None:
    values: dict[str, Any] = {}
    for name in ("value", "low", "high"):
        value, reason, problem = _value(record.get(name))
        if problem:
            score_table.problems.add(
                number, f"column {name}: {problem}", _format_cell(record.get(name))
            )
            return
        values[name] = value
        if name == "value":
            values["reason"] = _text(record.get("reason")) or reason
    direction = _text(record.get("higher_is_better")).lower()
    if direction not in ("", "none", "null", *TRUE, *FALSE):
        cause = "column higher_is_better: {} is unknown; write true, false, or nothing"
        score_table.problems.add(number, cause, repr(direction))
        return
    parameters = record.get("parameters") or ""
    if not isinstance(parameters, str):
        parameters = json.dumps(parameters, sort_keys=True, ensure_ascii=False)
    score_table.rows.append(
        ScoreRow(
            number,
            _clip(record),
            _text(record["metric"]),
            version=_text(record.get("version")),
            title=_text(record.get("title")),
            unit=_text(record.get("unit")),
            higher_is_better=True if direction in TRUE else False if direction in FALSE else None,
            parameters=parameters,
            record=record,
            **values,
        )
    )


# --- Wide rows ------------------------------------------------------------------------------------


def _add_wide(score_table: ScoreTable, rows: list[tuple[int, dict[str, Any]]]) -> None:
    """The scores of rows with a column for each metric; columns of words are no metrics."""
    if not rows:
        return
    names = list(dict.fromkeys(name for _, record in rows for name in record))
    tool = next((each for each in TOOLS if each.needs in names), None)
    left_out = LEFT_OUT.union(LIKE_CLIPS, tool.no_scores if tool else ())
    words: list[str] = []
    metrics: list[str] = []
    for name in names:
        if name in left_out or (name in (*CLIPS, *ABOUT)):
            continue
        cells = [record.get(name) for _, record in rows]
        if _counts_rows(name, cells):
            words.append(name)
            continue
        values = [_value(cell) for cell in cells if isinstance(cell, str | int | float | None)]
        numbers = [value for value, _, problem in values if value is not None and not problem]
        like = [c for c in cells if not isinstance(c, str) or _LIKE_A_NUMBER.fullmatch(c.strip())]
        like = [cell for cell in like if isinstance(cell, str | int | float)]
        empty = all(_text(cell).lower() in _EMPTY for cell in cells)
        (metrics if numbers or like or empty else words).append(name)
    if tool:
        score_table.notes.append(f"The file is read as a table of {tool.name}.")
    dropped = [name for name in (*words, *sorted(left_out & set(names) - set(CLIPS))) if name]
    if dropped:
        score_table.notes.append(f"Columns that hold no scores: {', '.join(dropped)}.")
    for number, record in rows:
        for name in metrics:
            cell = record.get(name) if name in record else False
            if not isinstance(cell, str | int | float | None) or cell is False:
                continue  # absent here, or VERSA's lists beside its numbers
            value, reason, problem = _value(cell)
            if problem:
                score_table.problems.add(number, f"column {name}: {problem}", _format_cell(cell))
                continue
            rises = True if tool and name in tool.rises else None
            score_table.rows.append(
                ScoreRow(
                    number,
                    _clip(record),
                    name,
                    value,
                    reason=reason,
                    higher_is_better=rises,
                    record={k: v for k, v in record.items() if k not in metrics},
                )
            )


def _counts_rows(name: str, cells: list[Any]) -> bool:
    """Whether a column without a name of its own holds 0, 1, 2 …, as pandas writes its index."""
    if not _INDEX.fullmatch(name):
        return False
    return [_text(cell) for cell in cells] in (
        [str(n) for n in range(len(cells))],
        [str(n + 1) for n in range(len(cells))],
    )


# --- Cells ----------------------------------------------------------------------------------------


def _clip(record: Mapping[str, Any]) -> dict[str, str]:
    names = {name: _text(record.get(name)) for name in CLIPS}
    return {name: text for name, text in names.items() if text}


def _value(cell: Any) -> tuple[float | None, str, str]:
    """A cell as a number; the reason where it is empty, and what is wrong with it."""
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in _EMPTY):
        return None, NO_VALUE, ""
    if isinstance(cell, bool):
        return None, "", "{} is no number; leave the cell empty for no value"
    if isinstance(cell, float) and not math.isfinite(cell):
        return None, NOT_FINITE, ""
    try:
        value = strict_number(cell) if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError):
        value = None
    except OverflowError:
        value = math.inf
    if value is None:
        infinite = isinstance(cell, str) and re.fullmatch(r"[+-]?inf(inity)?", cell.strip(), re.I)
        kind = "finite number" if infinite else "number"
        return None, "", f"{{}} is no {kind}; leave the cell empty for no value"
    if not math.isfinite(value):
        return None, "", "{} is no finite number; leave the cell empty for no value"
    if abs(value) > MOST_VALUE:
        return None, "", f"{{}} is larger than {MOST_VALUE:g}; leave the cell empty for no value"
    return value, "", ""


def _format_cell(cell: Any) -> str:
    try:
        return repr(str(cell)[:40])
    except ValueError:  # an integer of thousands of digits
        return "a number of thousands of digits"


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
