"""Figures drawn by two processes where a report has many of them and there are two cores."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from analysis.report.content import Figure
from analysis.report.figures.paper import paper_files

FEWEST = 40  # figures: for fewer a process takes as long to start as it saves
SHARE = 0.6  # of the figures: meanwhile the first process writes the texts as well
ASKED, DRAWN = "asked.pickle", "drawn.pickle"
PROGRAM = f"""
import sys
from pathlib import Path
sys.path[:] = sys.argv[2:]
from {__name__} import draw_in
draw_in(Path(sys.argv[1]))
"""
Files = dict[str, bytes]


class Drawing:
    """The files of figures, by their places; the last ones come from a second process.

    A context, which ends that process. What it could not draw is drawn here.
    """

    def __init__(self, figures: Sequence[Figure], width_in: float | None) -> None:
        self._figures, self._width_in = figures, width_in
        self._first_of_second = len(figures)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._drawn: list[Files] | None = None

    def __enter__(self) -> Self:
        if len(self._figures) >= FEWEST and _cores() > 1:
            self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()

    def files(self, place: int) -> Files:
        """The files of the figure at this place, by kind; places are asked in their order."""
        if place >= self._first_of_second:
            if self._drawn is None:
                self._drawn = self._wait()
            if self._drawn:
                return self._drawn[place - self._first_of_second]
        return paper_files(self._figures[place], self._width_in)

    def _start(self) -> None:
        self._first_of_second = len(self._figures) - round(SHARE * len(self._figures))
        self._folder = TemporaryDirectory()
        requested = list(self._figures[self._first_of_second :]), self._width_in
        (Path(self._folder.name) / ASKED).write_bytes(pickle.dumps(requested))
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, self._folder.name, *sys.path],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _wait(self) -> list[Files]:
        """What the second process drew; nothing where it failed."""
        if self._process is None or self._folder is None or self._process.wait() != 0:
            return []
        drawn: list[Files] = pickle.loads((Path(self._folder.name) / DRAWN).read_bytes())
        return drawn


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def draw_in(folder: Path) -> None:
    """Draw the figures that lie in the folder, and put their files there."""
    figures, width_in = pickle.loads((folder / ASKED).read_bytes())
    drawn = [paper_files(figure, width_in) for figure in figures]
    (folder / DRAWN).write_bytes(pickle.dumps(drawn))
