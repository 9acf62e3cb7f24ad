"""Which rows of a file are ratings: practice, checks, exclusions and summaries are asked about."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.formatting import enumerated
from analysis.ratings.categorical import Categorical, Columns
from analysis.ratings.covariate_columns import is_covariate
from analysis.ratings.header import ColumnMapping
from analysis.ratings.problems import RatingsError, some
from analysis.ratings.reading_rules import fold_cell
from analysis.ratings.wide_tables import COUNTER, name_words

_KIND = (
    r"(?:[ _-]*(?:trials?|block|phase|round|part|items?|task|mode|checks?|clips?|questions?|"
    r"stim(?:ulus|uli)?|runs?|session|screens?|pages?)){0,2}[ _-]*\d*"
)
_CHECK = (
    r"catch|attention|trap(?:ping)?|instructions?|"
    r"(?:headphones?|headset|volume|sound|audio)[ _-]*(?:check|test|screening)"
)
NO_RATING = re.compile(  # words for rows that are no ratings, in cells and in names of columns
    r"(?:practi[cs]e|prac|training|familiari[sz]ation|warm[ _-]?up|tutorial|example|demo|"
    r"dummy|"
    r"excluded?|exclusion|cancell?ed|invalid|reject(?:ed)?|discard(?:ed)?|removed|aborted|"
    r"skip(?:ped)?|dropped|outlier|no[ _-]?consent|withdrawn|"
    r"screened[ _-]?out|(?:survey[ _-])?preview|spam|"
    r"entra[iî]nement|(?:ü|ue)bung|probe(?:durchgang|lauf)|entrenamiento|pr[aá]ctica|"
    r"treinamento|treino|allenamento|练习|練習|训练|訓練|연습)" + _KIND
)
NO_RATING_OF_KIND = re.compile(  # words for such rows that name other things, too: noise "train"
    r"(?:train|control|gold(?:en)?|screening|" + _CHECK + ")" + _KIND
)
PILOT = re.compile(r"pilot" + _KIND)
NO_CONDITION = re.compile(  # words for such rows in place of a condition; control may be one
    rf"(?:practi[cs]e|training|familiari[sz]ation|warm[ _-]?up|tutorial|dummy|{_CHECK})" + _KIND
)
UNFINISHED = re.compile(  # words for a session's state, which mean other things elsewhere
    r"active|started|running|in[ _-]?progress|incomplete|unfinished|partial|returned|abandoned|"
    r"timed[ _-]?out|expired|dropped[ _-]?out"
)
SUMMARY = re.compile(
    r"(?:grand[ _-])?(?:means?|averages?|avg|totals?|sums?|overall|median)|all|"
    r"mittelwert|summe|gesamt|moyenne|promedio|平均值?|合计|总计"
)
SUMMARY_RATER = re.compile(
    SUMMARY.pattern
    + r"|sd|std\.?|st\.?dev\.?|standard deviation|counts?|n|min|max|variance|se|ci|consensus"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TRUE = frozenset({"true", "t", "1", "1.0", "yes", "y", "x", "ja", "pass", "passed", "ok"})
FALSE = frozenset({"false", "f", "0", "0.0", "no", "n", "nein", "fail", "failed"})
EMPTY = frozenset({"", "na", "n/a", "nan", "none", "null", "-"})
_LEFT_OUT_IF_ANY = _words(
    "excluded exclude exclusion rejected reject rejection removed remove discard discarded"
)
_LEFT_OUT_IF_FALSE = _words(
    "valid consent consented included include accept accepted approved complete completed "
    "finished keep kept usable passed check"
)
_BESIDE = _words("is was has trial trials row rows item block phase flag task round clip session")
_TELLS_KINDS = _words("type kind phase block task trial stage part section category screen page")
_TELLS_GROUPS = _words("group mode wave batch cohort run session set")
# Columns of the table that may tell kinds of trials: others have other meanings, or hold names
_MAY_TELL_KINDS = _words("task session block item condition")
_SUMMED = ("rater", "condition", "item", "stimulus")
MOST_VALUES = 200  # of a column that is looked at: one with more is no flag


def selected_rows(
    columns: Columns, mapping: ColumnMapping, ignore: Collection[str]
) -> tuple[NDArray[np.bool_], list[str], list[str]]:
    """Which rows (n,) are read; notes on those that are dropped, and open questions.

    Raises RatingsError where an answer names what the file does not have.
    """
    here = {**mapping.theirs, **{name: name for name in columns.cells}}
    rules, notes, unit = mapping.rules, [], columns.unit
    dropped = np.zeros(len(columns.numbers), dtype=bool)
    answered = set()
    for option in ("drop", "keep"):
        for column, value in rules.rows_named(option):
            hit = _rows_with(columns.cells, here, column, value, option)
            answered.add((here[column], value))
            if option == "drop":
                dropped |= hit
                count = int(hit.sum())
                rows = unit if count == 1 else f"{unit}s"
                notes.append(f"Left out as no ratings: {count} {rows} with {column} = {value}.")
    questions: list[str] = []
    kinds = {name: ours for ours, name in mapping.theirs.items()}
    loops = {_loop_of(column) for column, value in answered if value == "*"}
    for name, cells in columns.cells.items():
        kind, loop = kinds.get(name, ""), _loop_of(name)
        if name in ignore or is_covariate(name) or (loop and loop in loops):
            continue
        if kind and kind not in _MAY_TELL_KINDS:
            continue
        words: tuple[re.Pattern[str], ...] = (NO_RATING,)
        if kind == "condition":
            words = (NO_CONDITION,)
        elif kind != "item" and name_words(name) & _TELLS_KINDS:
            words = (NO_RATING, NO_RATING_OF_KIND, PILOT)
        elif name_words(name) & _TELLS_GROUPS:
            words = (NO_RATING, PILOT)
        flags = list(_flags(name, cells, unit, dropped, answered, words))
        questions += flags
        loops |= {loop} if flags else set()
    in_question = dropped.copy()
    for ours in _SUMMED:
        name = mapping.theirs.get(ours, "")
        if name in columns.cells:
            questions += _summaries(name, ours, columns.cells[name], in_question, answered)
    return ~dropped, notes, questions


def _rows_with(
    cells: Mapping[str, Categorical], here: Mapping[str, str], column: str, value: str, option: str
) -> NDArray[np.bool_]:
    if column not in here:
        raise RatingsError(
            [f"--{option} {column}={value}: no column {column} (it has {some(cells)})"]
        )
    column_here = cells[here[column]]
    hit = column_here.having(lambda cell: _value_matches(fold_cell(cell), value))
    if not hit.any():
        there = some(sorted({str(each) for each in column_here.values if str(each).strip()}))
        raise RatingsError([f"--{option} {column}={value}: no row has it; {column} holds {there}"])
    return hit


def _value_matches(cell: str, value: str) -> bool:
    """Whether an answer's value is that of a cell.

    ``training*`` is all that begins like this, ``*`` all that is not empty.
    """
    if value == "*":
        return cell not in EMPTY
    return cell == value or (value.endswith("*") and cell.startswith(value[:-1]))


def _loop_of(column: str) -> str:
    """The loop of PsychoPy that a column counts, or an empty text."""
    counter = COUNTER.fullmatch(column)
    return counter[1] if counter else ""


def _value_is_answered(name: str, value: str, answered: Collection[tuple[str, str]]) -> bool:
    return any(column == name and _value_matches(value, answer) for column, answer in answered)


def _flags(
    name: str,
    column: Categorical,
    unit: str,
    dropped: NDArray[np.bool_],
    answered: Collection[tuple[str, str]],
    words: Sequence[re.Pattern[str]],
) -> Iterator[str]:
    """A question for each value of a column that speaks against counting its rows.

    Values that begin alike (training1, training2) share one, and so do all counts of a loop.
    ``words`` are those of such values.
    """
    counts = np.bincount(column.codes[~dropped], minlength=len(column.values))
    there = {fold_cell(value): 0 for value in column.values}
    for value, count in zip(column.values, counts.tolist(), strict=True):
        there[fold_cell(value)] += count
    there = {value: count for value, count in there.items() if count}
    if len(there) > MOST_VALUES:
        return
    total = int((~dropped).sum())
    unanswered = [
        v
        for v in sorted(set(_flag_values(name, there, words)))
        if not _value_is_answered(name, v, answered)
    ]
    together = {"*": unanswered} if _loop_of(name) and unanswered else None
    for value, values in (together or _by_beginning(unanswered, there)).items():
        count = sum(there[each] for each in values)
        values_said = some(values) if any(values) else "nothing"
        quoted = shlex.quote(f"{name}={value}")
        yield (
            f"column {name}: {count} of {total} {unit}s say {values_said}: are they ratings? Leave "
            f"them out by --drop {quoted}, or count them by --keep {quoted}"
        )


def _by_beginning(values: Sequence[str], there: Collection[str]) -> dict[str, list[str]]:
    """Values by what answers for them: themselves, or ``training*`` if all such are among them."""
    begun: dict[str, list[str]] = {}
    for value in values:
        letters = re.match(r"[^\W\d_]*", value)
        begun.setdefault(letters[0] if letters else "", []).append(value)
    by_answer: dict[str, list[str]] = {}
    for word, of_word in begun.items():
        alike = [value for value in there if value.startswith(word)]
        if word and len(of_word) > 1 and len(alike) == len(of_word):
            by_answer[f"{word}*"] = of_word
        else:
            by_answer |= {value: [value] for value in of_word}
    return by_answer


def _flag_values(
    name: str, there: Mapping[str, int], words: Sequence[re.Pattern[str]]
) -> Iterator[str]:
    loop = _loop_of(name)
    tokens = name_words(loop or name)
    truths = set(there) <= TRUE | FALSE | EMPTY
    if loop:
        filled = [value for value in there if value not in EMPTY]
        practice = any(each.fullmatch(token) for each in words for token in tokens)
        yield from filled if practice and len(filled) < len(there) else ()
    elif tokens & _LEFT_OUT_IF_FALSE and truths:
        yield from (value for value in there if value in FALSE)
    elif tokens & _LEFT_OUT_IF_ANY:
        yield from (value for value in there if value not in FALSE | EMPTY)
    elif tokens - _BESIDE and all(map(NO_RATING.fullmatch, tokens - _BESIDE)) and truths:
        yield from (value for value in there if value in TRUE)
    else:
        state = (UNFINISHED,) if tokens & {"state", "status"} else ()
        named = [v for v in there if any(each.fullmatch(v) for each in (*words, *state))]
        yield from named if len(named) < len(there) else ()


def _summaries(
    name: str,
    ours: str,
    column: Categorical,
    in_question: NDArray[np.bool_],
    answered: Collection[tuple[str, str]],
) -> Iterator[str]:
    """Yield a question about rows that are named after a statistic, unless they are asked about.

    ``in_question`` (n,) marks the rows that are; those of the new question are added to it.
    """
    words = SUMMARY_RATER if ours == "rater" else SUMMARY
    counts = np.bincount(column.codes[~in_question], minlength=len(column.values))
    there = {str(v): n for v, n in zip(column.values, counts.tolist(), strict=True) if n}
    summaries = [
        v
        for v in there
        if words.fullmatch(fold_cell(v)) and not _value_is_answered(name, fold_cell(v), answered)
    ]
    if summaries and len(there) > len(summaries):
        count = sum(there[value] for value in summaries)
        in_question |= column.having(lambda value: value in summaries)
        rows = "1 row looks" if count == 1 else f"{count} rows look"
        drop = " ".join(f"--drop {shlex.quote(f'{name}={value}')}" for value in summaries)
        yield (
            f"{rows} like a summary, not like ratings ({name} {enumerated(summaries)}): leave them "
            f"out by {drop}, or count them by {drop.replace('--drop', '--keep')}"
        )
