"""The files of a report's figures; where there are many, a second process draws some of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from analysis.report.content import Figure
from analysis.report.figures.paper import paper_files
from analysis.report.second_process import SecondProcess, has_two_cores

FEWEST = 40  # figures: for fewer a process takes as long to start as it saves
SHARE = 0.6  # of the figures: meanwhile the first process writes the texts as well
Files = dict[str, bytes]


class Drawing:
    """The files of figures, by their places; a context, which ends the second process."""

    def __init__(self, figures: Sequence[Figure], width_in: float | None) -> None:
        self._figures, self._width_in = figures, width_in
        self._first_of_second = len(figures)
        self._second: SecondProcess[list[Files]] | None = None
        self._drawn: list[Files] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if len(self._figures) >= FEWEST and has_two_cores():
            self._first_of_second -= round(SHARE * len(self._figures))
            others = list(self._figures[self._first_of_second :])
            self._second = self._stack.enter_context(
                SecondProcess(draw_all, others, self._width_in)
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def files(self, place: int) -> Files:
        """The files of the figure at this place, by kind; places are asked in their order."""
        if self._second is None or place < self._first_of_second:
            return paper_files(self._figures[place], self._width_in)
        if self._drawn is None:
            self._drawn = self._second.result()
        return self._drawn[place - self._first_of_second]


def draw_all(figures: Sequence[Figure], width_in: float | None) -> list[Files]:
    """The files of each figure, by kind."""
    return [paper_files(figure, width_in) for figure in figures]
