"""The first row of a file of ratings: its columns, what they stand for, and which are not used.

Nothing heavy is imported here: a mistake in columns is told at once.
"""

from __future__ import annotations

import csv
import gzip
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from analysis.formatting import enumerated
from analysis.ratings.cells import COLUMNS, LEFT_OUT_BY
from analysis.ratings.estimands import estimand_of, estimand_of_method
from analysis.ratings.problems import NEAR, RatingsError, likeness, nearest

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
NEEDED = (("rater",), ("condition",), ("score",), ("item", "stimulus"))
# What people call a column. Only a missing one of `DECISIVE` is worth an error.
SYNONYMS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "rater": "participant worker subject user annotator listener assessor evaluator person "
        "respondent pid prolificpid",
        "condition": "system model tts algorithm codec engine variant",
        "item": "text sentence utterance utt prompt passage content script",
        "stimulus": "clip file filename audio audiofile wav wavfile sample path url",
        "score": "rating mos cmos value answer response vote opinion grade scoreraw",
        "trap": "trapkind traptype attentioncheck attention gold goldstandard catch catchtrial "
        "trapquestion",
        "trap_passed": "passed trapcorrect passedtrap attentionpassed",
        "review": "verdict reviewverdict expertverdict",
        "session_status": "status submissionstatus",
        "versus_condition": "versus systemb conditionb modelb comparedwith against",
        "method": "testmethod testtype",
        "presented_first": "first order",
    }.items()
}
DECISIVE = frozenset(
    {"trap", "trap_passed", "review", "session_status", "versus_condition", "method"}
)
_PREFIX, _SUFFIX = re.compile(r"^(is|has|was|the)_"), re.compile(r"_(id|name|code|key|no|nr)$")


@dataclass(frozen=True)
class Header:
    """The names in a file's first row, and what stands between its cells."""

    names: tuple[str, ...]
    delimiter: str


@dataclass(frozen=True)
class ColumnMapping:
    """Which column of the file gives which of the table, values for whole columns, and the rest.

    ``unused`` are all columns of the file that give nothing, ``unasked`` those of them that nobody
    said to ignore.
    """

    header: Header
    theirs: Mapping[str, str]
    constants: Mapping[str, str]
    unused: tuple[str, ...]
    unasked: tuple[str, ...]

    @property
    def filled(self) -> set[str]:
        """The columns of the table that the file or a constant gives."""
        return {*self.theirs, *self.constants}

    def notes(self) -> Iterator[str]:
        """What is to be told of how the file is read, a sentence each."""
        if self.header.delimiter != ",":
            yield f"The file is read as separated by {DELIMITERS[self.header.delimiter]}."
        overridden = [name for name in self.unasked if name in self.constants]
        for name in overridden:
            unused = f"The column {name} of the file is not used"
            yield f"{unused}: every row has {shlex.quote(self.constants[name])}, as was asked for."
        others = [name or "without a name" for name in self.unasked if name not in overridden]
        if others:
            columns = "column" if len(others) == 1 else "columns"
            yield f"Not used: the {columns} {enumerated(others)}."


def opened(path: Path) -> IO[str]:
    """A file of text (UTF-8; gzip when the name ends in .gz), open for csv."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def header_of(path: Path) -> Header:
    """The header of a CSV whose cells stand between commas, semicolons or tabs.

    What there is most of in the first line, outside quotes, is what separates. Raises RatingsError.
    """
    try:
        with opened(path) as file:
            line = re.sub(r'"[^"]*"', "", file.readline())
        delimiter = max(DELIMITERS, key=line.count)
        with opened(path) as file:
            names = next(csv.reader(file, delimiter=delimiter), [])
    except FileNotFoundError:
        raise RatingsError([f"{path}: there is no such file; check the path"]) from None
    except (csv.Error, EOFError, OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    if not names:
        raise RatingsError([f"{path.name}: empty; the first row must name the columns"])
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        named = ", ".join(twice)
        raise RatingsError([f"{path.name}, row 1: {named} twice; name each column once"])
    return Header(tuple(names), delimiter)


def unreadable(path: Path, error: Exception) -> RatingsError:
    """What to raise for a file that cannot be read."""
    if isinstance(error, UnicodeDecodeError):
        return RatingsError([f"{path.name}: not UTF-8; save the file as CSV UTF-8"])
    remedy = "save it again as CSV UTF-8"
    return RatingsError([f"{path.name}: not a readable CSV file ({error}); {remedy}"])


def column_mapping(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    ignore: Collection[str] = (),
) -> ColumnMapping:
    """How the columns of a file are to be read; raises RatingsError with all that is wrong.

    ``columns`` maps a column of the table to the file's name for it, ``constants`` gives one value
    to every row, and ``ignore`` names columns of the file that are to be left out.
    """
    header = header_of(Path(path))
    constants = dict(constants or {})
    known = (*COLUMNS, LEFT_OUT_BY)
    theirs = {name: name for name in known if name in header.names and name not in ignore}
    theirs = {**theirs, **(columns or {})}
    theirs = {ours: name for ours, name in theirs.items() if ours not in constants}
    used = set(theirs.values())
    unused = tuple(name for name in header.names if name not in used)
    unasked = tuple(name for name in unused if name not in ignore)
    mapping = ColumnMapping(header, theirs, constants, unused, unasked)
    problems = [*_mistyped(mapping, columns or {}, ignore), *_missing(mapping)]
    problems += [*_near_misses(mapping), *_wrong_method(mapping)]
    if problems:
        raise RatingsError([f"{Path(path).name}: {problem}" for problem in problems])
    return mapping


def _mistyped(
    mapping: ColumnMapping, columns: Mapping[str, str], ignore: Collection[str]
) -> Iterator[str]:
    """Names in options that neither the table nor the file has."""
    for name in sorted({*columns, *mapping.constants} - set(COLUMNS)):
        meant = _or_empty("; did you mean {}?", nearest(name, COLUMNS))
        known = ", ".join(COLUMNS)
        yield f"{name} is no column of a ratings table{meant or ';'} Known are {known}"
    for name in sorted(columns.keys() & mapping.constants.keys()):
        yield f"{name} is given twice, by --column and by --set; leave one of them out"
    there = ", ".join(mapping.header.names)
    for name, what in [
        *((theirs, f" (wanted for {ours})") for ours, theirs in columns.items()),
        *((name, " to ignore") for name in ignore),
    ]:
        if name not in mapping.header.names:
            meant = _or_empty("; did you mean {}?", nearest(name, mapping.header.names))
            yield f"no column {name}{what}{meant} (it has {there})"


def _missing(mapping: ColumnMapping) -> Iterator[str]:
    """Columns that every file needs, with those of the file that may be meant."""
    have = mapping.filled
    for needed in NEEDED:
        if have.intersection(needed) or (needed == ("score",) and "label" in mapping.theirs):
            continue  # labels tell scores
        meant = [
            (ours, name) for ours in needed for name in mapping.header.names if _means(name, ours)
        ]
        absent = f"no column {' or '.join(needed)}"
        if meant:
            names = enumerated(dict.fromkeys(name for _, name in meant), "or")
            yield f"{absent}; did you mean {names}? {_option('--column', *meant[0])}"
        else:
            remedy = f"add it, or say which column holds it: --column {needed[0]}=NAME"
            yield f"{absent}; {remedy} (it has {', '.join(mapping.header.names)})"


def _near_misses(mapping: ColumnMapping) -> Iterator[str]:
    """Columns that nobody uses and that look like one of the table that nothing gives."""
    have = mapping.filled
    have |= {name for needed in NEEDED if not have.intersection(needed) for name in needed}
    like: dict[str, list[str]] = {}
    for name in mapping.unasked:
        known = _known_as(name)
        if known and known not in have:
            like.setdefault(known, []).append(name)
    for ours, names in like.items():
        columns = f"the column {names[0]} looks" if len(names) == 1 else f"{enumerated(names)} look"
        use = _option("--column", ours, names[0])
        leave = " ".join(f"--ignore-column {shlex.quote(name)}" for name in names)
        yield f"{columns} like {ours} and would not be used; say {use}, or {leave}"


def _wrong_method(mapping: ColumnMapping) -> Iterator[str]:
    """A method or estimand for the whole file that there is not, or that lacks its columns."""
    method, estimand = (mapping.constants.get(name, "") for name in ("method", "estimand"))
    try:
        known = estimand_of_method(method) if method else None
        known = estimand_of(estimand) if estimand else known
    except KeyError as error:
        yield str(error.args[0])
        return
    if known and known.in_pairs and "versus_condition" not in mapping.filled:
        meant = [name for name in mapping.unasked if _means(name, "versus_condition")]
        remedy = _option("--column", "versus_condition", (*meant, "NAME")[0])
        yield (
            f"no column versus_condition, and {known.name} compares two clips; name the other "
            f"condition: {remedy}, or --set versus_condition=NAME if it is always the same"
        )


def _known_as(name: str) -> str:
    """The column that a name stands for, where leaving it out would be a mistake; else empty."""
    plain = _plain(name)
    for ours, words in SYNONYMS.items():
        if words & {plain, plain.removesuffix("id")}:
            return ours if ours in DECISIVE else ""
    best = max(COLUMNS, key=lambda ours: likeness(plain, _plain(ours)))
    return best if likeness(plain, _plain(best)) >= NEAR else ""


def _means(name: str, ours: str) -> bool:
    plain = _plain(name)
    words = SYNONYMS.get(ours, frozenset()) & {plain, plain.removesuffix("id")}
    return bool(words) or likeness(plain, _plain(ours)) >= NEAR


def _plain(name: str) -> str:
    """A name without case, signs, and words such as is_ or _id around it."""
    words = re.sub(r"\W+", "_", name.strip().casefold()).strip("_")
    return _SUFFIX.sub("", _PREFIX.sub("", words)).replace("_", "")


def _option(option: str, ours: str, theirs: str) -> str:
    return f"{option} {ours}={shlex.quote(theirs)}"


def _or_empty(words: str, name: str) -> str:
    return words.format(name) if name else ""
