"""The ratings table: its columns, types, checks and hash; read from a study or from CSV.

A table is a pandas frame with the columns of ``COLUMNS``, one row per rating, traps included; of a
file that an analysis wrote also ``left_out_by``, which is no part of its hash. Rows are kept in a
canonical order, so that the same ratings give the same numbers to the last bit, in whatever order
they arrived.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ratings.categorical import (
    Categorical,
    Columns,
    arrow_text,
    categoricals,
    columns_of,
    constant,
    in_order,
    joined,
    lines_of,
    order_of,
    paired,
)
from analysis.ratings.cells import (
    COLUMNS,
    INTEGERS,
    LEFT_OUT_BY,
    REALS,
    TRAP,
    TRUTHS,
    canonical_cell,
    csv_lines,
    dtype_of,
    unescaped,
)
from analysis.ratings.estimands import estimand_of
from analysis.ratings.header import ColumnMapping, column_mapping
from analysis.ratings.inferred_method import inferred_method
from analysis.ratings.label_scores import cell_number, score_words, scores_of_labels
from analysis.ratings.long_tables import conditions_of_names, long_columns
from analysis.ratings.problems import RatingsError, RatingsWarning
from analysis.ratings.repeats import resolve_repeats, turn_pairs
from analysis.ratings.row_selection import selected_rows
from analysis.ratings.validation import (
    TRAINING,
    check_ranks,
    checked,
    cleaned,
    near_equal,
    short_scales,
)
from listening.common.spreadsheets import TableError, clean_name, decimal_points, located

__all__ = [
    "COLUMNS",
    "TRAINING",
    "RatingsError",
    "RatingsWarning",
    "Reading",
    "from_csv",
    "from_rows",
    "from_study",
    "rated",
    "read_csv",
    "table_hash",
    "to_csv",
    "to_rows",
]
GROUPING = ("condition", "system", "voice", "dimension", "split", "language")
EXPORTED = 25  # columns of ours from which on a file is taken for an export of Earnest
LATER = frozenset({"role", "version"})  # columns that older exports do not have


@dataclass(frozen=True)
class Reading:
    """A table read from a file, what was guessed or left out (a sentence each), and what was not.

    ``columns_not_used`` are those of the file that gave nothing. ``order`` holds the names in
    columns by which results are grouped, as they first appear in the file.
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()
    columns_not_used: tuple[str, ...] = ()
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)


def from_rows(rows: Iterable[Mapping[str, Any]], *, source: str = "ratings") -> pd.DataFrame:
    """The table of plain rows (RatingRow); raises RatingsError with all that is wrong."""

    def cells_of_rows() -> Iterator[list[Any]]:
        for number, row in enumerate(rows, start=1):
            absent = [name for name in COLUMNS if name not in row and name not in LATER]
            if absent:
                raise RatingsError(
                    [f"{source}, row {number}: no column {', '.join(absent)}; give every column"]
                )
            yield [row.get(name, "") for name in COLUMNS]

    cells, _ = cleaned(categoricals(COLUMNS, cells_of_rows()))
    numbers = np.arange(len(cells["rater"]), dtype=np.intp) + 1
    return _in_canonical_order(checked(cells, source, numbers))


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
    """The table of a CSV file with a header row, in any layout of `listening.common.spreadsheets`.

    ``columns`` maps a column of the table to the file's name for it, ``constants`` gives one value
    to every row, ``ignore`` names columns of the file that are not to be used, and ``rules`` answer
    what a file leaves open (`ReadingRules`). Needed are rater, condition, score (or label, where
    labels are numbers or words of the method's scale) and one of item and stimulus; the rest may
    be absent: without stimuli, a stimulus is an item of a condition (and voice). The method tells
    the estimand, or the estimand the method; without both, scores of 1 to 5 are taken for MOS.
    Raises RatingsError with all that is wrong, and with each question that only a person can
    answer.
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
        chosen, dropped, asked = selected_rows(raw, mapped, ignore)
        raw, own = raw.taken(chosen), own[chosen]
        notes, questions = [*notes, *dropped], questions + asked
    cells, cell_notes = _cells(raw, mapped, path.name)
    notes += cell_notes
    if not own.all():
        cells, merged, asked = near_equal(cells, mapping.rules, mapped.theirs)
        notes, questions = [*notes, *merged], questions + asked
    if not own.any():
        cells |= _distinct_people(raw, mapped, cells, notes)
    for name in ("session", "item", "stimulus", "versus_stimulus"):
        if name not in mapped.filled:
            cells[name] = _stand_in(name, cells)
    by_label, why = "score" not in mapped.filled, "No column score"
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
    if by_label and not inferred.question:
        cells["score"], scored, wrong = scores_of_labels(cells, raw.numbers, why)
        notes, questions = notes + scored, questions + wrong
    table = checked(cells, path.name, raw.numbers, questions, whole_pairs=True)
    if LEFT_OUT_BY in mapped.theirs:
        judged = raw.cells[mapped.theirs[LEFT_OUT_BY]]
        texts = pd.Series(unescaped(judged.values, LEFT_OUT_BY), dtype="str")
        table[LEFT_OUT_BY] = texts.take(judged.codes).to_numpy()
    notes += [inferred.note] * bool(inferred.note)
    table, more, ordered_by = _resolved(table, raw, cells, mapped, own, path.name)
    notes = [*mapping.notes(ordered_by), *notes, *more, *_notes(table)]
    order = {name: _as_they_appear(cells[name]) for name in (*GROUPING, "task", "criterion")}
    unused = tuple(name for name in mapping.unused if name != ordered_by)
    return Reading(_in_canonical_order(table), tuple(notes), unused, order)


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
            cells[name] = column.mapped(unescaped(column.values, name))
        else:
            cells[name] = constant("task" if name == "task" else "", len(raw.numbers))
    notes = list(_without_decimal_commas(cells, file))
    cells, changed = cleaned(cells)
    if mapping.rules.condition_pattern:
        cells |= conditions_of_names(cells, mapping.rules.condition_pattern)
    return cells, [*notes, *changed]


def _distinct_people(
    raw: Columns, mapping: ColumnMapping, cells: Mapping[str, Categorical], notes: list[str]
) -> dict[str, Categorical]:
    """Raters of different samples as different raters, and sessions of different raters alike."""
    made: dict[str, Categorical] = {}
    rater = cells["rater"]
    if mapping.sample:
        sample = raw.cells[mapping.sample]
        pairs, codes = paired(rater, sample)
        named = [f"{name} ({clean_name(str(of))})" if name else name for name, of in pairs]
        made["rater"] = rater = Categorical(codes, named).renamed(named)
        notes.append(
            f"Raters of one name are other people in each {mapping.sample}: "
            f"{len(set(named))} raters, as was asked for."
        )
    if "session" in mapping.filled:
        pairs, codes = paired(cells["session"], rater)
        sessions = [session for session, _ in pairs]
        if len(set(sessions)) < len(pairs):
            made["session"] = Categorical(codes, [f"{name} {of}".strip() for of, name in pairs])
            if any(sessions):
                notes.append("Sessions of one name are each rater's own where raters differ.")
    return made


def _resolved(
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
        return table, [], None
    table, turned = turn_pairs(table, own)
    table, ranked, wrong = check_ranks(table, own, raw.numbers)
    repeated = resolve_repeats(table, raw, cells, mapping, own)
    asked = [*wrong, *repeated.questions, *short_scales(table, own, mapping.rules.scale)]
    if asked:
        raise RatingsError([located(file, question) for question in asked])
    return repeated.table, [*turned, *ranked, *repeated.notes], repeated.ordered_by


def _as_they_appear(column: Categorical) -> list[str]:
    """The different texts of a column, the first one in the file first; the empty one left out."""
    places, first = np.unique(column.codes, return_index=True)
    names = (str(column.values[place]).strip() for place in places[np.argsort(first)])
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


def _notes(table: pd.DataFrame) -> Iterator[str]:
    """What a reader of the numbers should know of the ratings; a study's own are as it set them."""
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
        if known.ends is None or scores.notna().sum() == 0:
            continue
        low, high = float(scores.min()), float(scores.max())
        if known.ends_for(low, high) is None:
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
    if name == "item":
        return cells["stimulus"]
    if name == "stimulus":
        return joined([cells["condition"], cells["voice"], cells["item"]])
    of = cells["versus_condition"]
    compared = np.array([bool(name) for name in of.values], dtype=bool)[of.codes]
    clips = joined([of, cells["item"]])
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
    """SHA-256 (hex) of the table's canonical form: the same for the same ratings in any order."""
    digest = hashlib.sha256("\x1f".join(COLUMNS).encode())
    lines = _canonical_lines(table)
    for line in in_order(lines):
        digest.update(b"\x1e" + line.encode())
    return digest.hexdigest()


def rated(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that may enter an estimate: not a trap, and with a score."""
    return table[(table["trap"] == "") & table["score"].notna()]


def _in_canonical_order(table: pd.DataFrame) -> pd.DataFrame:
    keys = {
        "task": arrow_text(_canonical(table, "task")),
        "session": arrow_text(_canonical(table, "session")),
        "position": table["position"].fillna(-1).to_numpy(dtype=np.int64),
        "line": _canonical_lines(table),
    }
    return table.take(order_of(keys)).reset_index(drop=True)


def _canonical_lines(table: pd.DataFrame) -> Any:
    """The rows (n,) as one text each: equal rows have equal texts."""
    return lines_of(_canonical(table, name) for name in COLUMNS)


def _canonical(table: pd.DataFrame, name: str) -> Categorical:
    codes, values = pd.factorize(table[name], use_na_sentinel=False)
    plain = _plain_cells(pd.Series(values, dtype=dtype_of(name)), name)
    return Categorical(codes.astype(np.int32), [canonical_cell(value) for value in plain])


def _plain_cells(column: pd.Series, name: str) -> list[Any]:
    if name in INTEGERS:
        return [None if value is pd.NA else int(value) for value in column.array]
    if name in REALS:
        return [None if math.isnan(value) else value for value in column.tolist()]
    if name in TRUTHS:
        return [None if value is pd.NA else bool(value) for value in column.array]
    return column.tolist()
