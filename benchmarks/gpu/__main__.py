"""Measure everything that a GPU is for, in minutes, without Django, a database or a network.

    python -m benchmarks.gpu --out DIR [--device cuda|cpu] [--minutes 8] [--steps tests,presets]

Steps run in order of worth, each in a process of its own with its share of the time.
DIR/results.jsonl has a line per figure as it comes; DIR/summary.md is written after each step.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 24e9  # of weights at full size


def main(words: Sequence[str] | None = None) -> int:
    """Run the steps that are asked for; returns 0, also where one failed: its row says so."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or cpu (tiny sizes)")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--steps", default="", help="keys with commas; default: all")
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)  # of audio and weights
    parser.add_argument("--step", help=argparse.SUPPRESS)  # the one that a child process runs
    given = parser.parse_args(words)
    given.out.mkdir(parents=True, exist_ok=True)
    if given.step:
        return run_here(given)
    from benchmarks.gpu.journal import Journal
    from benchmarks.gpu.steps import STEPS, TITLES

    unknown = set(filter(None, given.steps.split(","))) - set(TITLES)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: no such step; there are {', '.join(TITLES)}")
    journal = Journal(given.out)
    wanted = [step for step in STEPS if not given.steps or step.key in given.steps.split(",")]
    ends = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory(dir=roomy()) as place:
        child(given, "card", place, 60)
        journal.summarise(TITLES)
        making = making_networks(given, place)
        for number, step in enumerate(wanted):
            if step.key != "tests":
                making.wait()
            share = step.share / sum(each.share for each in wanted[number:])
            seconds = share * (ends - time.monotonic())
            if seconds < 5:
                journal.add(step.key, "all", not_run="no time was left")
            else:
                begun = time.monotonic()
                failure = child(given, step.key, place, seconds)
                spent = round(time.monotonic() - begun, 1)
                journal.add(
                    "steps", step.key, seconds=spent, allowed_s=round(seconds, 1), **failure
                )
            journal.summarise(TITLES | {"steps": "Time of each step"})
    return 0


def making_networks(given: argparse.Namespace, place: str) -> subprocess.Popen[bytes]:
    """Start a process that writes networks and speech while tests run."""
    return subprocess.Popen(words_of(given, "prepare", place, 300), cwd=ROOT)


def child(given: argparse.Namespace, step: str, place: str, seconds: float) -> dict[str, str]:
    """Run one step in a process of its own; returns what went wrong, if anything did.

    It is ended a fifth after its time: one that hangs takes nothing from the others.
    """
    try:
        done = subprocess.run(
            words_of(given, step, place, seconds), cwd=ROOT, timeout=1.2 * seconds + 5
        )
    except subprocess.TimeoutExpired:
        return {"failed": "ended after its time"}
    return {"failed": f"exit code {done.returncode}"} if done.returncode else {}


def words_of(given: argparse.Namespace, step: str, place: str, seconds: float) -> list[str]:
    """Return the command line of the process that runs a step."""
    return [
        sys.executable, "-m", "benchmarks.gpu", "--out", str(given.out), "--device", given.device,
        "--minutes", str(seconds / 60), "--step", step, "--place", place,
    ]  # fmt: skip


def run_here(given: argparse.Namespace) -> int:
    """Run the step that this process is for."""
    ends = time.monotonic() + 60 * given.minutes
    warnings.simplefilter("ignore")
    import transformers

    from benchmarks.gpu import card
    from benchmarks.gpu.journal import Journal
    from benchmarks.gpu.steps import Setting, run_step

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    journal = Journal(given.out)
    if given.step == "card":
        known = card.facts(given.device)
        journal.add("card", known.pop("card"), **known)
        if given.device != "cpu":
            journal.add("card", "ceilings", **card.ceilings(given.device))
        return 0
    tiny = given.device == "cpu"
    run_step(given.step, Setting(given.device, given.place, journal, ends, tiny))
    return 0


def roomy() -> str | None:
    """Return where weights are written: shared memory where it holds them, else the usual place."""
    if SHARED_MEMORY.is_dir():
        import shutil

        if shutil.disk_usage(SHARED_MEMORY).free > ROOM_BYTES:
            return str(SHARED_MEMORY)
    return None


if __name__ == "__main__":
    raise SystemExit(main())
