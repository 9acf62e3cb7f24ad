"""A function called in a second process, where there are two cores, while this one goes on."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

CALL, RESULT = "call.pickle", "result.pickle"
PROGRAM = f"""
import sys
from pathlib import Path
sys.path[:] = sys.argv[2:]
from {__name__} import call_in
call_in(Path(sys.argv[1]))
"""
R = TypeVar("R")


class SecondProcess(Generic[R]):
    """``function(*arguments)`` of a module, called elsewhere. A context, which ends that process.

    What is given and returned is pickled. What goes wrong there is logged, and done here instead.
    """

    def __init__(self, function: Callable[..., R], *arguments: Any) -> None:
        self._function, self._arguments = function, arguments
        self._folder = TemporaryDirectory()
        (Path(self._folder.name) / CALL).write_bytes(pickle.dumps((function, arguments)))
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, self._folder.name, *sys.path],
            stdout=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def result(self, waiting: Callable[[], None] = lambda: None) -> R:
        """What the function returned. ``waiting`` is called each second; it may raise to stop."""
        while True:
            try:
                failed = self._process.wait(timeout=1) != 0
                break
            except subprocess.TimeoutExpired:
                waiting()
        if failed:
            return self._function(*self._arguments)
        result: R = pickle.loads((Path(self._folder.name) / RESULT).read_bytes())
        return result


def has_two_cores() -> bool:
    """Whether a second process saves time here."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) > 1
    return (os.cpu_count() or 1) > 1


def call_in(folder: Path) -> None:
    """Call the function that lies in the folder, and put there what it returns."""
    function, arguments = pickle.loads((folder / CALL).read_bytes())
    (folder / RESULT).write_bytes(pickle.dumps(function(*arguments)))
