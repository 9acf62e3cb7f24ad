"""The ratings table: its columns, types, checks and hash; read from a study or from CSV.

A table is a pandas frame with the columns of ``COLUMNS``, one row per rating, traps included; of a
file that an analysis wrote also ``left_out_by``, which is no part of its hash. Rows are kept in a
canonical order, so that the same ratings give the same numbers to the last bit, in whatever order
they arrived.
"""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.arrays import first_places
from analysis.formatting import enumerated
from analysis.ratings.categorical import (
    Categorical,
    Columns,
    arrow_text,
    categoricals,
    columns_of,
    constant,
    distinct_pairs,
    in_order,
    join_texts,
    lines_of,
    order_of,
)
from analysis.ratings.cells import (
    COLUMNS,
    HASHED_WHERE_FILLED,
    INTEGERS,
    LATER,
    LEFT_OUT_BY,
    REALS,
    TRAP,
    TRUTHS,
    canonical_cell,
    csv_lines,
    dtype_of,
    reader_of,
    trap_kind,
    unescape_cells,
)
from analysis.ratings.covariate_columns import Covariates, read_covariates
from analysis.ratings.estimands import (
    Estimand,
    estimand_of,
    estimand_of_method,
    keys_where,
    methods_of,
)
from analysis.ratings.header import SYNONYMS, ColumnMapping, column_mapping, plain_name
from analysis.ratings.inferred_method import inferred_method
from analysis.ratings.item_names import items_of_names
from analysis.ratings.label_scores import score_words, scores_of_labels, without_missing
from analysis.ratings.large_tables import (
    LARGE,
    empty_column,
    row_digests,
    share_texts,
    text_column,
)
from analysis.ratings.problems import RatingsError, RatingsWarning, rows_text, some
from analysis.ratings.reading_rules import ReadingRules, fold_cell
from analysis.ratings.repeats import resolve_repeats, turn_pairs
from analysis.ratings.row_selection import selected_rows
from analysis.ratings.scale_words import cell_number, methods_with, scores_of_words
from analysis.ratings.wide_tables import Trap, WideTable, number_of, out_of_scale
from listening.common.spreadsheets import (
    TableError,
    clean_name,
    comparison_key,
    decimal_points,
    located,
    strict_number,
)
from listening.methods import Method
from listening.methods.estimand import ONE_CLIP


def long_columns(raw: Columns, mapping: ColumnMapping) -> tuple[Columns, ColumnMapping]:
    """The columns with a row for each answer that is not empty, and the mapping that fits them.

    What an answer gives stands in columns of the names that the ratings table has.
    """
    wide = mapping.wide
    assert wide is not None
    length = len(raw.numbers)
    if wrong := out_of_scale(_spans(raw, wide)):
        raise RatingsError([wrong])
    ours = sorted({name for answer in wide.answers for name in (*answer.theirs, *answer.constants)})
    parts: dict[str, list[Categorical]] = {name: [] for name in ours}
    for answer in wide.answers:
        for name in ours:
            if name in answer.theirs:
                parts[name].append(raw.cells[answer.theirs[name]])
            else:
                parts[name].append(constant(answer.constants.get(name, ""), length))
    repeated = np.tile(np.arange(length), len(wide.answers))
    rest = {name: each for name, each in raw.cells.items() if name not in wide.used}
    cells = {name: each.taken(repeated) for name, each in rest.items()}
    cells |= {name: _stack_columns(columns) for name, columns in parts.items()}
    for trap in wide.traps:
        cells |= _trap_columns(cells, trap, raw.cells, repeated)
    there = np.lexsort((np.arange(len(repeated)), repeated))  # as in the file, row by row
    empty = cells["score"].having(lambda cell: not str(cell).strip())
    notes = raw.notes
    if empty.any():
        of = f"{int(empty.sum()):,} of {len(empty):,} cells for answers are empty"
        notes = (*notes, f"{of}: they are no ratings.")
    long = Columns(cells, raw.numbers[repeated], notes).taken(there[~empty[there]])
    taken = [name for name in ("trap", "trap_passed") if name in cells]
    theirs = {**mapping.theirs, **{name: name for name in (*ours, *taken)}}
    return long, replace(mapping, theirs=theirs, wide=None)


def _spans(raw: Columns, wide: WideTable) -> dict[str, tuple[float, float]]:
    """The lowest and the highest number of each column of answers that has any."""
    spans = {}
    for name in (answer.theirs.get("score", "") for answer in wide.answers):
        numbers = [number_of(str(value)) for value in raw.cells[name].values] if name else []
        known = [number for number in numbers if number is not None]
        if known:
            spans[name] = (min(known), max(known))
    return spans


def _stack_columns(columns: list[Categorical]) -> Categorical:
    """Columns of cells one below the other."""
    values = list(dict.fromkeys(str(value) for each in columns for value in each.values))
    places = {value: place for place, value in enumerate(values)}
    codes = [
        np.array([places[str(value)] for value in each.values], dtype=np.int32)[each.codes]
        for each in columns
    ]
    return Categorical(np.concatenate(codes), values)


def _trap_columns(
    cells: Mapping[str, Categorical],
    trap: Trap,
    wide: Mapping[str, Categorical],
    repeated: np.ndarray,
) -> dict[str, Categorical]:
    """The columns trap and trap_passed where an answer is about the clip of a trap."""
    clip, expected = (wide[name].taken(repeated) for name in (trap.stimulus, trap.expected))
    clips = [_text(cells["stimulus"], row) for row in range(len(repeated))]
    hit = [bool(name) and name == _text(clip, row) for row, name in enumerate(clips)]
    kinds, passed = [], []
    for row, is_trap in enumerate(hit):
        before = _text(cells["trap"], row) if "trap" in cells else ""
        kinds.append(trap.kind if is_trap else before)
        right = _text(cells["trap_passed"], row) if "trap_passed" in cells else ""
        if is_trap:
            answer, wanted = (
                strict_number(_text(cells["score"], row)),
                strict_number(_text(expected, row)),
            )
            right = ""
            if answer is not None and wanted is not None:
                right = str(abs(answer - wanted) <= trap.within).lower()
        passed.append(right)
    return {"trap": _column(kinds), "trap_passed": _column(passed)}


def _text(column: Categorical, row: int) -> str:
    return str(column.values[column.codes[row]]).strip()


def _column(texts: list[str]) -> Categorical:
    values = list(dict.fromkeys(texts))
    places = {value: place for place, value in enumerate(values)}
    return Categorical(np.array([places[text] for text in texts], dtype=np.int32), values)


def conditions_of_names(cells: Mapping[str, Categorical], pattern: str) -> dict[str, Categorical]:
    """The columns condition (and item) that a pattern finds in the names of stimuli.

    The group ``item`` is the item; all other groups are the condition, joined by hyphens. The other
    clip of a comparison gives ``versus_condition``. Raises RatingsError where the pattern does not
    fit.
    """
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise RatingsError([f"--condition-pattern {pattern}: no pattern ({error})"]) from None
    if not set(range(1, expression.groups + 1)) - set(expression.groupindex.values()) and not (
        set(expression.groupindex) - {"item"}
    ):
        raise RatingsError([f"--condition-pattern {pattern}: put the condition in ( )"])
    rated = ~cells["trap"].having(lambda value: bool(trap_kind(value)))
    item = expression.groupindex.get("item", 0)
    named = {}
    for clip, ours in (("stimulus", "condition"), ("versus_stimulus", "versus_condition")):
        column = cells[clip]
        n_rated = np.bincount(column.codes[rated], minlength=len(column.values))
        names = [str(v) if n else "" for v, n in zip(column.values, n_rated, strict=True)]
        if clip == "versus_stimulus" and not any(names):
            break
        matches = [expression.search(name) for name in names]
        odd = [name for name, match in zip(names, matches, strict=True) if match is None and name]
        if odd:
            raise RatingsError([f"--condition-pattern {pattern}: does not fit {some(odd)}"])
        named[ours] = column.renamed([_condition_of(match, item) for match in matches])
        if item and ours == "condition":
            items = [
                clean_name(match[item] or "") if match else str(name)
                for match, name in zip(matches, column.values, strict=True)
            ]
            named["item"] = column.renamed(items)
    return named


def _condition_of(match: re.Match[str] | None, item: int) -> str:
    """The groups of a name other than the item's, joined by hyphens."""
    groups = enumerate(match.groups(), start=1) if match else ()
    return clean_name("-".join(group for place, group in groups if group and place != item))


NAMED = (  # columns whose cells are names
    *("study", "task", "criterion", "session", "rater", "block", "item", "dimension", "paragraph"),
    *("language", "split", "condition", "system", "voice", "stimulus"),
    *("versus_condition", "versus_stimulus"),
)
ASKED = {  # columns whose near-equal names are asked about, and those with the same names
    "rater": ("rater",),
    "condition": ("condition", "versus_condition"),
    "system": ("system",),
    "item": ("item",),
    "stimulus": ("stimulus", "versus_stimulus"),
}
MOST_GROUPS = 3  # of near-equal names that a question shows
DIFFER = "differ only in case, blanks, leading zeros or .0"


def clean_columns(cells: Mapping[str, Categorical]) -> tuple[dict[str, Categorical], list[str]]:
    """The columns with clean names (`clean_name`), and a note for each column that changed."""
    result, notes = dict(cells), []
    for name in NAMED:
        column = cells[name]
        values = [value if value is None else clean_name(str(value)) for value in column.values]
        changed = [n for n, value in enumerate(column.values) if value != values[n]]
        if not changed:
            continue
        result[name] = column.renamed(values)
        rows = int(column.counts()[changed].sum())
        shown = f"{str(column.values[changed[0]])!a} is read as {values[changed[0]]!r}"
        there = "1 name" if len(changed) == 1 else f"{len(changed)} names"
        notes.append(
            f"Column {name}: blanks or Unicode forms of {there} are unified in {rows} rows "
            f"({shown})."
        )
    return result, notes


def near_equal(
    cells: Mapping[str, Categorical], rules: ReadingRules, theirs: Mapping[str, str]
) -> tuple[dict[str, Categorical], list[str], list[str]]:
    """The columns with names unified that are said to be the same; notes, and open questions.

    ``theirs`` has the file's names of columns: answers may use either.
    """
    result, notes, questions = dict(cells), [], []
    ours = {name: key for key, name in theirs.items()}
    answers = {
        option: [_answer(text, ours) for text in getattr(rules, option)]
        for option in ("same", "different")
    }
    for topic, columns in ASKED.items():
        groups = _groups([cells[name] for name in columns])
        spelling: dict[str, str] = {}
        open_groups = []
        for names in groups:
            key = comparison_key(names[0])
            if _is_answered(answers["same"], topic, key):
                spelling |= dict.fromkeys(names[1:], names[0])
            elif not _is_answered(answers["different"], topic, key):
                open_groups.append(names)
        for name in columns if spelling else ():
            values = [spelling.get(value, value) for value in cells[name].values]
            result[name] = cells[name].renamed(values)
        if spelling:
            replacements = [f"{other} is read as {name}" for other, name in spelling.items()]
            notes.append(f"Column {topic}: {some(replacements)}, as was asked for.")
        if open_groups:
            shown = [enumerated(names) for names in open_groups]
            more = [f"{len(shown) - MOST_GROUPS} more"] * (len(shown) > MOST_GROUPS)
            groups_said = "; ".join([*shown[:MOST_GROUPS], *more])
            ask = "are they one name" if len(shown) == 1 else "is each of these groups one name"
            questions.append(
                f"column {topic}: {groups_said} {DIFFER}: {ask}? Say --same {topic} or "
                f"--different {topic} (of one: --same {topic}={open_groups[0][0]!r})"
            )
    unknown = [a for pair in answers.values() for a, _ in pair if a not in ASKED]
    if unknown:
        raise RatingsError(
            [f"{unknown[0]}: --same and --different are about {enumerated(sorted(ASKED), 'or')}"]
        )
    return result, notes, questions


def _answer(text: str, ours: Mapping[str, str]) -> tuple[str, str]:
    """The column of an answer, and the key of the name that it is about, if it names one."""
    column, _, name = text.partition("=")
    return ours.get(column, column), comparison_key(name) if name else ""


def _is_answered(answers: Sequence[tuple[str, str]], column: str, key: str) -> bool:
    return any(topic == column and name in ("", key) for topic, name in answers)


def _groups(columns: Sequence[Categorical]) -> Iterator[list[str]]:
    """Names of these columns that are nearly equal, the most frequent spelling first."""
    counts: dict[str, int] = {}
    for column in columns:
        for value, count in zip(column.values, column.counts().tolist(), strict=True):
            if value and count:
                counts[str(value)] = counts.get(str(value), 0) + count
    alike: dict[str, list[str]] = {}
    for name in counts:
        alike.setdefault(comparison_key(name), []).append(name)
    for names in alike.values():
        if len(names) > 1:
            yield sorted(names, key=lambda name: -counts[name])


SCREEN = ("task", "criterion", "rater", "session", "block", "item")
ENOUGH = 30  # scores from which on a scale without its upper half is no chance


def check_ranks(
    table: pd.DataFrame, own: NDArray[np.bool_], numbers: NDArray[np.int64]
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The table with tied ranks as mid-ranks; notes, and what is wrong with ranks.

    A screen is what one rater ranked at once. Ranks among different numbers of clips are not
    comparable and are refused, as are places that are missing. ``numbers`` (n,) are those of the
    rows in the file; ``own`` marks rows of a study of Earnest.
    """
    ranked = table["estimand"].isin(keys_where("in_places")) & (table["trap"] == "")
    rows = np.flatnonzero(np.asarray(ranked & table["score"].notna(), dtype=bool) & ~own)
    if not len(rows):
        return table, [], []
    use = table.iloc[rows]
    screens = use.groupby(list(SCREEN), sort=False)
    size = screens["score"].transform("size").to_numpy()
    sizes = sorted(set(size.tolist()))
    if len(sizes) > 1:
        return table, [], [
            f"ranks of screens with {enumerated([f'{n}' for n in sizes])} clips: a place among "
            f"{sizes[0]} says something else than one among {sizes[-1]}. Analyse screens of one "
            "size by themselves, or write each screen as comparisons of two clips (method ab)"
        ]  # fmt: skip
    middle = screens["score"].rank(method="average").to_numpy()
    fits = _as_ranked(use, screens)
    if not fits.all():
        wrong = numbers[rows[~fits]]
        return table, [], [
            f"{rows_text(wrong.tolist())}, column score: places of a screen of {sizes[0]} clips "
            f"must be 1 to {sizes[0]}, with ties like 1, 1, 3; a clip may be missing"
        ]  # fmt: skip
    tied = use["score"].to_numpy(dtype=np.float64) != middle
    equal = screens["score"].transform(lambda scores: scores.duplicated(keep=False)).to_numpy(bool)
    if not equal.any():
        return table, [], []
    scores = table["score"].to_numpy(dtype=np.float64).copy()
    scores[rows[tied]] = middle[tied]
    midranked = table.assign(score=scores)
    groups = use[equal].groupby(list(SCREEN), sort=False).ngroups
    note = (
        f"{groups} of {screens.ngroups} screens hold ties: clips that share a place have the mean "
        "of their places (mid-ranks)."
    )
    return midranked, [note], []


def _as_ranked(use: pd.DataFrame, screens: Any) -> NDArray[np.bool_]:
    """Which ranks (m,) are of a screen that was ranked from 1 on in a usual way."""
    score, ranks = use["score"].to_numpy(dtype=np.float64), screens["score"]
    fits = [score == ranks.rank(method=method).to_numpy() for method in ("average", "min", "dense")]
    fits.append(score == ranks.rank(method="max").to_numpy())
    code = screens.ngroup().to_numpy()
    right = np.zeros(len(score), dtype=bool)
    for each in fits:
        whole = np.bincount(code, weights=~each) == 0
        right |= whole[code]
    return right


def short_scales(table: pd.DataFrame, own: NDArray[np.bool_], scale: str = "") -> Iterator[str]:
    """A question for each kind of score of which nobody used the upper part of the scale.

    These are categories of five points that end at three, and ratings from 0 to 100 that end at
    ten. ``scale`` is the answer: ``1,5`` or ``0,100``.
    """
    rated = (table["trap"] == "") & table["score"].notna()
    foreign = table[np.asarray(rated, dtype=bool) & ~own]
    scale = scale.replace(" ", "").replace("-", ",")
    usual = {
        known.name: _ends_text(known) for known in map(estimand_of, foreign["estimand"].unique())
    }
    if scale and usual and scale not in usual.values():
        scales = enumerated([f"{name} has {ends or 'none'}" for name, ends in usual.items()])
        yield (
            f"--scale {scale} is not the usual scale of these scores ({scales}): leave it out, "
            "scores on another scale are used as they are"
        )
        return
    for (key, criterion), scores in foreign.groupby(["estimand", "criterion"], sort=True)["score"]:
        known = estimand_of(str(key))
        if len(scores) < ENOUGH or scale == _ends_text(known):
            continue
        low, high = scores.min(), scores.max()
        where = f" of {criterion}" if criterion else ""
        if known.ends == (1.0, 5.0) and low == 1 and high <= 3 and not (scores % 1).any():
            points = enumerated([f"{value:g}" for value in sorted(scores.unique())], "or")
            yield (
                f"all {len(scores)} {known.name} scores{where} are {points}: say --scale 1,5 if "
                "the scale had five points, or --set method=free_choice for means on a "
                "shorter scale"
            )
        elif known.ends == (0.0, 100.0) and high <= 10:
            yield (
                f"all {len(scores)} {known.name} scores{where} are {low:g} to {high:g}: say "
                "--scale 0,100 if the scale ended at 100, or --set method=mos if it had five "
                "points, or --set method=free_choice for means on another scale"
            )


def _ends_text(known: Estimand) -> str:
    """The ends of an estimand's usual scale as ``--scale`` names them; empty if it has none."""
    return f"{known.ends[0]:g},{known.ends[1]:g}" if known.ends else ""


# What surveys write for an answer that is missing
MISSING_CODES = {-999.0, -99.0, -98.0, -97.0, -9.0, -8.0, -7.0, -1.0}
RARE = 0.02  # a share of scores outside of the scale that may be typing errors
MISSING_CODES |= {0.0, 9.0, 88.0, 97.0, 98.0, 99.0, 999.0, 9999.0}


def missing_codes(
    table: pd.DataFrame, raw: Columns, own: NDArray[np.bool_], mapping: ColumnMapping
) -> Iterator[str]:
    """A question for each score outside of the scale that may be missing or a typing error.

    Where many others are outside, too, the scale is another one, which is said elsewhere.
    """
    name = mapping.theirs.get("score", mapping.theirs.get("label", ""))
    rated = np.asarray((table["trap"] == "") & table["score"].notna(), dtype=bool) & ~own
    kept = {cell_number(value) for column, value in mapping.rules.rows_named("keep")
            if column in (name, "score")}  # fmt: skip
    for key, scores in table[rated].groupby("estimand", sort=True)["score"]:
        known = estimand_of(str(key))
        ends = known.ends
        if ends is None:
            continue
        if known.absent is not None and "criterion" in mapping.filled:
            scores = scores[scores != known.absent]  # of what was asked about and is not there
        outside = scores[~scores.between(*ends)].value_counts()
        few = outside.sum() <= RARE * len(scores)
        if 2 * outside.sum() > len(scores) or not (few or set(outside.index) <= MISSING_CODES):
            continue
        for code, count in outside.sort_index().items():
            if code in kept or name not in raw.cells:
                continue
            texts = (v for v in raw.cells[name].values if cell_number(str(v)) == code)
            text = next(texts, f"{code:g}")
            scores_are = "1 score is" if count == 1 else f"{count:,} scores are"
            answer = shlex.quote(f"{'score' if 'score' in mapping.theirs else name}={text}")
            buttons = bool(code == 0 and ends[0] == 1 and scores.max() == ends[1] - 1)
            drop, keep = f"--drop {answer}", f"--keep {answer}"
            if buttons:
                yield (
                    f"{scores_are} 0 and none is {ends[1]:g}: were buttons counted from 0, as "
                    f"jsPsych does? Then add 1 to each score in the file. Leave them out by {drop} "
                    f"if 0 is a missing answer, or count them as they are by {keep}"
                )
                continue
            yield (
                f"{scores_are} {text}, outside of the scale of {ends[0]:g} to {ends[1]:g}: missing "
                f"answers or typing errors? Leave them out by {drop}, or count them by {keep}"
            )


TRAINING = "training"  # stands in the column trap for training trials, which may pass nothing
Rows = NDArray[np.intp]
Mistake = tuple["pd.Series[bool]", str, str]  # a mask (n,), the column, what is wrong with it


def check_table(
    cells: Mapping[str, Categorical],
    source: str,
    numbers: Rows,
    questions: Sequence[str] = (),
    whole_pairs: bool = False,
) -> pd.DataFrame:
    """The typed table of all columns; raises RatingsError with every mistake, a line for each.

    ``source`` names the ratings, ``numbers`` (n,) those of their rows for people. ``questions``
    that only a person can answer are mistakes too, told first. With ``whole_pairs``, comparisons
    of two clips must name both conditions.
    """
    problems = [located(source, question) for question in questions]
    wrong: dict[str, Rows] = {}
    typed = {}
    for name in COLUMNS:
        typed[name], mistakes = _type_column(name, cells[name])
        for rows, text in mistakes:
            named_rows = rows_text(numbers[rows].tolist())
            problems.append(f"{source}, {named_rows}, column {name}: {text}")
        wrong[name] = np.concatenate([np.zeros(0, np.intp), *(rows for rows, _ in mistakes)])
    if len(numbers) > LARGE:
        share_texts(typed)
    table = pd.DataFrame(typed, columns=list(COLUMNS))
    for mask, name, text in [*_mistakes(table), *(_half_pairs(table) if whole_pairs else ())]:
        rows = np.setdiff1d(np.flatnonzero(np.asarray(mask, dtype=bool)), wrong[name])
        if len(rows):
            named_rows = rows_text(numbers[rows].tolist())
            problems.append(f"{source}, {named_rows}, column {name}: {text}")
    if problems:
        raise RatingsError(problems)
    return table


def _type_column(name: str, cells: Categorical) -> tuple[pd.Series, list[tuple[Rows, str]]]:
    """A column of cells as a series, and what cannot be read of it: rows and words."""
    read = reader_of(name)
    values: list[Any] = []
    unread: dict[str, list[int]] = {}
    for code, value in enumerate(cells.values):
        try:
            values.append(read(value))
        except ValueError as error:
            values.append(read(None))
            unread.setdefault(str(error), []).append(code)
    mistakes = []
    for text, codes in unread.items():
        rows = np.flatnonzero(np.isin(cells.codes, codes))
        first, *others = [repr(cells.values[code]) for code in codes]
        likewise = f" (likewise {some(others)})" if others else ""
        if len(rows):
            mistakes.append((rows, f"{first} {text}{likewise}"))
    return _as_series(values, cells.codes, dtype_of(name)), mistakes


def _as_series(values: list[Any], codes: NDArray[Any], dtype: str) -> pd.Series:
    """The value of each code (n,): of many rows, texts as categories."""
    if len(codes) > LARGE and dtype == "str":
        return text_column(codes, values)
    different: pd.Series = pd.Series(values, dtype=dtype)
    if len(codes) > LARGE and different.isna().all():
        return empty_column(len(codes), dtype)
    return pd.Series(different.array.take(codes), copy=False)


def _mistakes(table: pd.DataFrame) -> Iterator[Mistake]:
    trap = table["trap"] != ""
    yield table["rater"] == "", "rater", "is empty; every rating needs its rater's code"
    yield ~trap & (table["condition"] == ""), "condition", "is empty; name the condition"
    nothing = (table["item"] == "") & (table["stimulus"] == "")
    yield ~trap & nothing, "item", "and stimulus are empty; name the item or the stimulus"
    known = trap & ~table["trap"].isin((TRAINING, TRAP))
    remedy = f"write true or false, or {TRAP} in the column trap where that is not known"
    yield known & table["trap_passed"].isna(), "trap_passed", f"is empty for a trap; {remedy}"
    yield from _of_methods(table)
    yield from _of_roles(table)
    yield table["heard_fraction"] < 0, "heard_fraction", "is negative; write 0 to 1"


def _of_methods(table: pd.DataFrame) -> Iterator[Mistake]:
    """Methods and estimands that there are not, that disagree, or that the ratings do not fit."""
    rated = table["trap"] == ""
    for method, estimand in table[["method", "estimand"]].drop_duplicates().itertuples(index=False):
        mine = (table["method"] == method) & (table["estimand"] == estimand)
        try:
            known = estimand_of_method(str(method), str(estimand)) if method else None
            known = estimand_of(str(estimand)) if estimand and not known else known
        except KeyError as error:
            yield mine, "method" if method else "estimand", f"there is {error.args[0]}"
            continue
        if not method or known is None:
            methods = enumerated(sorted(methods_of(str(estimand)) or Method.registry), "or")
            yield mine, "method", f"is empty; say how the clips were rated: {methods}"
            continue
        if estimand != known.key:
            problem = f"is {estimand!r}, and the mean of {method} is {known.key}"
            yield mine, "estimand", f"{problem}; leave the column out, the method decides"
            continue
        yield from _of_scores(table, mine & rated, known)


def _half_pairs(table: pd.DataFrame) -> Iterator[Mistake]:
    """Comparisons of two clips that name one."""
    mine = table["estimand"].isin(keys_where("in_pairs")) & (table["trap"] == "")
    alone = mine & (table["versus_condition"] == "")
    methods = enumerated(sorted(table["method"][alone].unique())) if alone.any() else ""
    remedy = "name the other condition here, or in every row by --set versus_condition=NAME"
    yield alone, "versus_condition", f"is empty, and {methods} compares two clips; {remedy}"


def _of_scores(table: pd.DataFrame, mine: pd.Series[bool], known: Estimand) -> Iterator[Mistake]:
    """Scores that there are not on a scale of a few."""
    scores = table["score"]
    wrong = mine & scores.notna() & ~scores.isin(known.scores)
    if known.scores and wrong.any():
        right = enumerated([f"{score:g}" for score in known.scores], "or")
        rule = f"must be {right} for the estimand {known.key}"
        there = some(f"{score:g}" for score in scores[wrong].unique())
        yield wrong, "score", f"{there} {rule}; turn labels into those scores"


def _of_roles(table: pd.DataFrame) -> Iterator[Mistake]:
    """Conditions that have one role here and another there."""
    with_role = table[(table["role"] != "") & (table["trap"] == "")]
    roles = with_role[["study", "condition", "role"]].drop_duplicates()
    for (study, condition), own in roles.groupby(["study", "condition"], sort=True)["role"]:
        if len(own) > 1:
            mine = (table["study"] == study) & (table["condition"] == condition)
            problem = f"{condition} is called {enumerated(sorted(own))}"
            yield mine, "role", f"{problem}; a condition has one role"


_NEEDED = frozenset(COLUMNS) - LATER
GROUPING = ("condition", "system", "voice", "dimension", "split", "language")
EXPORTED = 25  # columns of ours from which on a file is taken for an export of Earnest


@dataclass(frozen=True)
class Reading:
    """A table read from a file, what was guessed or left out (a sentence each), and what was not.

    ``columns_not_used`` are those of the file that gave nothing. ``order`` holds the names in
    columns by which results are grouped, as they first appear in the file. ``covariates`` are
    values of clips, by name and clip.
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()
    columns_not_used: tuple[str, ...] = ()
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)
    covariates: Covariates = field(default_factory=dict)


def from_rows(rows: Iterable[Mapping[str, Any]], *, source: str = "ratings") -> pd.DataFrame:
    """The table of plain rows (RatingRow); raises RatingsError with all that is wrong."""

    def cells_of_rows() -> Iterator[list[Any]]:
        for number, row in enumerate(rows, start=1):
            if not row.keys() >= _NEEDED:
                absent = ", ".join(name for name in COLUMNS if name in _NEEDED - row.keys())
                raise RatingsError(
                    [f"{source}, row {number}: no column {absent}; give every column"]
                )
            yield [row.get(name, "") for name in COLUMNS]

    cells, _ = clean_columns(categoricals(COLUMNS, cells_of_rows()))
    numbers = np.arange(len(cells["rater"]), dtype=np.intp) + 1
    varying = [name for name in COLUMNS if len(cells[name].values) > 1]
    return _in_canonical_order(check_table(cells, source, numbers), varying)


def from_csv(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    ignore: Collection[str] = (),
    **rules: Any,
) -> pd.DataFrame:
    """The table of a CSV file; what was guessed or left out comes as a RatingsWarning each.

    See `read_csv`, which gives it as text beside the table.
    """
    reading = read_csv(path, columns, constants, ignore, **rules)
    for note in reading.notes:
        warnings.warn(note, RatingsWarning, stacklevel=2)
    return reading.table


def read_csv(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    ignore: Collection[str] = (),
    **rules: Any,
) -> Reading:
    """The table of a Parquet file, or of a CSV file in any layout of `spreadsheets`.

    ``columns`` maps a column of the table to the file's name for it, ``constants`` gives one value
    to every row, ``ignore`` names columns of the file that are not to be used, and ``rules`` answer
    what a file leaves open (`ReadingRules`). Needed are rater, condition, score (or label, where
    labels are numbers or words of the method's scale) and one of item and stimulus; the rest may
    be absent: without stimuli, a stimulus is an item of a condition (and voice). The method tells
    the estimand, or the estimand the method; without both, scores of 1 to 5 are taken for MOS.
    Of more than `LARGE` rows texts are categories. Raises RatingsError with all that is wrong, and
    with each question that only a person can answer.
    """
    path = Path(path)
    mapping = column_mapping(path, columns, constants, ignore, **rules)
    raw = columns_of(path, mapping.layout, mapping.rules.encoding)
    mapped = mapping
    if mapping.wide:
        raw, mapped = long_columns(raw, mapping)
    own = _of_own_study(raw, mapped)
    notes, questions = [*raw.notes], list[str]()
    if not own.all() or mapping.rules.drop or mapping.rules.keep:
        chosen, dropped, more_questions = selected_rows(raw, mapped, ignore)
        raw, own = raw.taken(chosen), own[chosen]
        notes, questions = [*notes, *dropped], questions + more_questions
    cells, cell_notes = _cells(raw, mapped, path.name)
    notes += cell_notes
    if not own.all():
        cells, merged, more_questions = near_equal(cells, mapping.rules, mapped.theirs)
        notes, questions = [*notes, *merged], questions + more_questions
    if not own.any():
        cells |= _distinct_people(raw, mapped, cells, notes)
    if "item" not in mapped.filled and "stimulus" in mapped.filled:
        cells["item"], note = items_of_names(cells, mapped.rules.condition_pattern)
        notes += [note] * bool(note)
    for name in ("session", "stimulus", "versus_stimulus"):
        if name not in mapped.filled:
            cells[name] = _stand_in(name, cells)
    by_label, why = "score" not in mapped.filled, "No column score"
    if not own.all():
        cells["score"], missing = without_missing(cells["score"])
        notes += missing
    if not by_label and "label" not in mapped.filled and score_words(cells):
        cells["label"], by_label, why = cells["score"], True, "The column score holds words"
    if by_label:
        numbers = [
            str(v) if np.isfinite(cell_number(str(v))) else "" for v in cells["label"].values
        ]
        cells["score"] = cells["label"].mapped(numbers)
    inferred = inferred_method(cells)
    cells |= {"method": inferred.method, "estimand": inferred.estimand}
    questions = [inferred.question] * bool(inferred.question) + questions
    if not own.all():
        questions += _unused_criteria(raw, mapped)
        questions += () if by_label else (*_against_labels(cells), *_words_of_others(cells))
    if by_label and not inferred.question:
        cells["score"], scored, wrong = scores_of_labels(cells, raw.numbers, why)
        notes, questions = notes + scored, questions + wrong
    table = check_table(cells, path.name, raw.numbers, questions, whole_pairs=True)
    if LEFT_OUT_BY in mapped.theirs:
        judged = raw.cells[mapped.theirs[LEFT_OUT_BY]]
        texts = pd.Series(unescape_cells(judged.values, LEFT_OUT_BY), dtype="str")
        table[LEFT_OUT_BY] = texts.take(judged.codes).to_numpy()
    notes += [inferred.note] * bool(inferred.note)
    table, more, ordered_by = _resolve_ratings(table, raw, cells, mapped, own, path.name)
    signed = not by_label and mapping.theirs.get("versus_condition", "") not in COLUMNS
    notes = [*mapping.notes(ordered_by), *notes, *more, *_notes(table, signed)]
    if mapping.known and len(alone := rated(table)["condition"].unique()) == 1:
        notes.append(
            f"All ratings are of one condition, {alone[0]}. If names of trials tell the systems, "
            "say --column stimulus=NAME and --condition-pattern REGEX."
        )
    order = {name: _as_they_appear(cells[name]) for name in (*GROUPING, "task", "criterion")}
    unused = tuple(name for name in mapping.unused if name != ordered_by)
    covariates = read_covariates(raw.cells, cells, path.name, ignore)
    return Reading(_in_canonical_order(table), tuple(notes), unused, order, covariates)


MOST_WORDS = 3  # that a question shows
MOST_CRITERIA = 12  # different cells of a column of questions


def _unused_criteria(raw: Columns, mapping: ColumnMapping) -> Iterator[str]:
    """A question for each unused column that divides ratings by what was asked."""
    if "criterion" in mapping.filled:
        return
    for name in mapping.unasked:
        if plain_name(name) not in SYNONYMS["criterion"]:
            continue
        there = {str(value).strip() for value in raw.cells[name].used()} - {""}
        named = any(math.isnan(cell_number(each)) for each in there)  # or they count
        if named and 1 < len(there) <= MOST_CRITERIA:
            yield (
                f"the column {name} says what was asked ({some(sorted(there))}): say --column "
                f"criterion={shlex.quote(name)}, or --ignore-column {shlex.quote(name)} to pool "
                "all answers"
            )


def _words_of_others(cells: Mapping[str, Categorical]) -> Iterator[str]:
    """A question where words stand for scores, which are on the scale of another method."""
    there = {fold_cell(value) for value in cells["score"].used()} - {""}
    words = {word for word in there if math.isnan(cell_number(word))}
    if fitting := methods_with(words):
        yield (
            f"column score: {enumerated(sorted(words)[:MOST_WORDS])} are words of the scale of "
            f"{enumerated(fitting, 'or')}: say --set method={fitting[0]}"
        )


def _against_labels(cells: Mapping[str, Categorical]) -> Iterator[str]:
    """A question where the word beside a score has another score on the scale of its method."""
    if not any(cells["label"].values):
        return
    answers, codes = distinct_pairs(cells["label"], cells["score"])
    pairs, of_methods = distinct_pairs(Categorical(codes, answers), cells["method"])
    wrong = []
    for place, ((label, score), method) in enumerate(pairs):
        known = estimand_of_method(method) if method in Method.registry else None
        exact = known and known.comparison == ONE_CLIP and not known.continuous
        words = scores_of_words(method) if exact else {}
        number = cell_number(str(score))
        if not math.isnan(number) and words.get(fold_cell(label), number) != number:
            wrong.append(place)
    if wrong:
        (label, score), _ = pairs[wrong[0]]
        count = int(np.isin(of_methods, wrong).sum())
        labels = "1 label has" if count == 1 else f"{count:,} labels have"
        yield (
            f"column label: {labels} another score on the scale ({label!r} stands beside {score}): "
            "say --ignore-column label if the scores are right, or --ignore-column score"
        )


def _of_own_study(raw: Columns, mapping: ColumnMapping) -> NDArray[np.bool_]:
    """Which rows (n,) a study of Earnest wrote: their names and repetitions are as it set them."""
    exported = sum(name in mapping.layout.names for name in COLUMNS) >= EXPORTED
    study = raw.cells.get(mapping.theirs.get("study", ""), constant("", len(raw.numbers)))
    return study.having(lambda value: exported and bool(str(value).strip()))


def _cells(
    raw: Columns, mapping: ColumnMapping, file: str
) -> tuple[dict[str, Categorical], list[str]]:
    """A column of cells for each column of the table, names cleaned; and notes."""
    cells: dict[str, Categorical] = {}
    for name in COLUMNS:
        if name in mapping.constants:
            cells[name] = constant(mapping.constants[name], len(raw.numbers))
        elif name in mapping.theirs:
            column = raw.cells[mapping.theirs[name]]
            cells[name] = column.mapped(unescape_cells(column.values, name))
        else:
            cells[name] = constant("task" if name == "task" else "", len(raw.numbers))
    notes = list(_without_decimal_commas(cells, file))
    cells, changed = clean_columns(cells)
    if mapping.rules.condition_pattern:
        cells |= conditions_of_names(cells, mapping.rules.condition_pattern)
    return cells, [*notes, *changed]


def _distinct_people(
    raw: Columns, mapping: ColumnMapping, cells: Mapping[str, Categorical], notes: list[str]
) -> dict[str, Categorical]:
    """Raters of different samples as different raters, and sessions of different raters alike."""
    distinct: dict[str, Categorical] = {}
    rater = cells["rater"]
    if mapping.sample:
        sample = raw.cells[mapping.sample]
        pairs, codes = distinct_pairs(rater, sample)
        named = [
            f"{name} ({clean_name(str(sample_name))})" if name else name
            for name, sample_name in pairs
        ]
        distinct["rater"] = rater = Categorical(codes, named).renamed(named)
        notes.append(
            f"Raters of one name are other people in each {mapping.sample}: "
            f"{len(set(named))} raters, as was asked for."
        )
    if "session" in mapping.filled:
        pairs, codes = distinct_pairs(cells["session"], rater)
        sessions = [session for session, _ in pairs]
        if len(set(sessions)) < len(pairs):
            distinct["session"] = Categorical(
                codes, [f"{name} {sample_name}".strip() for sample_name, name in pairs]
            )
            if any(sessions):
                notes.append("Sessions of one name are each rater's own where raters differ.")
    return distinct


_OF_FOREIGN_ROWS = ("repeats", "scale", "same", "different")  # rules without effect on others


def _resolve_ratings(
    table: pd.DataFrame,
    raw: Columns,
    cells: Mapping[str, Categorical],
    mapping: ColumnMapping,
    own: NDArray[np.bool_],
    file: str,
) -> tuple[pd.DataFrame, list[str], str | None]:
    """The table with pairs in one direction, ranks and repeated ratings resolved, and notes.

    The third is the column that told the order of repeated ratings. Raises RatingsError with
    questions.
    """
    if own.all():
        unused = [f"--{o}" for o in _OF_FOREIGN_ROWS if getattr(mapping.rules, o)]
        note = f"{enumerated(unused)} had no effect: the study that exported the file decides."
        return table, [note] * bool(unused), None
    table, turned = turn_pairs(table, own)
    table, ranked, wrong = check_ranks(table, own, raw.numbers)
    repeated = resolve_repeats(table, raw, cells, mapping, own)
    problems = [*wrong, *repeated.questions, *short_scales(table, own, mapping.rules.scale)]
    problems += missing_codes(table, raw, own, mapping)
    if problems:
        raise RatingsError([located(file, question) for question in problems])
    return repeated.table, [*turned, *ranked, *repeated.notes], repeated.ordered_by


def _as_they_appear(column: Categorical) -> list[str]:
    """The different texts of a column, the first one in the file first; the empty one left out."""
    first = first_places(column.codes, len(column.values))
    places = np.argsort(first)[: np.count_nonzero(first < len(column))]
    names = (str(column.values[place]).strip() for place in places)
    return [name for name in dict.fromkeys(names) if name]


def _without_decimal_commas(cells: dict[str, Categorical], file: str) -> Iterator[str]:
    """Turns 3,5 into 3.5 where it can mean nothing else, and says so; raises RatingsError else."""
    for name in sorted(REALS):
        values = [str(value) for value in cells[name].values]
        try:
            plain, comma = decimal_points(values)
        except TableError as error:
            raise RatingsError([f"{file}, column {name}: {error}"]) from None
        if comma:
            cells[name] = cells[name].mapped(plain)
            shown = f"{comma} is {comma.replace(',', '.')}"
            yield f"The column {name} is read with decimal commas: {shown}."


def _notes(table: pd.DataFrame, signed: bool) -> Iterator[str]:
    """What a reader of the numbers should know of the ratings; a study's own are as it set them.

    ``signed``: scores of comparisons are from columns that somebody named.
    """
    unknown = int(((table["trap"] == TRAP) & table["trap_passed"].isna()).sum())
    if unknown:
        answers = "answer to a trap enters" if unknown == 1 else "answers to traps enter"
        yield (
            f"{unknown} {answers} no mean. Nothing says whether such answers were right, so no "
            "rule leaves out a rater or a block for them."
        )
    foreign = table[(table["trap"] == "") & (table["study"] == "")]
    for key, scores in foreign.groupby("estimand", sort=True)["score"]:
        known = estimand_of(str(key))
        if known.prefers and signed:
            yield (
                f"{known.name} scores above {known.neutral:g} are read as: the clip of condition "
                "was better than that of versus_condition. If they say the opposite, swap these "
                "two columns."
            )
        if known.ends is None or scores.notna().sum() == 0:
            continue
        low, high = float(scores.min()), float(scores.max())
        if low == 0 < known.ends[0] and high <= known.ends[1]:
            yield (
                f"{int((scores == 0).sum())} of {len(scores)} {known.name} scores are 0, below the "
                f"usual scale of {known.ends[0]:g} to {known.ends[1]:g}; they are used as they are."
            )
        elif known.ends_for(low, high) is None:
            outside = int((~scores.dropna().between(*known.ends)).sum())
            yield (
                f"{outside} of {len(scores)} {known.name} scores are outside the usual scale of "
                f"{known.ends[0]:g} to {known.ends[1]:g} (they reach from {low:g} to {high:g}); "
                "they are used as they are."
            )


def _stand_in(name: str, cells: Mapping[str, Categorical]) -> Categorical:
    """What stands for a column that a file does not have: a clip is a text by a condition."""
    if name == "session":
        return cells["rater"]
    if name == "stimulus":
        return join_texts([cells["condition"], cells["voice"], cells["item"]])
    versus = cells["versus_condition"]
    compared = np.array([bool(name) for name in versus.values], dtype=bool)[versus.codes]
    clips = join_texts([versus, cells["item"]])
    places = np.where(compared, clips.codes, len(clips.values)).astype(np.int32)
    return Categorical(places, [*clips.values, ""])


def from_study(slug: str) -> pd.DataFrame:
    """The table of a study of this installation, traps included."""
    from listening.selectors import rating_rows

    return from_rows(rating_rows(slug), source=f"study {slug}")


def to_rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The table's rows as plain values (RatingRow), in the table's order."""
    columns = [_plain_cells(table[name], name) for name in COLUMNS]
    for values in zip(*columns, strict=True):
        yield dict(zip(COLUMNS, values, strict=True))


def to_csv(table: pd.DataFrame, path: str | Path) -> None:
    """Write the table so that `from_csv` reads it back with the same hash."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        file.writelines(csv_lines(to_rows(table)))


def table_hash(table: pd.DataFrame) -> str:
    """SHA-256 (hex) of the table's canonical form: the same for the same ratings in any order.

    Columns of `HASHED_WHERE_FILLED` count only where a row has something in them, so that a table
    keeps its hash when Earnest learns a column. Of more than `LARGE` rows it is made of their
    digests (`row_digests`), and is another one.
    """
    columns = [n for n in COLUMNS if n not in HASHED_WHERE_FILLED or _is_filled(table[n])]
    digest = hashlib.sha256("\x1f".join(columns).encode())
    if len(table) > LARGE:
        digest.update(np.sort(_digests(table, columns)).astype("<u8").tobytes())
        return digest.hexdigest()
    lines = _canonical_lines(table, columns)
    for line in in_order(lines):
        digest.update(b"\x1e" + line.encode())
    return digest.hexdigest()


def _is_filled(column: pd.Series) -> bool:
    """Whether a row of a column of texts or numbers has something in it."""
    return any(not pd.isna(value) and str(value) != "" for value in column.unique())


def rated(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that may enter an estimate: not a trap, and with a score."""
    return rows_where(table, (table["trap"] == "") & table["score"].notna())


def rows_where(table: pd.DataFrame, mask: Any) -> pd.DataFrame:
    """The rows where the mask (n,) holds; the very table, and no copy, where it holds in all."""
    keep = np.asarray(mask, dtype=bool)
    return table if keep.all() else table[keep]


def _in_canonical_order(table: pd.DataFrame, varying: Sequence[str] = COLUMNS) -> pd.DataFrame:
    """The rows sorted by their texts; columns that do not vary need not be looked at."""
    if len(table) > LARGE:
        position = table["position"].fillna(-1).to_numpy(dtype=np.int32)
        first = [table[name].cat.codes.to_numpy() for name in ("session", "task")]
        order = np.lexsort([_digests(table, COLUMNS), position, *first])
        return table.take(order).reset_index(drop=True)
    keys = {
        "task": arrow_text(_canonical(table, "task")),
        "session": arrow_text(_canonical(table, "session")),
        "position": table["position"].fillna(-1).to_numpy(dtype=np.int64),
        "line": _canonical_lines(table, varying or COLUMNS[:1]),
    }
    return table.take(order_of(keys)).reset_index(drop=True)


def _canonical_lines(table: pd.DataFrame, columns: Sequence[str]) -> Any:
    """The rows (n,) as one text each: equal rows have equal texts."""
    return lines_of(_canonical(table, name) for name in columns)


def _canonical(table: pd.DataFrame, name: str) -> Categorical:
    codes, plain = _distinct_cells(table, name)
    return Categorical(codes, [canonical_cell(value) for value in plain])


def _digests(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.uint64]:
    """A digest (n,) of each row: equal rows have equal ones, whatever their order."""
    return row_digests(_distinct_cells(table, name) for name in columns)


def _distinct_cells(table: pd.DataFrame, name: str) -> tuple[NDArray[np.int32], list[Any]]:
    """Codes (n,) of a column's cells, and the plain values behind them."""
    codes, values = pd.factorize(table[name], use_na_sentinel=False)
    return codes.astype(np.int32), _plain_cells(pd.Series(values, dtype=dtype_of(name)), name)


def _plain_cells(column: pd.Series, name: str) -> list[Any]:
    if name in INTEGERS:
        return [None if value is pd.NA else int(value) for value in column.array]
    if name in REALS:
        return [None if math.isnan(value) else value for value in column.tolist()]
    if name in TRUTHS:
        return [None if value is pd.NA else bool(value) for value in column.array]
    return column.tolist()
