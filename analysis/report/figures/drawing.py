"""The files of a report's figures; where there are many, a second process draws some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from analysis.report.content import Figure
from analysis.report.figures.paper import paper_files
from analysis.report.second_process import has_two_cores, second_process

FEWEST = 40  # figures: for fewer a process takes as long to start as it saves
SHARE = 0.6  # of the figures: meanwhile the first process writes the texts as well
Files = dict[str, bytes]
FilesAt = Callable[[int], Files]


@contextmanager
def drawing(figures: Sequence[Figure], width_in: float | None) -> Iterator[FilesAt]:
    """Yield what gives the files of the figure at a place, by kind; places are asked in order."""
    if len(figures) < FEWEST or not has_two_cores():
        yield lambda place: paper_files(figures[place], width_in)
        return
    first_of_second = len(figures) - round(SHARE * len(figures))
    others = list(figures[first_of_second:])
    with second_process(draw_all, others, width_in) as wait:
        drawn = cache(lambda: wait(lambda: None))

        def files(place: int) -> Files:
            if place < first_of_second:
                return paper_files(figures[place], width_in)
            return drawn()[place - first_of_second]

        yield files


def draw_all(figures: Sequence[Figure], width_in: float | None) -> list[Files]:
    """The files of each figure, by kind."""
    return [paper_files(figure, width_in) for figure in figures]
