"""The four papers' studies at their own size: the commands that a user types, with their cost.

`new_study` writes the preset's folder, which is filled with made-up clips. Then a user's commands
run one after the other, each in a process of its own; all scripted raters go through the real
pages of a web process, as `simulate_raters` sends them. Scores of metrics are simulated.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import (
    BASE_DIR,
    Meter,
    family,
    machine_facts,
    own_house,
    postgres_of,
    print_table,
    web_process,
)
from benchmarks.paper_folders import PAPERS, Paper, Row, fill_folder

QUICK = 0.1
HEAD = ("study", "step", "wall s", "CPU s", "PostgreSQL CPU s", "web CPU s", "peak MB", "load")


@dataclass
class Bench:
    """What the steps cost, in the order in which they ran."""

    var: Path
    port: int
    rows: list[list[object]] = field(default_factory=list)

    def step(self, study: str, step: str, *arguments: str, web: Any = None) -> str:
        """One command as a user types it; what it printed. The bench ends where it fails."""
        meter = Meter(postgres=lambda: postgres_of(self.var), web=lambda: family(web) if web else ())
        began = time.perf_counter()
        log = self.var / f"{study}-{arguments[0]}.txt"
        with log.open("w") as out:
            command = [sys.executable, str(BASE_DIR / "manage.py"), *arguments]
            child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        wall, also = time.perf_counter() - began, meter.read()
        said = log.read_text("utf-8")
        cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        row = [study, step, wall, cpu, also["postgres"], also["web"] if web else "", peak]
        self.rows.append([*row, os.getloadavg()[0]])
        print(f"{study}: {step}: {wall:.1f} s wall, {cpu:.1f} s CPU, {peak:.0f} MB", flush=True)
        if child.returncode:
            print_table(HEAD, self.rows)
            sys.exit(f"`{' '.join(arguments)}` ended with {child.returncode}:\n{said[-4000:]}")
        return said


def raters_of(paper: Paper, share: float) -> list[str]:
    """So many as the paper had, of whom few answer without listening."""
    count = paper.raters if paper.preset == "lfs" else max(10, round(paper.raters * share))
    kinds = ["--careless", "0.02", "--leave", "0", "--withdrawer", "0"]
    return ["--raters", str(count), *kinds]


def write_scores(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ("stimulus", "metric", "value"))
        writer.writeheader()
        writer.writerows(rows)


def measure(bench: Bench, paper: Paper, share: float) -> list[object]:
    """The whole way of one paper; what it came to."""
    from django.core.management import call_command

    from benchmarks.paper_facts import facts_of

    name, folder = paper.preset, bench.var / paper.preset
    call_command("new_study", name, str(folder), verbosity=0, stdout=open(os.devnull, "w"))
    rows = fill_folder(paper, folder, share)
    bench.step(name, "import_study", "import_study", str(folder), "--open")
    with web_process() as web:
        where = ["--study", name, "--url", f"http://127.0.0.1:{bench.port}"]
        commands = ["simulate_raters", *where, *raters_of(paper, share)]
        said = bench.step(name, "raters through the pages", *commands, web=web)
    print(said, flush=True)
    if paper.scores:
        file = bench.var / f"{name}-scores.csv"
        write_scores(file, list(paper.scores(rows)))
        bench.step(name, "import_scores", "import_scores", name, str(file))
    out = ["--preset", name, "--everything", "--out", str(bench.var / f"{name}-report")]
    bench.step(name, "export_study", "export_study", name, *out)
    return facts_of(name, bench.var / f"{name}-report")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="*", help=f"of {', '.join(PAPERS)}; all without it")
    parser.add_argument("--quick", action="store_true", help="a tenth of each")
    parser.add_argument("--port", type=int, default=8131)
    parser.add_argument("--keep", type=Path, help="copy the reports there")
    options = parser.parse_args()
    share = QUICK if options.quick else 1.0
    with ExitStack() as stack:
        var = stack.enter_context(own_house(options.port, 1))
        from django.contrib.auth.models import User

        from config.prepare import collect_static

        collect_static()
        User.objects.create_user("researcher")
        facts = machine_facts()
        bench, came = Bench(var, options.port), []
        for name in options.papers or PAPERS:
            came.append(measure(bench, PAPERS[name], share))
            if options.keep:
                keep(var / f"{name}-report", options.keep / name)
        print(f"\n{facts}; load average at the end {os.getloadavg()[0]:.1f}")
        print_table(("study", "clips", "raters", "sessions", "ratings", "tables", "figures"), came)
        print_table(HEAD, bench.rows)


def keep(report: Path, target: Path) -> None:
    import shutil

    shutil.copytree(report, target, dirs_exist_ok=True)


if __name__ == "__main__":
    main()
