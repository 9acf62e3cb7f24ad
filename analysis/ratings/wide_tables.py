"""Tables with a column for each answer: which columns are answers, and what their names say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from analysis.formatting import enumerated
from analysis.ratings.cells import COLUMNS
from analysis.ratings.problems import RatingsError
from analysis.ratings.reading_rules import fold_cell
from analysis.ratings.scale_words import numbered_label, words_of_scales
from listening.common.spreadsheets import Layout, clean_name, some, strict_number

MOST_SCORE = 100.0
FEWEST = 4  # columns that tell a template though others do not fit it
MOST_LISTED = 40  # columns that a remedy writes out
COUNTER = re.compile(r"(.+)\.this(?:N|RepN|TrialN|Index)")  # of a loop of PsychoPy, from 0 on
_WORDS = re.compile(r"[A-ZÄÖÜÉ]?[a-zß-ÿ]+|[A-ZÄÖÜ]+(?![a-zß-ÿ])")
NO_SCORES = frozenset(  # words in names of columns of numbers that stand beside answers
    {
        *("age", "gender", "year", "id", "index", "trial", "duration", "rt", "time", "seconds"),
        *("position", "order", "frame", "accept", "approval", "reward", "repetition", "row"),
        *("progress", "latitude", "longitude", "count", "session", "finished", "status"),
        *("practice", "training", "input", "plays", "replays", "listens", "confidence", "consent"),
        *("minutes", "length", "lastpage", "page", "block", "alter", "dauer", "länge", "edad"),
    }
)
_PLACE = re.compile(r"\{(\w+)\}")
_MARK = re.compile(r"[\W_]+")
_BEFORE_NAME = re.compile(r"[^\W_]*$")  # what an unfinished word at the end of a prefix has
_AFTER_NAME = re.compile(r"^[^\W_]*")
_LETTERS_NUMBER = re.compile(r"(\D*[^\W\d_])(\d+)")  # A1, vits12
_SCALES = (5.0, 7.0, 9.0, 11.0, MOST_SCORE)
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
    note: str = ""

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


def wide_table(template: str, names: Sequence[str], have: Collection[str]) -> WideTable:
    """The answers of a file by a template, or by a list of columns.

    ``{item}_{condition}`` fits Q1_A and Q1_B. Listed columns are named after conditions, or after
    what the file does not ``have`` besides: items, raters or criteria. Raises RatingsError where no
    column fits.
    """
    fields = _PLACE.findall(template)
    if not fields:
        listed = [clean_name(name) for name in template.split(",") if clean_name(name)]
        absent = [name for name in listed if name not in names]
        if absent or not listed:
            there = ", ".join(names)
            raise RatingsError([f"--wide: no column {some(absent) or template} (it has {there})"])
        topic = named_after(have)
        return _named_answers({name: {topic: name} for name in listed})
    unknown = [name for name in fields if name not in COLUMNS]
    if unknown or len(set(fields)) < len(fields):
        wrong = unknown[0] if unknown else fields[0]
        known = "{condition}, {item}, {criterion} or another column of a ratings table, once each"
        raise RatingsError([f"--wide {template}: {{{wrong}}} is not known; write {known}"])
    fields_of = _fields_of(template, names)
    if not fields_of:
        raise RatingsError([f"--wide {template}: no column fits (it has {', '.join(names)})"])
    if others := _apart(fields_of):
        ignored = " ".join(f"--ignore-column {shlex.quote(name)}" for name in others)
        raise RatingsError(
            [
                f"--wide {template} also fits {some(others)}, unlike the other columns in item or "
                f"condition: are these ratings of clips? Leave them out by {ignored}, or "
                "write more of the fixed text into the template; where they are ratings, make a "
                "table with one rating in each row"
            ]
        )
    return _named_answers(fields_of)


def named_after(have: Collection[str]) -> str:
    """The column of the ratings table that a list of columns fills: the first one missing."""
    if "condition" not in have:
        return "condition"
    if not {"item", "stimulus"} & set(have):
        return "item"
    return "rater" if "rater" not in have else "criterion"


def _named_answers(fields_of: Mapping[str, Mapping[str, str]]) -> WideTable:
    answers = tuple(Answer({"score": name}, values) for name, values in fields_of.items())
    read = [
        f"{topic} {some(dict.fromkeys(each[topic] for each in fields_of.values()))}"
        for topic in next(iter(fields_of.values()))
    ]
    names = f"Each of these columns is one answer: {some(fields_of)}."
    return WideTable(answers, note=f"{names} They are read as {'; '.join(read)}.")


def out_of_scale(spans: Mapping[str, tuple[float, float]]) -> str:
    """Why some columns are no answers: the lowest and highest number of each is beyond the others'.

    Empty where all may be answers on one scale.
    """
    tops = sorted(high for _, high in spans.values())
    middle = tops[(len(tops) - 1) // 2] if tops else 0.0
    scale = next((each for each in _SCALES if middle <= each), MOST_SCORE)
    beyond = [name for name, (low, high) in spans.items() if low > scale and high > 2 * scale]
    if not beyond:
        return ""
    numbers = f"{min(spans[name][0] for name in beyond):g} or more"
    return (
        f"--wide: {some(beyond)} {'hold' if len(beyond) > 1 else 'holds'} numbers of {numbers}, "
        f"most columns at most {middle:g}: leave out of --wide what is no rating"
    )


def _fields_of(template: str, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """What a template finds in the names that it fits.

    Where two parts can be told apart in several ways, the way with the fewest different parts.
    """
    pattern = _regular_expression(template)
    fields_of = {name: match.groupdict() for name in names if (match := pattern.fullmatch(name))}
    texts, fields = _PLACE.split(template)[::2], _PLACE.findall(template)
    if fields_of and len(fields) == 2:
        cores = [name[len(texts[0]) : len(name) - len(texts[2])] for name in fields_of]
        if split := _best_split(cores, [texts[1]]):
            return {
                name: dict(zip(fields, parts, strict=True))
                for name, parts in zip(fields_of, split[1], strict=True)
            }
    return fields_of


def _regular_expression(template: str) -> re.Pattern[str]:
    parts = _PLACE.split(template)  # literal text and names in turns
    return re.compile(
        "".join(
            f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts)
        )
    )


def _best_split(
    names: Sequence[str], marks: Collection[str]
) -> tuple[str, list[tuple[str, str]]] | None:
    """The mark, and both parts (n,) of each name, that give the fewest different parts.

    Parts that belong to a crossed design are few: 6 items and 3 conditions of 18 names.
    """
    best: tuple[str, list[tuple[str, str]]] | None = None
    fewest = 0
    for mark in marks:
        for pieces in _splits(names, mark):
            count = len({first for first, _ in pieces}) + len({last for _, last in pieces})
            if best is None or count < fewest:
                best, fewest = (mark, pieces), count
    return best


def _splits(names: Sequence[str], mark: str) -> Iterator[list[tuple[str, str]]]:
    """Each way to split all names (n,) at one occurrence of a mark, from the left or the right.

    Without a mark they are split between letters and a number.
    """
    if not mark:
        matches = [_LETTERS_NUMBER.fullmatch(name) for name in names]
        parts = [(match[1], match[2]) for match in matches if match]
        yield from [parts] if len(parts) == len(names) else ()
        return
    pieces = [name.split(mark) for name in names]
    for place in range(1, min(map(len, pieces))):
        for cut in (place, -place):
            parts = [(mark.join(each[:cut]), mark.join(each[cut:])) for each in pieces]
            if all(first and last for first, last in parts):
                yield parts


def _apart(fields_of: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Columns that no chain of shared items and conditions joins with most of the others.

    Such are questions of a survey (Q1_age) beside answers about clips. Where as many columns are on
    both sides, systems have sentences of their own, and nothing is said. Where a template has one
    part, these are words among numbers: ``L{rater}`` fits L01, L02 and Length.
    """
    if all(len(fields) == 1 for fields in fields_of.values()):
        words = [name for name, each in fields_of.items() if not "".join(each.values()).isdigit()]
        return words if 0 < 2 * len(words) <= len(fields_of) else []
    groups: list[tuple[set[tuple[str, str]], list[str]]] = []
    for name, fields in fields_of.items():
        own = {(field, fields[field]) for field in ("item", "condition") if field in fields}
        if len(own) < 2:
            return []
        joined = [group for group in groups if group[0] & own]
        groups = [group for group in groups if not group[0] & own]
        marks = own.union(*(marks for marks, _ in joined))
        groups.append((marks, [*(each for _, names in joined for each in names), name]))
    largest = max(len(names) for _, names in groups)
    return [name for _, names in groups if 2 * len(names) <= largest for name in names]


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
    note = f"Batch results of the P.808 toolkit: {len(answers)} answers in each row{kinds}."
    return WideTable(tuple(answers), traps, note)


def answer_columns(layout: Layout, free: Sequence[str]) -> list[str]:
    """Columns that may be an answer each, by a file's first rows.

    ``free`` are the columns that hold nothing else.
    """
    return [name for name in free if name and _holds_scores(layout, name)]


def _holds_scores(layout: Layout, name: str) -> bool:
    if name_words(name) & NO_SCORES or COUNTER.match(name):
        return False
    place = layout.names.index(name)
    cells = [row[place] for row in layout.sample if row[place]]
    numbers = [_score_of(cell) for cell in cells]
    known = [number for number in numbers if number is not None and abs(number) <= MOST_SCORE]
    steps = {b - a for a, b in pairwise(known)}
    counting = steps == {1.0} and (len(known) > 5 or (place == 0 and known[0] in (0.0, 1.0)))
    return bool(cells) and len(known) == len(cells) and not counting


def name_words(name: str) -> set[str]:
    """The words of a column's name, without case."""
    return {word.casefold() for word in _WORDS.findall(name)}


def _score_of(cell: str) -> float | None:
    """The number of a cell, of a label such as "4 - Good", or of a word of a scale."""
    if (number := number_of(cell)) is not None:
        return number
    label = numbered_label(cell)
    return label[0] if label else words_of_scales().get(fold_cell(cell))


def number_of(cell: str) -> float | None:
    """The number of a cell, also with a decimal comma; None where it is none."""
    return strict_number(cell.replace(",", "."))


@dataclass(frozen=True)
class WideAdvice:
    """How columns of scores may be read: a sentence, and what of the ratings table that fills."""

    words: str
    fills: frozenset[str] = frozenset({"score"})


def wide_advice(columns: Sequence[str], have: Collection[str]) -> WideAdvice:
    """How ``--wide`` may read columns of scores, in a file that has these columns besides."""
    topic = named_after(have)
    prefix, cores, suffix = _fixed_parts(columns)
    if topic == "condition" and not {"item", "stimulus"} & set(have):
        marks = dict.fromkeys(mark for core in cores for mark in _MARK.findall(core))
        split = _best_split(cores, [*marks, ""])
        if split and sum(len({each[n] for each in split[1]}) for n in (0, 1)) <= len(columns):
            fields = ("item", "condition")
            pairs = zip(columns, split[1], strict=True)
            others = _apart({name: dict(zip(fields, each, strict=True)) for name, each in pairs})
            if others:
                return wide_advice([name for name in columns if name not in others], have)
            return _split_advice(prefix, split, suffix)
        for mark in marks:  # without the few that are no answers
            most = [name for name in columns if mark in name]
            if FEWEST <= len(most) < len(columns) and 3 * len(most) >= 2 * len(columns):
                advice = wide_advice(most, have)
                if "item" in advice.fills and "--wide" in advice.words:
                    return advice
    stem = _stem(cores)
    if stem and topic == "condition":
        return WideAdvice(
            f"the names {some(columns)} do not say which clip an answer is about: rename the "
            "columns after items and conditions, like s01_vits, or, if it was another clip for "
            "each rater, make a table with one rating in each row",
            frozenset({"score", "condition", "item"}),
        )
    word = re.fullmatch(r"([^\W_]*\d)([\W_])", prefix)
    if word and topic == "condition" and not {"item", "stimulus"} & set(have):
        # Q1_A and Q1_B: one item
        return _split_advice("", (word[2], [(word[1], core) for core in cores]), suffix)
    if stem and "{" not in stem:
        template = prefix + stem.replace("#", f"{{{topic}}}") + suffix
        words = f"each is an answer of one {topic}" if topic == "rater" else f"each is one {topic}"
        quoted = shlex.quote(template)
        return WideAdvice(f"if {words}, say --wide {quoted}", frozenset({"score", topic}))
    if len(columns) > MOST_LISTED:
        return WideAdvice(
            f"if each is an answer about one clip, rename {some(columns)} after items and "
            "conditions, like s01_vits",
            frozenset({"score", "condition", "item"}),
        )
    words = {
        "condition": "if each holds the answers about one condition",
        "item": "if each holds the answers about one item",
        "rater": "if each holds the answers of one rater",
        "criterion": "if each holds the answers to one question",
    }[topic]
    return WideAdvice(
        f"{words}, say --wide {shlex.quote(','.join(columns))}", frozenset({"score", topic})
    )


def _stem(names: Sequence[str]) -> str:
    """What names have in common that differ in a number: Q# of Q1 and Q2; else an empty text."""
    stems = {re.sub(r"\d+", "#", name) for name in names}
    return next(iter(stems)) if len(stems) == 1 and "#" in next(iter(stems)) else ""


def _fixed_parts(names: Sequence[str]) -> tuple[str, list[str], str]:
    """What stands before and behind all names, in whole words, and what is between."""
    prefix = _common(names)
    prefix = _BEFORE_NAME.sub("", prefix)
    rest = [name[len(prefix) :] for name in names]
    suffix = _common([name[::-1] for name in rest])[::-1]
    suffix = _AFTER_NAME.sub("", suffix)
    if not all(len(name) > len(suffix) for name in rest):
        suffix = ""
    return prefix, [name[: len(name) - len(suffix)] for name in rest], suffix


def _common(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    length = next((n for n, letter in enumerate(first) if letter != last[n : n + 1]), len(first))
    return first[:length]


def _split_advice(prefix: str, split: tuple[str, list[tuple[str, str]]], suffix: str) -> WideAdvice:
    """The template that reads two parts; which is the condition is guessed, and said."""
    mark, parts = split
    firsts, lasts = (list(dict.fromkeys(each[n] for each in parts)) for n in (0, 1))
    numbered = [bool(_stem(kind)) for kind in (firsts, lasts)]
    first_is_item = numbered[0] if numbered[0] != numbered[1] else len(firsts) >= len(lasts)
    fields = ("item", "condition") if first_is_item else ("condition", "item")
    template, turned = (
        shlex.quote(f"{prefix}{{{one}}}{mark}{{{other}}}{suffix}")
        for one, other in (fields, fields[::-1])
    )
    conditions = enumerated((lasts if first_is_item else firsts)[:4])
    return WideAdvice(
        f"if each is an answer about one clip, say --wide {template}, where conditions are "
        f"{conditions}{' and so on' * (len(lasts if first_is_item else firsts) > 4)}, or --wide "
        f"{turned} if the other part of the names is the condition",
        frozenset({"score", "condition", "item"}),
    )
