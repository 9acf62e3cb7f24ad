"""The four papers' studies at their own size: the commands that a user types, with their cost.

`new_study` writes the preset's folder, which is filled with made-up clips. Then a user's commands
run one after the other, each in a process of its own. A share of the scripted raters go through the
real pages of a web process, clips and all, as `simulate_raters` sends them; the others call the
same views in processes of the bench (`paper_raters.py`). Scores of metrics are simulated.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
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
from benchmarks.paper_folders import PAPERS, Paper, fill_folder

QUICK, CARELESS = 0.1, 0.02
FEW = 10  # so many come by the pages: one who answers 600 times a minute is turned away
HEAD = ("study", "step", "wall s", "CPU s", "PostgreSQL CPU s", "web CPU s", "peak MB", "load")


@dataclass
class Bench:
    """What the steps cost, in the order in which they ran."""

    var: Path
    port: int
    rows: list[list[object]] = field(default_factory=list)

    def step(self, study: str, step: str, *arguments: str, web: Any = None) -> str:
        """One command as a user types it; what it printed. The bench ends where it fails."""
        meter = Meter(
            postgres=lambda: postgres_of(self.var), web=lambda: family(web) if web else ()
        )
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

    def directly(self, study: str, first: int, count: int) -> None:
        """The other raters, in three processes of the bench."""
        from benchmarks.paper_raters import send_directly

        meter = Meter(postgres=partial(postgres_of, self.var))
        began, before = time.perf_counter(), os.times()
        ends = send_directly(study, first, count, CARELESS)
        wall, after = time.perf_counter() - began, os.times()
        cpu = sum(after[:4]) - sum(before[:4])  # user and system, of this process and of those
        row = [study, f"{count} raters by the same views", wall, cpu, meter.read()["postgres"]]
        self.rows.append([*row, "", "", os.getloadavg()[0]])
        print(f"{study}: {count} raters by the same views, {wall:.0f} s: {dict(ends)}", flush=True)


def send_raters(bench: Bench, paper: Paper, share: float, pages: float) -> None:
    """So many as the paper had: some by the pages, the others by the same functions."""
    count = paper.raters if paper.preset == "lfs" else max(10, round(paper.raters * share))
    by_pages = min(count, max(FEW, round(count * pages)))
    with web_process() as web:
        where = ["--study", paper.preset, "--url", f"http://127.0.0.1:{bench.port}"]
        kinds = ["--careless", str(CARELESS), "--leave", "0", "--withdrawer", "0"]
        command = ["simulate_raters", *where, "--raters", str(by_pages), *kinds]
        step = f"{by_pages} raters through the pages"
        print(bench.step(paper.preset, step, *command, web=web), flush=True)
    if count > by_pages:
        bench.directly(paper.preset, by_pages, count - by_pages)


def measure(bench: Bench, paper: Paper, share: float, pages: float) -> list[object]:
    """The whole way of one paper; what it came to."""
    from django.core.management import call_command

    from benchmarks.paper_facts import facts_of

    name, folder = paper.preset, bench.var / paper.preset
    call_command("new_study", name, str(folder), verbosity=0, stdout=StringIO())
    rows = fill_folder(paper, folder, share)
    bench.step(name, "import_study", "import_study", str(folder), "--open")
    send_raters(bench, paper, share, pages)
    if paper.scores:
        from benchmarks.paper_scores import store_simulated

        print(f"{name}: {store_simulated(name, paper.scores(rows))} simulated scores", flush=True)
    out = ["--preset", name, "--everything", "--out", str(bench.var / f"{name}-report")]
    bench.step(name, "export_study", "export_study", name, *out)
    return facts_of(name, bench.var / f"{name}-report")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="*", help=f"of {', '.join(PAPERS)}; all without it")
    parser.add_argument("--quick", action="store_true", help="a tenth of each")
    parser.add_argument("--port", type=int, default=8131)
    parser.add_argument("--pages", type=float, default=0.1, help="share of raters by the pages")
    parser.add_argument("--keep", type=Path, help="copy the reports there")
    options = parser.parse_args()
    share = QUICK if options.quick else 1.0
    with ExitStack() as stack:
        var = stack.enter_context(own_house(options.port, 1))
        from django.conf import settings
        from django.contrib.auth.models import User

        from config.run.preparation import collect_static

        collect_static()
        settings.ALLOWED_HOSTS = ["*"]  # Django's test client asks for `testserver`
        User.objects.create_user("researcher")
        facts = machine_facts()
        bench, came = Bench(var, options.port), []
        for name in options.papers or PAPERS:
            came.append(measure(bench, PAPERS[name], share, options.pages))
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
