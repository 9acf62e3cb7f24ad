"""Ratings that one rater gave one clip several times: which of them count, never by their value."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.arrays import distinct_codes, first_places
from analysis.formatting import enumerated
from analysis.ratings.categorical import Categorical, Columns
from analysis.ratings.estimands import answered, estimand_of, keys_where
from analysis.ratings.header import SYNONYMS, ColumnMapping, plain_name
from analysis.ratings.problems import some
from analysis.ratings.reading_rules import ALL, FIRST
from analysis.ratings.reference import reference_of, roles_of
from analysis.ratings.scale_words import cell_number

QUESTION = (  # what makes two ratings of a rater two answers to one question
    *("task", "method", "criterion", "rater", "condition", "system", "voice", "item"),
    *("dimension", "paragraph", "language", "split", "stimulus", "versus_condition"),
    *("versus_stimulus", "presented_first", "context", "version"),
)
OTHER_PEOPLE = frozenset(
    {
        *("list", "sample", "session", "wave", "batch", "group", "cohort", "panel", "site", "lab"),
        *("experiment", "survey", "file", "source", "block", "set", "country"),
    }
)
OTHER_QUESTIONS = SYNONYMS["criterion"] | {"criterion", "dimension"}
TRIALS = frozenset({"trial", "trialnumber", "trialindex", "trialno", "order", "durchgang"})
OTHER_CLIPS = {
    **{"speaker": "voice", "talker": "voice", "sprecher": "voice"},
    **{"lang": "language", "locale": "language"},
}
_NO_HINT = frozenset(  # what is measured of an answer says nothing of who gave it
    {
        *("score", "label", "justification", "latency_ms", "plays", "heard_fraction", "rated_at"),
        *("position", "counts", "paid", "trap", "trap_passed", "review", "session_status"),
        *("headphones", "codes", "recruitment_source", "pair_probability"),
    }
)
MOSTLY, RARELY = 0.8, 0.5  # shares of questions asked again: by design, or now and then
PER_VALUE = 1.5  # ratings of a rater that share a value of a column that tells occasions apart
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|\d{9,}(?:\.\d+)?", re.ASCII)
_DATE = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(?:\d{4}|\d\d)\b.*", re.ASCII)
_ZONE = re.compile(r"\b(?!AM|PM)[A-Z]{2,4}(?:[+-]\d{1,4})?\b", re.ASCII)  # PST, UTC+1
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?", re.ASCII | re.IGNORECASE)
_NAMED_MONTH = re.compile(r"(?=.*\b\d{4}\b).*\b[A-Z][a-z]{2,8}\b.*", re.ASCII)  # 28-Feb-2024


@dataclass
class ResolvedRepeats:
    """The table with repeated ratings resolved; notes, and questions for people.

    ``ordered_by`` names the column of the file, else unused, whose times decided.
    """

    table: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    ordered_by: str | None = None


def resolve_repeats(
    table: pd.DataFrame,
    columns: Columns,
    cells: Mapping[str, Categorical],
    mapping: ColumnMapping,
    own: NDArray[np.bool_],
) -> ResolvedRepeats:
    """Which of several ratings of one clip by one rater count.

    ``table`` (n rows, in the file's order) is made of ``cells``, ``columns`` are those of the file
    for the same rows, and ``own`` (n,) marks rows of a study of Earnest, where the study decides.
    Rows without an answer, such as trials that timed out, are no ratings.
    Rows that repeat another in every column are dropped where something else tells ratings apart,
    or where no rating is repeated otherwise. Of others all count where most questions were asked
    again, and the first where few were; ``--repeats`` names another rule. A column that divides
    them into occasions, or people, is asked about.
    """
    rated = (table["trap"] == "") & table["counts"].fillna(True).astype(bool)
    rated &= ~table["estimand"].isin(keys_where("best_and_worst"))  # on several screens by design
    rated &= answered(table)
    use = np.flatnonzero(np.asarray(rated, dtype=bool) & ~own)
    resolved = ResolvedRepeats(table)
    question = codes_of((cells[name] for name in QUESTION), use)
    if len(use) == 0 or np.bincount(question).max() < 2:
        return resolved
    same = _duplicates(table, columns, mapping, use, question, resolved)
    if same.any():
        keep = np.ones(len(table), dtype=bool)
        keep[use[same]] = False
        use, question = use[~same], question[~same]
        columns = columns.taken(keep)
        cells = {name: column.taken(keep) for name, column in cells.items()}
        places = np.cumsum(keep) - 1
        use, resolved.table = places[use], table[keep].reset_index(drop=True)
    question = distinct_codes(question)[1]
    times = np.bincount(question)
    if len(times) and times.max() > 1 and not resolved.questions:
        _decide(resolved, columns, cells, mapping, use, question)
    return resolved


def codes_of(columns: Iterable[Categorical], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """One code (m,) for each different combination of the columns' values in these rows."""
    codes, most = np.zeros(len(rows), dtype=np.int64), 1
    for column in columns:
        if len(column.values) > 1:
            if most > _MOST_CODES // len(column.values):
                codes, most = distinct_codes(codes)[1], len(rows)
            codes, most = codes * len(column.values) + column.codes[rows], most * len(column.values)
    return distinct_codes(codes)[1]


_MOST_CODES = 2**62


# --- Rows that stand twice ------------------------------------------------------------------------


def _duplicates(
    table: pd.DataFrame,
    columns: Columns,
    mapping: ColumnMapping,
    use: NDArray[np.int64],
    question: NDArray[np.int64],
    resolved: ResolvedRepeats,
) -> NDArray[np.bool_]:
    """Which of these rows (m,) repeat an earlier one in every column, and count once."""
    whole = codes_of(columns.cells.values(), use)
    first = np.zeros(len(use), dtype=bool)
    first[first_places(whole, int(whole.max()) + 1)] = True
    again = ~first
    if not again.any():
        return again
    others = np.bincount(question[first])
    repeated = others.max() > 1
    if repeated and not _tells_ratings_apart(columns, mapping, use[first]):
        equal = "1 row equals" if again.sum() == 1 else f"{again.sum():,} rows equal"
        resolved.notes.append(
            f"{equal} another row in every column. Other ratings are repeated with other scores, "
            "and no column tells a copy from a second answer: these count as repeated ratings."
        )
        return np.zeros(len(use), dtype=bool)  # equal answers are as good as different ones
    times = np.bincount(question)
    one_score = table["score"].to_numpy(dtype=float)[use]
    constant = len(set(one_score[~np.isnan(one_score)].tolist())) < 2
    if constant and not repeated and times.min() > 1 and not mapping.rules.repeats:
        resolved.questions.append(
            f"every rating stands there {times.min()} times with the same score: are they "
            "repeated trials (--repeats all), or one rating (--repeats first)?"
        )
        return np.zeros(len(use), dtype=bool)
    if not repeated and mapping.rules.repeats == ALL:
        return np.zeros(len(use), dtype=bool)
    rows = "1 row repeats" if again.sum() == 1 else f"{again.sum():,} rows repeat"
    count = "does" if again.sum() == 1 else "do"
    resolved.notes.append(f"{rows} another row in every column and {count} not count again.")
    return again


def _tells_ratings_apart(columns: Columns, mapping: ColumnMapping, rows: NDArray[np.int64]) -> bool:
    """Whether a column holds a value of its own for each rating of a rater, like a time."""
    rater = columns.cells.get(mapping.theirs.get("rater", ""))
    answers = {mapping.theirs.get(name, "") for name in ("score", "label", "justification")}
    if rater is None:
        return False
    for name, column in columns.cells.items():
        if name in answers or len(column.values) < 2:
            continue
        if codes_of((rater, column), rows).max() + 1 == len(rows):
            return True
    return False


# --- Ratings of one clip that differ --------------------------------------------------------------


def _decide(
    resolved: ResolvedRepeats,
    columns: Columns,
    cells: Mapping[str, Categorical],
    mapping: ColumnMapping,
    use: NDArray[np.int64],
    question: NDArray[np.int64],
) -> None:
    times = np.bincount(question)
    share = float((times > 1).mean())
    rule = mapping.rules.repeats
    what = (
        f"in {int((times > 1).sum())} of {len(times)} cases a rater rated one clip several times "
        f"({_most(times)})"
    )
    if not rule:
        hint = _hint(columns, mapping, cells, use, question)
        if hint:
            resolved.questions.append(f"{what}, and the column {hint}")
            return
        if RARELY < share <= MOSTLY:
            resolved.questions.append(
                f"{what}: say which count, by --repeats first, --repeats mean or --repeats all"
            )
            return
    rule = rule or (ALL if share > MOSTLY else FIRST)
    by_option = "as was asked for" if mapping.rules.repeats else "--repeats chooses another rule"
    finding = f"Repeated ratings: {what}"
    if rule == ALL:
        resolved.notes.append(f"{finding}: all count, and intervals allow for it ({by_option}).")
        return
    order, how, ordered_by = _in_order(resolved.table, columns, mapping, use, question)
    later = _later(order, question)
    if rule == FIRST:
        resolved.ordered_by = ordered_by
        counts = resolved.table["counts"].copy()
        counts.iloc[use[later]] = False
        resolved.table = resolved.table.assign(counts=counts)
        resolved.notes.append(f"{finding}: the first of each counts, {how} ({by_option}).")
        return
    _average(resolved, use, question, later, finding, by_option)


def _average(
    resolved: ResolvedRepeats,
    use: NDArray[np.int64],
    question: NDArray[np.int64],
    later: NDArray[np.bool_],
    finding: str,
    by_option: str,
) -> None:
    """Puts the mean of its ratings in the place of each question's first one."""
    table = resolved.table.copy()
    repeated = np.bincount(question)[question] > 1
    fixed = {estimand_of(key).name for key in table["estimand"].iloc[use[repeated]].unique()
             if estimand_of(str(key)).scores}  # fmt: skip
    if fixed:
        resolved.questions.append(
            f"{finding}: scores of {enumerated(sorted(fixed))} are choices and have no mean; say "
            "--repeats all or --repeats first"
        )
        return
    scores = table["score"].to_numpy(dtype=np.float64)[use]
    there = ~np.isnan(scores)
    total = np.bincount(question[there], weights=scores[there], minlength=question.max() + 1)
    count = np.bincount(question[there], minlength=len(total))
    means = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    table.loc[use[repeated], "score"] = means[question[repeated]]
    table.loc[use[repeated], "label"] = ""
    keep = np.ones(len(table), dtype=bool)
    keep[use[later]] = False
    resolved.table = table[keep].reset_index(drop=True)
    resolved.notes.append(f"{finding}: their mean counts as one rating ({by_option}).")


def _most(times: NDArray[np.int64]) -> str:
    low, high = int(times[times > 1].min()), int(times.max())
    return f"{low} ratings each" if low == high else f"{low} to {high} ratings each"


def _later(order: NDArray[np.int64], question: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which ratings (m,) are not the first of their question in this order."""
    later = np.ones(len(question), dtype=bool)
    later[order[first_places(question[order], int(question.max()) + 1)]] = False
    return later


def _in_order(
    table: pd.DataFrame,
    columns: Columns,
    mapping: ColumnMapping,
    use: NDArray[np.int64],
    question: NDArray[np.int64],
) -> tuple[NDArray[np.int64], str, str | None]:
    """The ratings (m,) from the first to the last, by what, and by which unused column.

    By time, by position, or by the order of rows.
    """
    rows = np.arange(len(use))
    repeated = np.bincount(question)[question] > 1
    unclear = ""
    for name, values in _times(table, columns, mapping):
        called = "rated_at" if name is None else f"the column {name}"
        orders = [
            np.lexsort((rows, times))
            for times in _as_times(values.iloc[use])
            if _all_differ(times, question, repeated)
        ]
        later = [_later(order, question) for order in orders]
        if orders and all(np.array_equal(later[0], each) for each in later):
            return orders[0], f"by the time in {called}", name
        if name is not None or values.fillna("").astype(str).str.strip().any():
            unclear = unclear or f"{called} does not tell which time was first"
    position = table["position"].iloc[use]
    if position.notna().all():
        places = position.to_numpy(dtype=np.float64)
        session = table["session"].iloc[use[repeated]].reset_index(drop=True)
        one_session = session.groupby(question[repeated]).nunique().max() == 1
        if one_session and _all_differ(places, question, repeated):
            return np.lexsort((rows, places)), "by the column position", None
    for name in mapping.unused:
        if plain_name(name) in TRIALS:
            numbers = columns.cells[name].taken(use)
            places = np.array([cell_number(str(value)) for value in numbers.values])[numbers.codes]
            if not np.isnan(places).any() and _all_differ(places, question, repeated):
                return np.lexsort((rows, places)), f"by the column {name}", name
    why = unclear or "no column says the time"
    return rows, f"by the order of the rows, as {why}", None


def _times(
    table: pd.DataFrame, columns: Columns, mapping: ColumnMapping
) -> Iterable[tuple[str | None, pd.Series]]:
    """Times of the rows, by the column of the file; None for the table's own."""
    yield None, table["rated_at"]
    for name in mapping.unused:
        if plain_name(name) in SYNONYMS["rated_at"]:
            column = columns.cells[name]
            values = pd.Series(column.values, dtype=object)
            yield name, values.take(column.codes).reset_index(drop=True)


def _as_times(texts: pd.Series) -> list[NDArray[np.float64]]:
    """Seconds or another count that grows with time; empty where a cell holds no such time.

    There are two where nothing tells whether days or months come first.
    """
    words = [str(text).strip() for text in texts.unique()]
    if all(map(_ISO_TIME.fullmatch, words)):
        readings = [{word: _iso_seconds(word) for word in words}]
    else:
        readings = [_seconds(words, dayfirst) for dayfirst in _day_is_first(words)]
    mapped: list[NDArray[np.float64]] = [
        np.asarray(texts.astype(str).str.strip().map(numbers), dtype=np.float64)
        for numbers in readings
    ]
    return [times for times in mapped if not np.isnan(times).any()]


def _iso_seconds(word: str) -> float:
    if "-" not in word:
        return float(word)
    at = pd.to_datetime(word, errors="coerce", utc=True)
    return math.nan if pd.isna(at) else float(at.timestamp())


def _day_is_first(words: Sequence[str]) -> Sequence[bool]:
    """The ways to read dates: 28.02. and 28/02 begin with a day, 02/28 with a month."""
    dates = [match for word in words if (match := _DATE.fullmatch(word))]
    if len(dates) < len(words):
        others = (_NAMED_MONTH, _TIME_OF_DAY)
        return [False] if any(all(map(each.fullmatch, words)) for each in others) else []
    if any(match[2] == "." or int(match[1]) > 12 for match in dates):
        return [True]
    return [False] if any(int(match[3]) > 12 for match in dates) else [True, False]


def _seconds(words: Iterable[str], dayfirst: bool) -> dict[str, float]:
    """The time of each word, NaN where it is none; zones of one file are taken to be one."""
    seconds = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of months that come second, which is known here
        for word in words:
            at = pd.to_datetime(_ZONE.sub("", word), errors="coerce", dayfirst=dayfirst)
            seconds[word] = math.nan if pd.isna(at) else float(at.timestamp())
    return seconds


def _all_differ(
    values: NDArray[np.float64], question: NDArray[np.int64], repeated: NDArray[np.bool_]
) -> bool:
    pairs = np.column_stack([question[repeated], values[repeated]])
    return bool(len(np.unique(pairs, axis=0)) == len(pairs))


# --- Columns that divide them ---------------------------------------------------------------------


def _hint(
    columns: Columns,
    mapping: ColumnMapping,
    cells: Mapping[str, Categorical],
    use: NDArray[np.int64],
    question: NDArray[np.int64],
) -> str:
    """How a column divides the ratings of one question, as a question; empty where none does."""
    kinds = {name: ours for ours, name in mapping.theirs.items()}
    rater = cells["rater"]
    for name, column in columns.cells.items():
        ours = kinds.get(name, "")
        if ours in _NO_HINT or ours in QUESTION or len(column.values) < 2 or name == mapping.sample:
            continue
        if plain_name(name) in SYNONYMS["rated_at"]:
            continue
        divided = codes_of((Categorical(question.astype(np.int32), list(range(question.max() + 1))),
                            column.taken(use)), np.arange(len(use)))  # fmt: skip
        by_rater = codes_of((rater, column), use)
        if np.bincount(divided).max() > 1 or len(use) / (by_rater.max() + 1) < PER_VALUE:
            continue
        return f"{name} divides: {_remedies(name, mapping)}"
    return ""


def _remedies(name: str, mapping: ColumnMapping) -> str:
    people = f"other people of the same name in rater (--column sample={name})"
    again = "the same people again (--repeats all, mean or first)"
    questions = f"other questions (--column criterion={name})"
    kinds = [people, again, questions] if "criterion" not in mapping.filled else [people, again]
    plain = plain_name(name)
    if plain in OTHER_CLIPS:
        kinds = [f"other clips (--column {OTHER_CLIPS[plain]}={name})", *kinds]
    elif plain in OTHER_QUESTIONS and len(kinds) == 3:
        kinds = [questions, again, people]
    elif plain not in OTHER_PEOPLE:
        kinds = [again, *(kind for kind in kinds if kind != again)]
    return f"are they {enumerated(kinds, 'or')}?"


_OTHER = {"rated": "versus", "versus": "rated"}
OF_CONDITION = ("role", "system", "voice")


def turn_pairs(
    table: pd.DataFrame, own: NDArray[np.bool_], named: str = ""
) -> tuple[pd.DataFrame, list[str]]:
    """The table with each pair of conditions in one direction, and a note where rows were turned.

    The reference stands second (as ``versus_condition``): the one ``named``, in all its pairs;
    without one, the direction that more rows have stays. ``own`` (n,) marks rows of a study of
    Earnest, which stay as they are.
    """
    mine = table["estimand"].isin(keys_where("in_pairs")) & (table["versus_condition"] != "")
    rows = np.flatnonzero(np.asarray(mine, dtype=bool) & ~own)
    counts = table.iloc[rows].groupby(["condition", "versus_condition"], sort=True).size()
    both = {pair for pair in counts.index if pair[0] < pair[1] and pair[::-1] in counts.index}
    both |= {pair for pair in counts.index if named == pair[0] != pair[1]}
    if not both:
        return table, []
    names = sorted({name for pair in both for name in pair})
    by_role = reference_of(names, "", roles_of(table)).name
    reference = named if named in names else by_role
    turned = {}
    for pair in sorted(both):
        first, second = pair if counts[pair] >= counts.get(pair[::-1], 0) else pair[::-1]
        if reference in pair and second != reference:
            first, second = second, first
        turned[(second, first)] = (first, second)
    keys = zip(table["condition"], table["versus_condition"], strict=True)
    hit = np.array([key in turned for key in keys], dtype=bool) & np.asarray(mine) & ~own
    listing = some(f"{b} versus {a} as {a} versus {b}" for b, a in turned)
    note = (
        f"{int(hit.sum())} comparisons name a pair the other way round and are turned: {listing}."
    )
    return _turn_rows(table, hit), [note]


def _turn_rows(table: pd.DataFrame, hit: NDArray[np.bool_]) -> pd.DataFrame:
    texts = ("condition", "stimulus", "versus_condition", "versus_stimulus", "presented_first")
    result = table.astype(dict.fromkeys((*texts, *OF_CONDITION), "str"))
    for name in ("condition", "stimulus"):
        result.loc[hit, name] = table.loc[hit, f"versus_{name}"]
        result.loc[hit, f"versus_{name}"] = table.loc[hit, name]
    first = [_OTHER.get(str(word), str(word)) for word in table.loc[hit, "presented_first"]]
    result.loc[hit, "presented_first"] = first
    for key in table.loc[hit, "estimand"].unique():
        rows = hit & (table["estimand"] == key).to_numpy(dtype=bool)
        result.loc[rows, "score"] = estimand_of(str(key)).mirrored(table.loc[rows, "score"])
    for name in OF_CONDITION:  # known where the other condition is rated somewhere
        values_of = table.loc[table[name] != "", ["condition", name]].drop_duplicates()
        once = values_of.drop_duplicates("condition", keep=False)
        known = dict(zip(once["condition"], once[name], strict=True))
        result.loc[hit, name] = [
            str(known.get(condition, "")) for condition in result.loc[hit, "condition"]
        ]
    return result
