"""A function called in a second process, where there are two cores, while this one goes on."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

CALL, RESULT = "call.pickle", "result.pickle"
PROGRAM = f"""
import sys
from pathlib import Path
sys.path[:] = sys.argv[2:]
from {__name__} import call_in
call_in(Path(sys.argv[1]))
"""
R = TypeVar("R")
Result = Callable[[Callable[[], None]], R]


@contextmanager
def second_process(function: Callable[..., R], *arguments: Any) -> Iterator[Result[R]]:
    """Call ``function(*arguments)`` of a module elsewhere, and end that process with the context.

    Yields what waits for the result: a function that calls its argument each second, which may
    raise to stop. What is given and returned is pickled. What goes wrong there is logged, and done
    here instead.
    """
    with TemporaryDirectory() as folder:
        (Path(folder) / CALL).write_bytes(pickle.dumps((function, arguments)))
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, folder, *sys.path], stdout=subprocess.DEVNULL
        )

        def result(waiting: Callable[[], None]) -> R:
            while True:
                try:
                    failed = process.wait(timeout=1) != 0
                    break
                except subprocess.TimeoutExpired:
                    waiting()
            if failed:
                return function(*arguments)
            returned: R = pickle.loads((Path(folder) / RESULT).read_bytes())
            return returned

        try:
            yield result
        finally:
            process.kill()
            process.wait()


def has_two_cores() -> bool:
    """Whether a second process saves time here."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) > 1
    return (os.cpu_count() or 1) > 1


def call_in(folder: Path) -> None:
    """Call the function that lies in the folder, and put there what it returns."""
    function, arguments = pickle.loads((folder / CALL).read_bytes())
    (folder / RESULT).write_bytes(pickle.dumps(function(*arguments)))
