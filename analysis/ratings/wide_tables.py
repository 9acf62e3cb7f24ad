"""Tables with a column for each answer: which columns those are, and what each is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from analysis.ratings.cells import COLUMNS
from analysis.ratings.known_layouts import QUALTRICS
from analysis.ratings.problems import RatingsError
from listening.common.spreadsheets import Layout, clean_name, some, strict_number

MOST_SCORE = 100.0
MOST_LISTED = 8  # columns that a remedy writes out
_MARK = re.compile(r"[_\-. ]")
_ENDING = re.compile(r"\.(?:wav|flac|mp3|ogg|opus|m4a|webm)$", re.IGNORECASE)
_PLACE = re.compile(r"\{(\w+)\}")
_P808_URL = re.compile(r"answer\.(q\d+)_url", re.IGNORECASE)
_P808_CRITERIA = {  # endings of the toolkit's columns, and the criterion that they hold
    **{"": "", "_sig": "signal", "_bak": "background", "_ovrl": "overall"},
    **{"_echo": "echo", "_other": "other", "_noise": "noisiness", "_col": "coloration"},
    **{"_loud": "loudness", "_disc": "discontinuity", "_reverb": "reverberation"},
}
_P808_TRAPS = (  # kind, column of the address, column of the answer, what may be beside it
    ("trapping", "input.tp", "input.tp_ans", 0.0),
    ("gold", "input.gold_clips", "input.gold_clips_ans", 1.0),
    ("gold", "input.gold_url", "input.gold_url_ans", 1.0),
)


_NO_SCORES = QUALTRICS | {  # columns of numbers that stand beside answers
    *("age", "gender", "year", "id", "index", "trial", "duration", "rt", "time", "time_elapsed"),
    *("position", "order"),
}


@dataclass(frozen=True)
class Answer:
    """One answer of a wide row: its cells' columns, and values, by columns of the ratings table."""

    theirs: Mapping[str, str]
    constants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trap:
    """Columns that hold the clip of a trap and its right answer; ``within`` is the tolerance."""

    kind: str
    stimulus: str
    expected: str
    within: float


@dataclass(frozen=True)
class WideTable:
    """The answers that each row of a file holds, and the clips among them that are traps."""

    answers: tuple[Answer, ...]
    traps: tuple[Trap, ...] = ()
    about: str = ""  # a note

    @property
    def used(self) -> set[str]:
        """The columns of the file that answers, and their traps, take."""
        traps = {name for trap in self.traps for name in (trap.stimulus, trap.expected)}
        return traps | {name for answer in self.answers for name in answer.theirs.values()}

    @property
    def filled(self) -> set[str]:
        """The columns of the ratings table that the answers fill."""
        traps = {"trap", "trap_passed"} if self.traps else set()
        return traps | {
            name for answer in self.answers for name in (*answer.theirs, *answer.constants)
        }


def wide_table(template: str, names: Sequence[str]) -> WideTable:
    """The answers of a file by a template, or by a list of columns that are named after conditions.

    ``{item}_{condition}`` fits Q1_A and Q1_B. Raises RatingsError where no column fits.
    """
    fields = _PLACE.findall(template)
    if not fields:
        listed = [clean_name(name) for name in template.split(",") if clean_name(name)]
        absent = [name for name in listed if name not in names]
        if absent or not listed:
            there = ", ".join(names)
            raise RatingsError([f"--wide: no column {some(absent) or template} (it has {there})"])
        return _of({name: {"condition": name} for name in listed})
    unknown = [name for name in fields if name not in COLUMNS]
    if unknown or len(set(fields)) < len(fields):
        wrong = unknown[0] if unknown else fields[0]
        known = "{condition}, {item}, {criterion} or another column of a ratings table, once each"
        raise RatingsError([f"--wide {template}: {{{wrong}}} is not known; write {known}"])
    pattern = _regular_expression(template)
    found = {name: match.groupdict() for name in names if (match := pattern.fullmatch(name))}
    if not found:
        raise RatingsError([f"--wide {template}: no column fits (it has {', '.join(names)})"])
    return _of(found)


def _regular_expression(template: str) -> re.Pattern[str]:
    parts = _PLACE.split(template)  # literal text and names in turns
    return re.compile(
        "".join(
            f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts)
        )
    )


def _of(found: Mapping[str, Mapping[str, str]]) -> WideTable:
    answers = tuple(Answer({"score": name}, values) for name, values in found.items())
    return WideTable(answers, about=f"Each of these columns is one answer: {some(found)}.")


def p808_batch(names: Sequence[str]) -> WideTable | None:
    """The answers of a batch of the P.808 toolkit (Mechanical Turk, HIT app), if it is one."""
    there = {name.casefold(): name for name in reversed(names)}
    if not {"workerid", "assignmentid"} <= set(there):
        return None
    answers = []
    for name in names:
        question = _P808_URL.fullmatch(name)
        if question is None:
            continue
        for ending, criterion in _P808_CRITERIA.items():
            column = there.get(f"answer.{question[1].casefold()}{ending}")
            if column:
                place = {"position": question[1][1:]}
                criteria = {"criterion": criterion} if criterion else {}
                answers.append(Answer({"stimulus": name, "score": column}, place | criteria))
    traps = tuple(
        Trap(kind, there[url], there[expected], within)
        for kind, url, expected, within in _P808_TRAPS
        if url in there and expected in there
    )
    if not answers:
        return None
    kinds = f"; traps by {some(trap.stimulus for trap in traps)}" if traps else ""
    about = f"Batch results of the P.808 toolkit: {len(answers)} answers in each row{kinds}."
    return WideTable(tuple(answers), traps, about)


def columns_of_scores(layout: Layout, free: Sequence[str]) -> list[str]:
    """Columns that may be an answer each, by a file's first rows; none if there is only one.

    ``free`` are the columns that hold nothing else.
    """
    columns = [name for name in free if name and _holds_scores(layout, name)]
    return columns if len(columns) > 1 else []


def suggestion(columns: Sequence[str]) -> str:
    """How ``--wide`` may read columns of scores."""
    endings = {match[0] if (match := _ENDING.search(name)) else "" for name in columns}
    ending = next(iter(endings)) if len(endings) == 1 else ""  # names of files
    marks = {tuple(_MARK.findall(name.removesuffix(ending))) for name in columns}
    firsts = {found[:1] for found in marks}
    if len(firsts) == 1 and firsts != {()} and (ending or max(map(len, marks)) == 1):
        return f"'{{item}}{next(iter(firsts))[0]}{{condition}}{ending}'"
    if len(columns) > MOST_LISTED:
        return f"'{{item}}_{{condition}}' (a template that fits {some(columns)})"
    shown = ",".join(columns)
    return f"'{shown}'" if re.search(r"[^\w,.-]", shown) else shown


def _holds_scores(layout: Layout, name: str) -> bool:
    place = layout.names.index(name)
    cells = [row[place] for row in layout.sample if row[place]]
    numbers = [strict_number(cell.replace(",", ".")) for cell in cells]
    known = [number for number in numbers if number is not None and abs(number) <= MOST_SCORE]
    steps = {b - a for a, b in pairwise(known)}
    counting = steps == {1.0} and (len(known) > 5 or (place == 0 and known[0] in (0.0, 1.0)))
    scores = bool(cells) and len(known) == len(cells) and not counting
    return scores and name.casefold() not in _NO_SCORES
