"""What a researcher says of a file of ratings where reading it needs an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.ratings.problems import RatingsError
from listening.common.spreadsheets import clean_name

FIRST, MEAN, ALL = "first", "mean", "all"
REPEATS = (FIRST, MEAN, ALL)
SAMPLE = "sample"  # a column whose values make raters of one name different people


@dataclass(frozen=True)
class ReadingRules:
    """Answers to what a file leaves open; empty ones let the reader ask.

    ``same`` and ``different`` are columns, or COLUMN=NAME, whose near-equal names are one name or
    several. ``drop`` and ``keep`` are COLUMN=VALUE: rows that are no ratings, and rows that are; a
    value ``training*`` is all that begins like this, ``*`` all that is not empty. ``repeats`` says
    what counts where a rater rated one clip several times. ``wide`` is a template of columns that
    hold one answer each (``{item}_{condition}``), or a list of columns (`wide_tables.wide_table`).
    ``condition_pattern`` is a regular expression whose groups find the condition (and a group
    ``item`` the item) in the name of a stimulus. ``scale`` are the ends of a scale (``1,5``) of
    which nobody used the upper part. ``encoding`` is that of the file.
    """

    same: Sequence[str] = ()
    different: Sequence[str] = ()
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    repeats: str = ""
    wide: str = ""
    condition_pattern: str = ""
    scale: str = ""
    encoding: str = ""

    def __post_init__(self) -> None:
        if self.repeats not in ("", *REPEATS):
            raise RatingsError([f"repeats is {self.repeats!r}; choose first, mean or all"])
        for name in (*self.drop, *self.keep):
            if "=" not in name:
                raise RatingsError([f"{name!r}: name rows as COLUMN=VALUE, like phase=practice"])

    def rows_named(self, option: str) -> Iterator[tuple[str, str]]:
        """Column and value of each COLUMN=VALUE of ``drop`` or ``keep``."""
        for text in getattr(self, option):
            column, _, value = text.partition("=")
            yield column, fold_cell(value)


def fold_cell(value: object) -> str:
    """A cell as it is compared with words: without case, and without blanks around it."""
    return clean_name(str(value)).casefold()
