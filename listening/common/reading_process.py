"""What somebody sent, read in a process of its own: with bounded processor time and memory.

The web process serves raters, and its interpreter runs one thread at a time. A parser that takes
long there would make raters wait, and one that never ends would end the process. Here the worst is
that the child is stopped and a sentence says so. What is bounded is its processor time: the child
lets raters go first, so how long it takes depends on what else the machine does.
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
longest_wait_s: float = APART_WAIT_S


class TookTooLong(Exception):
    """The child was stopped: it used up its processor time, or its memory."""

    def explain(self, work: str, remedy: str) -> tuple[str, str]:
        """Return what is wrong with this work, and the remedy."""
        return f"{work} needs more processor time or memory than is allowed here.", remedy


class ServerBusy(TookTooLong):
    """The child was stopped before it got its processor time: others used the machine."""

    def explain(self, work: str, remedy: str) -> tuple[str, str]:
        return f"{work} did not end in time, because the server is busy.", "Try again later."


def bound_wait(seconds: float) -> None:
    """Let nobody in this process wait longer for a child."""
    global longest_wait_s
    longest_wait_s = seconds


def read_apart(
    function: Callable[..., R],
    *arguments: Any,
    cpu_s: float = APART_CPU_S,
    wait_s: float | None = None,
) -> R:
    """What a function of a module returns for these values, called in a process of its own.

    The process needs neither Django nor the database. Values and result travel pickled. What the
    function raises is raised here; TookTooLong where it used more than ``cpu_s`` of processor time,
    ServerBusy where it did not get as much within ``wait_s``, or what `bound_wait` has set.
    """
    program = f"import sys; sys.path[:] = {sys.path!r}; import {__name__} as r; r.work()"
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        output, _ = child.communicate(
            pickle.dumps((cpu_s, function, arguments)),
            timeout=longest_wait_s if wait_s is None else wait_s,
        )
    except subprocess.TimeoutExpired:
        raise ServerBusy from None
    finally:
        child.kill()
        child.communicate()
    if child.returncode:
        raise TookTooLong
    returned, value = pickle.loads(output)  # of our own child
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
    cpu_s, function, arguments = pickle.load(sys.stdin.buffer)
    _limit(cpu_s)
    try:
        result = pickle.dumps((True, function(*arguments)))
    except MemoryError:
        sys.exit(1)
    except Exception as error:
        result = pickle.dumps((False, error))
    out.write(result)
    out.flush()
