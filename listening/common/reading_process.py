"""What somebody sent, read in a process of its own: by a deadline, with bounded memory.

The web process serves raters, and its interpreter runs one thread at a time. A parser that takes
long there would make raters wait, and one that never ends would end the process. Here the worst is
that the child is stopped and a sentence says so.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from listening.common.input_limits import APART_CPU_S, APART_MEMORY_BYTES, APART_WAIT_S

R = TypeVar("R")


class TookTooLong(Exception):
    """The child was stopped: at its deadline, or for want of memory."""


def read_apart(
    function: Callable[..., R],
    *given: Any,
    cpu_s: float = APART_CPU_S,
    wait_s: float = APART_WAIT_S,
) -> R:
    """What a function of a module returns for these values, called in a process of its own.

    The process needs neither Django nor the database. Values and result travel pickled. What the
    function raises is raised here; TookTooLong where it used more than ``cpu_s`` of processor time.
    """
    program = f"import sys; sys.path[:] = {sys.path!r}; import {__name__} as r; r.work()"
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        told, _ = child.communicate(pickle.dumps((cpu_s, function, given)), timeout=wait_s)
    except subprocess.TimeoutExpired:
        raise TookTooLong from None
    finally:
        child.kill()
        child.communicate()
    if child.returncode:
        raise TookTooLong
    returned, value = pickle.loads(told)  # of our own child
    if not returned:
        raise value
    result: R = value
    return result


def _limit(cpu_s: float) -> None:
    """Ends this process at its deadline, and lets raters go first."""
    import resource

    with suppress(OSError, ValueError):  # macOS bounds no memory
        resource.setrlimit(resource.RLIMIT_AS, (APART_MEMORY_BYTES, APART_MEMORY_BYTES))
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    whole = int(used + cpu_s) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(10)


def work() -> None:
    """What the child does."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # what a library prints is no result
    cpu_s, function, given = pickle.load(sys.stdin.buffer)
    _limit(cpu_s)
    try:
        told = pickle.dumps((True, function(*given)))
    except MemoryError:
        sys.exit(1)
    except Exception as error:
        told = pickle.dumps((False, error))
    out.write(told)
    out.flush()
