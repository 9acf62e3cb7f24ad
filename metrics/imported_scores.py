"""Scores that were computed elsewhere, read from CSV or JSONL and checked against the clips."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from metrics.inputs import InputError, table_rows

NAMES = ("stimulus", "sha256", "file", "key")  # VERSA's key is the name of the clip
ABOUT = ("version", "higher_is_better", "unit", "reason")
LEFT_OUT = ("condition", "item", "role", "text", "language", "speaker", "path")  # of wide rows
METRIC = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+\-]{0,99}")
TRUE, FALSE = ("1", "true", "yes", "higher"), ("0", "false", "no", "lower")
MOST_PROBLEMS = 50
MOST_VALUE = 1e100  # beyond it, means and deviations overflow
LONGEST = {"version": 40, "unit": 40, "reason": 500}  # characters


@dataclass(frozen=True)
class ImportedScore:
    """One value of one audio file; None: the metric gave none."""

    sha256: str
    metric: str
    version: str
    value: float | None
    reason: str = ""
    higher_is_better: bool | None = None
    unit: str = ""


class ImportedScoreError(ValueError):
    """A file of scores that does not fit; a line per problem."""


class Clips:
    """The study's audio files under every name that a file of scores may use."""

    def __init__(self, stimuli: Iterable[Mapping[str, Any]]) -> None:
        self.by_name: dict[str, set[str]] = {}
        self.hashes: set[str] = set()
        for row in stimuli:
            self.hashes.add(row["sha256"])
            for name in (row["stimulus"], *file_names(row)):
                self.by_name.setdefault(name, set()).add(row["sha256"])

    def find(self, row: Mapping[str, Any]) -> str:
        """The SHA-256 that a row is about; InputError with what to do where there is none."""
        name = next((n for n in NAMES if _text(row.get(n))), None)
        if name is None:
            raise InputError(f"names no clip; fill one of the columns {', '.join(NAMES)}")
        text = _text(row[name])
        if name == "sha256":
            if text.lower() not in self.hashes:
                raise InputError(f"no clip of the study has the sha256 {text}")
            return text.lower()
        hashes = self.by_name.get(text) or self.by_name.get(PurePosixPath(text).name) or set()
        hashes = hashes or self.by_name.get(PurePosixPath(text).stem, set())
        if not hashes:
            raise InputError(f"no clip of the study is called {text!r}; use its stimulus' key")
        if len(hashes) > 1:
            raise InputError(f"{len(hashes)} clips are called {text!r}; use stimulus or sha256")
        return next(iter(hashes))


def file_names(row: Mapping[str, Any]) -> list[str]:
    """The names of the file from which a stimulus was imported, with and without its ending."""
    path = PurePosixPath(str(row.get("file") or ""))
    return [str(path), path.name, path.stem] if path.name else []


def read_scores(
    path: Path, stimuli: Iterable[Mapping[str, Any]], taken: Collection[str], prefix: str = ""
) -> list[ImportedScore]:
    """The file's scores, each of an audio file of the study; ImportedScoreError says what is wrong.

    ``stimuli``: the study's StimulusRows. ``taken``: names that an imported metric may not have,
    unless ``prefix`` makes others of them. Empty values and null are scores without a value.
    """
    try:
        rows = list(table_rows(path))
    except InputError as error:
        raise ImportedScoreError(str(error)) from error
    if not rows:
        raise ImportedScoreError(f"{path.name}: no rows; add one per clip")
    table = _Table(Clips(stimuli), prefix)
    for where, row in rows:
        table.add(where, row)
    scores = [score for score in table.scores.values() if score.metric not in table.words]
    problems = table.problems
    problems += two_meanings(scores)
    for name in sorted({score.metric for score in scores} & set(taken)):
        problems.append(f"{name} is a metric of Earnest's own; give a prefix, such as versa_")
    if not scores and not problems:
        problems.append(f"{path.name}: no column with scores; name metric and value, or metrics")
    if problems:
        more = len(problems) - MOST_PROBLEMS
        lines = problems[:MOST_PROBLEMS] + ([f"and {more} more problems"] if more > 0 else [])
        raise ImportedScoreError("\n".join(lines))
    return scores


def two_meanings(scores: Iterable[ImportedScore]) -> list[str]:
    """Metrics that are said to have two directions or two units."""
    said: dict[str, set[tuple[bool | None, str]]] = {}
    for score in scores:
        said.setdefault(score.metric, set()).add((score.higher_is_better, score.unit))
    return [
        f"{name} has several directions or units; write the same in each of its rows"
        for name, meanings in sorted(said.items())
        if len(meanings) > 1
    ]


class _Table:
    """What the rows of a file gave so far."""

    def __init__(self, clips: Clips, prefix: str) -> None:
        self.clips, self.prefix = clips, prefix
        self.scores: dict[tuple[str, str, str], ImportedScore] = {}
        self.words: set[str] = set()  # columns of text, such as VERSA's transcripts: no metrics
        self.problems: list[str] = []

    def add(self, where: str, row: Mapping[str, Any]) -> None:
        """One more row, or what is wrong with it."""
        if "metric" in row and row["metric"] is None and row.get("failed"):
            return  # score_files' line of a file that it could not read: no score
        try:
            scores = list(row_scores(self.clips.find(row), row, self.prefix))
        except InputError as error:
            self.problems.append(f"{where}: {error}")
            return
        for score in scores:
            key = (score.sha256, score.metric, score.version)
            before = self.scores.setdefault(key, score)
            if score.reason == NO_NUMBER:
                self.words.add(score.metric)
            elif before.value != score.value:
                problem = f"{score.metric} of this clip is there twice; remove one"
                self.problems.append(f"{where}: {problem}")


def row_scores(sha256: str, row: Mapping[str, Any], prefix: str) -> Iterator[ImportedScore]:
    """The scores of a row: one of the long form, all numbers of the wide one."""
    if "metric" in row:
        for name, most in LONGEST.items():
            if len(_text(row.get(name))) > most:
                raise InputError(f"{name} is longer than {most} characters; shorten it")
        yield ImportedScore(
            sha256,
            metric_name(prefix, _text(row["metric"])),
            _text(row.get("version")) or "1",
            *_value(row.get("value"), _text(row.get("reason"))),
            _direction(row.get("higher_is_better")),
            _text(row.get("unit")),
        )
        return
    for name, cell in row.items():
        if name in (*NAMES, *ABOUT, *LEFT_OUT):
            continue
        if not isinstance(cell, str | int | float | None):
            continue  # VERSA's lists and words beside its numbers
        yield ImportedScore(sha256, metric_name(prefix, name), "1", *_wide_value(name, cell))


NO_VALUE, NO_NUMBER = "no value in the imported file", "no number"


def _wide_value(name: str, cell: Any) -> tuple[float | None, str]:
    """A number of the wide form; words (VERSA's transcripts) are no scores and are left out."""
    try:
        return _value(cell, "")
    except InputError as error:
        if isinstance(cell, str) and not _starts_like_a_number(cell):
            return None, NO_NUMBER
        raise InputError(f"{name}: {error}") from error


def _starts_like_a_number(text: str) -> bool:
    return bool(re.match(r"\s*[-+]?[.\d]", text)) or text.strip().lower() in ("nan", "inf", "-inf")


def metric_name(prefix: str, name: str) -> str:
    """A metric's name with the prefix; InputError where it cannot be one."""
    full = f"{prefix}{name}"
    if not METRIC.fullmatch(full):
        raise InputError(f"{full!r} cannot be a metric's name: letters, digits, and _ . : + - only")
    return full


def _value(cell: Any, reason: str) -> tuple[float | None, str]:
    if cell is None or cell == "":
        return None, reason or NO_VALUE
    try:
        value = float(cell)
    except (TypeError, ValueError):
        raise InputError(f"{cell!r} is no number; leave the cell empty for no value") from None
    except OverflowError:
        value = math.inf
    if isinstance(cell, str) and "_" in cell:
        raise InputError(f"{cell!r} is no number; leave the cell empty for no value")
    if isinstance(cell, bool) or not math.isfinite(value):
        raise InputError(f"{str(cell)[:40]!r} is no finite number; leave the cell empty for none")
    if abs(value) > MOST_VALUE:
        raise InputError(f"{value:g} is larger than {MOST_VALUE:g}; leave the cell empty for none")
    return value, ""


def _direction(cell: Any) -> bool | None:
    said = _text(cell).lower()
    if said not in ("", "none", "null", *TRUE, *FALSE):
        raise InputError(f"higher_is_better is {said!r}; write true, false, or nothing")
    return True if said in TRUE else False if said in FALSE else None


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
