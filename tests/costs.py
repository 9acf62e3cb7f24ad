"""What the tests cost: CPU seconds of all, and the ten longest, at the end of each run.

A process counts when it has ended: a browser or a server that several tests share stands with the
last of them, or with none. All stand in costs-by-file.txt and costs-by-test.txt under EARNEST_VAR.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest

MOST = 10
PHASES = {"setup": "set-up of ", "call": "", "teardown": "end of "}


def spent_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def machine_spent_s() -> float:
    """CPU seconds of everything on this machine since it started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


class Costs:
    """Kept by the process that reports; in a parallel run others measure and send."""

    def __init__(self) -> None:
        self.began_s = machine_spent_s()
        self.last_s = spent_s()
        self.of_tests: Counter[str] = Counter()
        self.of_workers_s = 0.0

    def since_last_s(self) -> float:
        before, self.last_s = self.last_s, spent_s()
        return self.last_s - before

    def lines(self) -> list[str]:
        machine_s = machine_spent_s() - self.began_s
        own_s = spent_s()
        if self.of_workers_s:  # these are children too, and some have ended
            own_s = self.of_workers_s + os.times().user + os.times().system
        most = self.of_tests.most_common(MOST)
        longest = [f"{cost:8.1f}  {name}" for name, cost in most if cost > 0.1]
        return [
            f"{own_s:.0f} in all processes of the tests, {self.of_tests.total():.0f} of them within"
            f" tests; {machine_s:.0f} on this machine meanwhile. The {MOST} longest:",
            *longest,
        ]


COSTS = pytest.StashKey[Costs]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[COSTS] = Costs()


def pytest_runtest_protocol(item: pytest.Item) -> None:
    item.config.stash[COSTS].since_last_s()  # what lies between two tests belongs to neither


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    report.cpu_s = item.config.stash[COSTS].since_last_s()
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["spent_s"] = spent_s()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[COSTS].of_workers_s += getattr(node, "workeroutput", {}).get("spent_s", 0.0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    costs = config.stash[COSTS]
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                costs.of_tests[PHASES[report.when or "call"] + report.nodeid] += report.cpu_s
    terminalreporter.section("CPU seconds")
    for line in costs.lines():
        terminalreporter.write_line(line)
    files: Counter[str] = Counter()
    for name, cost in costs.of_tests.items():
        files[name.split("::")[0].rpartition(" ")[2]] += cost
    for kind, counted in (("file", files), ("test", costs.of_tests)):
        by_cost = "".join(f"{cost:8.2f}  {name}\n" for name, cost in counted.most_common())
        (Path(os.environ["EARNEST_VAR"]) / f"costs-by-{kind}.txt").write_text(by_cost)
