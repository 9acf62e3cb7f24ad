"""Metric scores as a table: from plain rows, from CSV and from JSON lines, matched to the ratings.

A table of scores has the columns stimulus, metric, version and value, and where it is known also
``higher_is_better`` (true, false or None), ``low`` and ``high``, the least and the greatest value
that there can be (NaN: no such end), and ``reason``, which says why there is no value.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.ratings.cells import reader_of, unescaped
from analysis.ratings.header import header_of, opened
from analysis.ratings.problems import NEAR, RatingsError, likeness

SCORE_COLUMNS = ("stimulus", "metric", "version", "value")
DIRECTION, REASON = "higher_is_better", "reason"
ENDS = ("low", "high")
NO_METRICS = frozenset({"n_words"})  # scores that tell what a clip holds, not how good it is
_STAND_INS = ("stimulus", "file", "path", "key")  # what names the clip in a line of JSON
_NAMED = 3
_NUMBERS = ("value", *ENDS)


def scores_from_rows(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A table of metric scores from plain rows (ScoreRow), in a canonical order.

    ``higher_is_better``, ``reason``, ``low`` and ``high`` are columns only where a row has them.
    """
    given = list(rows)
    cells = [[row[name] for name in SCORE_COLUMNS] for row in given]
    table = pd.DataFrame(cells, columns=list(SCORE_COLUMNS))
    for name in SCORE_COLUMNS[:3]:
        table[name] = table[name].astype("str")
    table["value"] = table["value"].astype("float64")
    for name, empty in ((DIRECTION, None), (REASON, "")):
        if any(row.get(name) not in (None, "") for row in given):
            told = [row.get(name) if row.get(name) != "" else empty for row in given]
            table[name] = pd.Series(
                [empty if each is None else each for each in told], dtype=object
            )
    if any(row.get(end) is not None for row in given for end in ENDS):
        for end in ENDS:
            table[end] = pd.Series([row.get(end) for row in given], dtype="float64")
    return table.sort_values(list(SCORE_COLUMNS), ignore_index=True)


def scores_from_file(path: str | Path) -> pd.DataFrame:
    """The metric scores of a CSV, or of a file of JSON lines (its name ends in .jsonl).

    CSV: the columns stimulus, metric, version, value, with commas, semicolons or tabs between.
    JSON lines: objects with metric, value and one of stimulus, file, path, key, as
    `score_files --jsonl` writes them. Further columns may be there. Raises RatingsError with all
    that is wrong.
    """
    path = Path(path)
    try:
        lines = _json_rows(path) if path.suffix == ".jsonl" else _csv_rows(path)
        return scores_from_rows(_apart(lines))
    except FileNotFoundError:
        raise RatingsError([f"{path}: there is no such file; check the path"]) from None
    except UnicodeDecodeError:
        raise RatingsError([f"{path.name}: not UTF-8; save the file as CSV UTF-8"]) from None


def matched(scores: pd.DataFrame, stimuli: Iterable[str]) -> pd.DataFrame:
    """The scores with stimuli named as the ratings name them.

    Names that are files are cut to the name without folder and ending, where that is what the
    ratings have. Raises RatingsError, with examples of both, when no name is in both.
    """
    rated = {name for name in stimuli if name}
    told = dict.fromkeys(scores["stimulus"])
    if not told or not rated or rated & set(told):
        return scores
    for cut in _CUTS:
        named = {name: cut(name) for name in told}
        if rated & set(named.values()) and len(set(named.values())) == len(named):
            return scores.assign(stimulus=scores["stimulus"].map(named))
    ours, theirs = (", ".join(sorted(names)[:_NAMED]) for names in (rated, told))
    raise RatingsError(
        [
            f"no stimulus of the scores is among those of the ratings: the ratings have {ours} "
            f"({len(rated)} in all), the scores {theirs} ({len(told)}); name the clips in the "
            "column stimulus as the ratings do"
        ]
    )


_CUTS: tuple[Callable[[str], str], ...] = (
    lambda name: Path(name).name,
    lambda name: Path(name).stem,
)


def _apart(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows; where a metric was run with several sets of parameters, these are in its name."""
    sets: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        sets.setdefault((row["metric"], row["version"]), set()).add(row["parameters"])
    names = {key: _told_apart(key[0], told) for key, told in sets.items() if len(told) > 1}
    return [
        {**row, "metric": names[key][row["parameters"]]}
        if row["parameters"] and (key := (row["metric"], row["version"])) in names
        else row
        for row in rows
    ]


def _told_apart(metric: str, sets: Iterable[str]) -> dict[str, str]:
    """A name for each set of parameters (JSON): metric[name=value] with those that differ."""
    told = {text: _settings(text) for text in sets if text}
    known = [values for values in told.values() if values is not None]
    differ = sorted(
        name
        for name in {name for values in known for name in values}
        if len({json.dumps(values.get(name)) for values in known}) > 1
    )
    return {
        text: f"{metric} {text}"
        if values is None or not differ
        else f"{metric}[{','.join(f'{name}={values.get(name)}' for name in differ)}]"
        for text, values in told.items()
    }


def _settings(text: str) -> dict[str, Any] | None:
    """A set of parameters; None where the text is no JSON object."""
    try:
        values = json.loads(text)
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def _csv_rows(path: Path) -> list[dict[str, Any]]:
    problems: list[str] = []
    rows: list[dict[str, Any]] = []
    header = header_of(path)
    _needed(path.name, header.names)
    with opened(path) as file:
        reader = csv.DictReader(file, delimiter=header.delimiter)
        for number, row in enumerate(reader, start=2):
            named = {n: unescaped([row[n] or ""], n)[0] for n in SCORE_COLUMNS[:3]}
            read = _read(row, f"{path.name}, row {number}, column", problems)
            read[REASON] = unescaped([read[REASON]], REASON)[0]
            rows.append({**named, **read})
    if problems:
        raise RatingsError(problems)
    return rows


def _needed(file: str, there: Sequence[str]) -> None:
    """Raises RatingsError where a column is absent, or called almost as one that would be used."""
    absent = [name for name in SCORE_COLUMNS if name not in there]
    if absent:
        wanted, names = ", ".join(SCORE_COLUMNS), ", ".join(there)
        problem = f"no column {', '.join(absent)}; give {wanted} (it has {names})"
        raise RatingsError([f"{file}: {problem}"])
    problems = [
        f"{file}: the column {name} looks like {ours} and would not be used; call it {ours}, or "
        "take it away"
        for ours in (DIRECTION, *ENDS, REASON)
        for name in there
        if ours not in there and name != ours and likeness(name.casefold(), ours) >= NEAR
    ]
    if problems:
        raise RatingsError(problems)


def _json_rows(path: Path) -> list[dict[str, Any]]:
    problems: list[str] = []
    rows: list[dict[str, Any]] = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in _lines(file):
            where = f"{path.name}, line {number}"
            try:
                told = json.loads(line)
            except ValueError:
                problems.append(f"{where}: no JSON; write one object on each line")
                continue
            named = [str(told[k]) for k in _STAND_INS if told.get(k)] if _is_object(told) else []
            if not named or "metric" not in told or "value" not in told:
                wanted = f"metric, value and one of {', '.join(_STAND_INS)}"
                problems.append(f"{where}: give an object with {wanted}")
                continue
            row = {"stimulus": named[0], "metric": told["metric"]}
            row["version"] = str(told.get("version") or "")
            rows.append({**row, **_read(told, f"{where},", problems)})
    if problems:
        raise RatingsError(problems)
    return rows


def _lines(file: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            yield number, line


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _read(row: Mapping[str, Any], where: str, problems: list[str]) -> dict[str, Any]:
    """Value, direction, range and reason of a row; what cannot be read is told."""
    direction = row.get(DIRECTION)
    numbers = {name: _number(row.get(name), f"{where} {name}", problems) for name in _NUMBERS}
    try:
        upward = reader_of("trap_passed")(direction)  # a column of truths
    except ValueError as error:
        problems.append(f"{where} {DIRECTION}: {direction!r} {error}")
        upward = None
    parameters = row.get("parameters") or ""
    if not isinstance(parameters, str):
        parameters = json.dumps(parameters, sort_keys=True, ensure_ascii=False)
    told = {**numbers, DIRECTION: upward, REASON: str(row.get(REASON) or "")}
    return {**told, "parameters": parameters}


def _number(cell: Any, where: str, problems: list[str]) -> float | None:
    """A finite number of a cell; None where it is empty, infinite, or cannot be read."""
    try:
        number = None if cell is None or str(cell).strip() == "" else float(cell)
    except (TypeError, ValueError):
        problems.append(f"{where}: {cell!r} is no number; write one or leave it empty")
        return None
    return number if number is not None and math.isfinite(number) else None


def directions(scores: pd.DataFrame) -> dict[str, bool | None]:
    """Whether a higher value is better, for each metric; None where nobody says."""
    if DIRECTION not in scores:
        return dict.fromkeys(scores["metric"].unique())
    found: dict[str, bool | None] = {}
    for metric, told in scores.groupby("metric", sort=True)[DIRECTION]:
        known = {bool(each) for each in told if each is not None and not pd.isna(each)}
        found[str(metric)] = known.pop() if len(known) == 1 else None
    return found


def ranges(scores: pd.DataFrame) -> dict[str, tuple[float | None, float | None] | None]:
    """The least and the greatest value that each metric can have; None where nobody says.

    An end that there is not is None. A metric of which rows say different things has no range.
    """
    found: dict[str, tuple[float | None, float | None] | None] = {}
    for metric, own in scores.groupby("metric", sort=True):
        found[str(metric)] = None
        if ENDS[0] in scores:
            told = own[list(ENDS)].dropna(how="all").drop_duplicates()
            if len(told) == 1:
                low, high = (None if pd.isna(end) else float(end) for end in told.iloc[0])
                found[str(metric)] = (low, high)
    return found


def reasons(scores: pd.DataFrame, metric: str, stimuli: Sequence[str]) -> dict[str, int]:
    """Why the metric has no value for some of these stimuli: each reason with its number.

    Of a reason that goes on with the clip's own numbers, only the beginning counts.
    """
    own = scores[(scores["metric"] == metric) & scores["stimulus"].isin(stimuli)]
    empty = own[own["value"].isna()]
    told = empty[REASON] if REASON in own else pd.Series([""] * len(empty), dtype=object)
    short = [re.split(r"[,;:(]", str(reason))[0].strip() or "no value" for reason in told]
    counts = pd.Series(short, dtype=object).value_counts(sort=False)
    found = {str(reason): int(count) for reason, count in counts.items()}
    unscored = len(set(stimuli) - set(own["stimulus"]))
    if unscored:
        found["not scored, or the run broke"] = unscored
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
