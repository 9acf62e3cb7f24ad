"""What is wrong with a study folder: where, what, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

TOML = "study.toml"
CSV = "stimuli.csv"
FEW = 3  # rows of one mistake that are named
QUOTED = re.compile(r"“[^”]*”|\b[\d,.]+\b")
CONTROL = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


@dataclass(frozen=True)
class Problem:
    """One mistake; `place` is a column of a table or a key path of study.toml.

    `what` names no key that the pages of a draft change. `remedy` is for the folder, `on_page` for
    these pages where it is another one.
    """

    file: str
    place: str
    what: str
    remedy: str
    row: int | None = None  # as a spreadsheet counts: the header is row 1
    on_page: str = ""

    def __post_init__(self) -> None:
        """Quoted material must not steer the terminal that shows it."""
        for field in ("file", "place", "what", "remedy", "on_page"):
            printable = CONTROL.sub(lambda match: ascii(match[0])[1:-1], getattr(self, field))
            object.__setattr__(self, field, printable)

    def __str__(self) -> str:
        row = "" if self.row is None else f", row {self.row}"
        place = f", {self.place}" if self.place else ""
        return f"{self.file}{row}{place}: {self.what} {self.remedy}".rstrip()

    @property
    def page_words(self) -> str:
        """What is wrong and what to do in the browser: fields instead of keys of study.toml."""
        return f"{self.what} {self.on_page or self.remedy}".rstrip()


@dataclass(frozen=True)
class Mistake:
    """One mistake with its first problem and all rows that have it."""

    first: Problem
    rows: tuple[int, ...]

    @property
    def where(self) -> str:
        shown, more = ", ".join(f"{row:,}" for row in self.rows[:FEW]), len(self.rows) - FEW
        rows = f"row{'s' if len(self.rows) > 1 else ''} {shown}" if self.rows else ""
        rows += f" and {more:,} more" if more > 0 else ""
        return ", ".join(filter(None, [rows, self.first.place]))

    @property
    def words(self) -> str:
        return f"{self.first.what} {self.first.remedy}".rstrip()

    def __str__(self) -> str:
        return f"{self.where}: {self.words}" if self.where else self.words


def mistakes(problems: Iterable[Problem]) -> list[Mistake]:
    """Problems of a table that differ in their row and in what they quote are one mistake.

    Up to FEW rows are listed one by one: there, each has its own words.
    """
    alike: dict[tuple[str, ...], list[Problem]] = {}
    for n, problem in enumerate(problems):
        words = (QUOTED.sub("“”", problem.what), QUOTED.sub("“”", problem.remedy))
        apart = () if problem.row else (str(n),)
        alike.setdefault((problem.file, problem.place, *words, *apart), []).append(problem)
    grouped = []
    for group in alike.values():
        if len(group) > FEW:
            grouped.append(Mistake(group[0], tuple(p.row for p in group if p.row)))
        else:
            grouped += [Mistake(p, (p.row,) if p.row else ()) for p in group]
    order = {problem: n for n, problem in enumerate(p for each in alike.values() for p in each)}
    return sorted(
        grouped, key=lambda m: (m.first.file != TOML, m.first.file, m.rows[:1], order[m.first])
    )


class StudyProblems(ValueError):
    """The study folder cannot be used; `problems` is the complete list."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(p) for p in problems))


class Notebook:
    """Problems in the order in which they were found, each once."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}
        self.unread: set[str] = set()  # cells of rows that could not be read
        self.cut_off = False  # nothing was read below some row
        self.remarks: list[str] = []  # what was taken for granted, or left aside

    def follows_from_unread(self, name: str) -> bool:
        """Whether what is missing of this name may stand in rows that could not be read."""
        return self.cut_off or name in self.unread

    def toml(self, place: str, what: str, remedy: str = "", on_page: str = "") -> None:
        self._found[Problem(TOML, place, what, remedy, None, on_page)] = None

    def csv(
        self, row: int | None, place: str, what: str, remedy: str = "", on_page: str = ""
    ) -> None:
        self._found[Problem(CSV, place, what, remedy, row, on_page)] = None

    def note(self, problem: Problem) -> None:
        self._found[problem] = None

    def __len__(self) -> int:
        return len(self._found)

    def in_order(self) -> list[Problem]:
        """By file and row; problems of one row, or of study.toml, as they were found."""
        files = (TOML, CSV)
        return sorted(
            self._found,
            key=lambda p: (
                files.index(p.file) if p.file in files else -1,
                p.file,
                p.row or 0,
            ),
        )


def quoted(words: Iterable[str], limit: int = 12) -> str:
    """A list for a sentence: “a”, “b” and 3 more."""
    names = [f"“{word}”" for word in words]
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The closest known word, or the known words."""
    names = list(dict.fromkeys(known))
    folded = {name.casefold(): name for name in reversed(names)}
    if close := get_close_matches(word.casefold(), folded, n=1, cutoff=0.6):
        return f"Did you mean “{folded[close[0]]}”?"
    return f"There are: {quoted(names)}." if names else ""
