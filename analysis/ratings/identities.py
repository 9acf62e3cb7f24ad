"""Names of raters, systems and items: cleaned, and asked about where two may be one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.formatting import enumerated
from analysis.ratings.categorical import Categorical
from analysis.ratings.problems import RatingsError, some
from analysis.ratings.reading_rules import ReadingRules
from listening.common.spreadsheets import clean_name, comparison_key

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
DIFFER = "differ only in case, blanks, leading zeros or .0"


def cleaned(cells: Mapping[str, Categorical]) -> tuple[dict[str, Categorical], list[str]]:
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
    for about, columns in ASKED.items():
        groups = _groups([cells[name] for name in columns])
        spelling: dict[str, str] = {}
        asked = []
        for names in groups:
            key = comparison_key(names[0])
            if _said(answers["same"], about, key):
                spelling |= dict.fromkeys(names[1:], names[0])
            elif not _said(answers["different"], about, key):
                asked.append(names)
        for name in columns if spelling else ():
            values = [spelling.get(value, value) for value in cells[name].values]
            result[name] = cells[name].renamed(values)
        if spelling:
            told = [f"{other} is read as {name}" for other, name in spelling.items()]
            notes.append(f"Column {about}: {some(told)}, as was asked for.")
        if asked:
            pairs = some([enumerated(names) for names in asked])
            questions.append(
                f"column {about}: {pairs} {DIFFER}: are they one name? Say --same {about} or "
                f"--different {about} (of one: --same {about}={asked[0][0]!r})"
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


def _said(answers: Sequence[tuple[str, str]], column: str, key: str) -> bool:
    return any(about == column and name in ("", key) for about, name in answers)


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
