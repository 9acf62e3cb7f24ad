"""Rows of a file that may be no ratings: practice, exclusions and summaries; asked about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.formatting import enumerated
from analysis.ratings.categorical import Categorical, Columns
from analysis.ratings.header import ColumnMapping
from analysis.ratings.problems import RatingsError, some
from analysis.ratings.reading_rules import folded

_TRIAL = r"(?:[ _-]*(?:trials?|block|phase|round|part|item|task|mode))?[ _-]*\d*"
NO_RATING = re.compile(
    r"(?:practi[cs]e|training|warm[ _-]?up|example|demo|dummy|excluded?|exclusion|cancell?ed|"
    r"invalid|rejected|discard(?:ed)?|removed|aborted|skipped|no[ _-]?consent|withdrawn|"
    r"screened[ _-]?out|(?:survey[ _-])?preview|spam|"
    r"entra[iî]nement|(?:ü|ue)bung|probe(?:durchgang|lauf)|entrenamiento|pr[aá]ctica|"
    r"treinamento|treino|allenamento|练习|練習|训练|訓練|연습)" + _TRIAL
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
    SUMMARY.pattern + r"|sd|std\.?|st\.?dev\.?|standard deviation|counts?|n|min|max|variance|se|ci"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TRUE = frozenset({"true", "t", "1", "1.0", "yes", "y", "x", "ja"})
FALSE = frozenset({"false", "f", "0", "0.0", "no", "n", "nein"})
EMPTY = frozenset({"", "na", "n/a", "nan", "none", "null", "-"})
_LEFT_OUT_IF_TRUE = _words(
    "practice practise training warmup cancelled canceled invalid skipped skip outlier dropped "
    "withdrawn dummy aborted demo"
)
_LEFT_OUT_IF_ANY = _words(
    "excluded exclude exclusion rejected reject rejection removed remove discard discarded"
)
_LEFT_OUT_IF_FALSE = _words(
    "valid consent consented included include accepted approved complete completed finished "
    "keep kept usable"
)
_TOKENS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NEVER = _words(  # columns with a meaning of their own, or with names and words of raters
    "study method criterion estimand rater dimension paragraph language split condition role "
    "system voice stimulus versus_condition versus_stimulus presented_first context label score "
    "trap trap_passed justification review latency_ms plays heard_fraction rated_at "
    "session_status paid counts headphones codes version position left_out_by"
)
_SUMMED = ("rater", "condition", "item", "stimulus")
MOST_VALUES = 200  # of a column that is looked at: one with more is no flag


def selected_rows(
    columns: Columns, mapping: ColumnMapping, ignore: Collection[str]
) -> tuple[NDArray[np.bool_], list[str], list[str]]:
    """Which rows (n,) are read; notes on those that are dropped, and open questions.

    Raises RatingsError where an answer names what the file does not have.
    """
    here = {**mapping.theirs, **{name: name for name in columns.cells}}
    rules, notes = mapping.rules, []
    dropped = np.zeros(len(columns.numbers), dtype=bool)
    answered = set()
    for option in ("drop", "keep"):
        for column, value in rules.rows_named(option):
            hit = _rows_with(columns.cells, here, column, value, option)
            answered.add((here[column], value))
            if option == "drop":
                dropped |= hit
                count = int(hit.sum())
                rows = "1 row" if count == 1 else f"{count} rows"
                notes.append(f"Left out as no ratings: {rows} with {column} = {value}.")
    questions: list[str] = []
    kinds = {name: ours for ours, name in mapping.theirs.items()}
    for name, cells in columns.cells.items():
        if name not in ignore and kinds.get(name, "") not in _NEVER:
            questions += _flags(name, cells, dropped, answered)
    asked = dropped.copy()
    for ours in _SUMMED:
        name = mapping.theirs.get(ours, "")
        if name in columns.cells:
            questions += _summaries(name, ours, columns.cells[name], asked, answered)
    return ~dropped, notes, questions


def _rows_with(
    cells: Mapping[str, Categorical], here: Mapping[str, str], column: str, value: str, option: str
) -> NDArray[np.bool_]:
    if column not in here:
        raise RatingsError(
            [f"--{option} {column}={value}: no column {column} (it has {some(cells)})"]
        )
    found = cells[here[column]]
    hit = found.having(lambda cell: _named(folded(cell), value))
    if not hit.any():
        there = some(sorted({str(each) for each in found.values if str(each).strip()}))
        raise RatingsError([f"--{option} {column}={value}: no row has it; {column} holds {there}"])
    return hit


def _named(cell: str, value: str) -> bool:
    """Whether an answer's value is that of a cell; ``training*`` is all that begins like this."""
    return cell == value or (value.endswith("*") and cell.startswith(value[:-1]))


def _answered(name: str, value: str, answered: Collection[tuple[str, str]]) -> bool:
    return any(column == name and _named(value, given) for column, given in answered)


def _flags(
    name: str,
    column: Categorical,
    dropped: NDArray[np.bool_],
    answered: Collection[tuple[str, str]],
) -> Iterator[str]:
    """A question for each value of a column that speaks against counting its rows.

    Values that begin alike (training1, training2) share one.
    """
    counts = np.bincount(column.codes[~dropped], minlength=len(column.values))
    there = {folded(value): 0 for value in column.values}
    for value, count in zip(column.values, counts.tolist(), strict=True):
        there[folded(value)] += count
    there = {value: count for value, count in there.items() if count}
    if len(there) > MOST_VALUES:
        return
    total = int((~dropped).sum())
    unanswered = [v for v in sorted(set(_flagged(name, there))) if not _answered(name, v, answered)]
    for value, values in _by_beginning(unanswered, there).items():
        count = sum(there[each] for each in values)
        said = some(values) if any(values) else "nothing"
        plain = re.fullmatch(r"[\w.=-]*", f"{name}{value}")
        quoted = f"{name}={value}" if plain else f"'{name}={value}'"
        yield (
            f"column {name}: {count} of {total} rows say {said}: are they ratings? Leave "
            f"them out by --drop {quoted}, or count them by --keep {quoted}"
        )


def _by_beginning(values: Sequence[str], there: Collection[str]) -> dict[str, list[str]]:
    """Values by what answers for them: themselves, or ``training*`` if all such are among them."""
    begun: dict[str, list[str]] = {}
    for value in values:
        letters = re.match(r"[^\W\d_]*", value)
        begun.setdefault(letters[0] if letters else "", []).append(value)
    found: dict[str, list[str]] = {}
    for word, of_word in begun.items():
        alike = [value for value in there if value.startswith(word)]
        if word and len(of_word) > 1 and len(alike) == len(of_word):
            found[f"{word}*"] = of_word
        else:
            found |= {value: [value] for value in of_word}
    return found


def _flagged(name: str, there: Mapping[str, int]) -> Iterator[str]:
    tokens = {token.casefold() for token in _TOKENS.findall(name)}
    truths = set(there) <= TRUE | FALSE | EMPTY
    if tokens & _LEFT_OUT_IF_FALSE and truths:
        yield from (value for value in there if value in FALSE)
    elif tokens & _LEFT_OUT_IF_ANY:
        yield from (value for value in there if value not in FALSE | EMPTY)
    elif tokens & _LEFT_OUT_IF_TRUE and truths:
        yield from (value for value in there if value in TRUE)
    else:
        state = bool(tokens & {"state", "status"})
        named = [
            value
            for value in there
            if NO_RATING.fullmatch(value) or (state and UNFINISHED.fullmatch(value))
        ]
        yield from named if len(named) < len(there) else ()


def _summaries(
    name: str,
    ours: str,
    column: Categorical,
    asked: NDArray[np.bool_],
    answered: Collection[tuple[str, str]],
) -> Iterator[str]:
    """A question about rows that are named after a statistic, unless they are ``asked`` about.

    They are then.
    """
    words = SUMMARY_RATER if ours == "rater" else SUMMARY
    counts = np.bincount(column.codes[~asked], minlength=len(column.values))
    there = {str(v): n for v, n in zip(column.values, counts.tolist(), strict=True) if n}
    found = [
        v for v in there if words.fullmatch(folded(v)) and not _answered(name, folded(v), answered)
    ]
    if found and len(there) > len(found):
        count = sum(there[value] for value in found)
        asked |= column.having(lambda value: value in found)
        rows = "1 row looks" if count == 1 else f"{count} rows look"
        drop = " ".join(f"--drop {name}={value}" for value in found)
        yield (
            f"{rows} like a summary, not like ratings ({name} {enumerated(found)}): leave them out "
            f"by {drop}, or count them by {drop.replace('--drop', '--keep')}"
        )
