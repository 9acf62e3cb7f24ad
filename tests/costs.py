"""What the tests cost: CPU seconds of all, and the ten longest, at the end of each run.

A process counts when it has ended. What several tests share stands under its own name, where it
starts and where it ends: a server or a browser has all it did for them at its end. What is left in
none is collecting and what lies between tests. All stand in costs-by-file.txt and
costs-by-test.txt under EARNEST_VAR; costs-by-wait.txt has the seconds of each test in which
neither it nor a child that has ended computed: it waited, for a server or for a processor.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
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
        self.of_phase_s = 0.0
        self.of_shared: Counter[str] = Counter()
        self.of_tests: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self.of_workers_s = 0.0

    def since_last_s(self) -> float:
        before, self.last_s = self.last_s, spent_s()
        return self.last_s - before

    def to_phase(self) -> None:
        """What was spent since last belongs to the phase of the test that is under way."""
        self.of_phase_s += self.since_last_s()

    def to_shared(self, name: str) -> None:
        """It belongs to a fixture that others use, too."""
        self.of_shared[name] += self.since_last_s()

    def phase(self) -> tuple[float, dict[str, float]]:
        """The phase itself, and what was shared within it; counting begins anew."""
        self.to_phase()
        found = self.of_phase_s, dict(self.of_shared)
        self.of_phase_s = 0.0
        self.of_shared.clear()
        return found

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
    item.config.stash[COSTS].phase()  # what lies between two tests belongs to neither


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    report.cpu_s, report.shared_cpu_s = item.config.stash[COSTS].phase()
    return report


def shared_name(fixture: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> str:
    """The file that a fixture serves, or the one it is in where it serves several."""
    return f"{request.node.nodeid or fixture.func.__module__}::{fixture.argname}"


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    if fixturedef.scope == "function":
        return (yield)
    costs = request.config.stash[COSTS]
    costs.to_phase()
    try:
        return (yield)
    finally:
        costs.to_shared("start of " + shared_name(fixturedef, request))
        fixturedef.addfinalizer(costs.to_phase)  # the last to be added is the first to run


def pytest_fixture_post_finalizer(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> None:
    if fixturedef.scope != "function":
        request.config.stash[COSTS].to_shared("end of " + shared_name(fixturedef, request))


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
                costs.of_tests.update(report.shared_cpu_s)
                cpu_s = report.cpu_s + sum(report.shared_cpu_s.values())
                costs.waits[PHASES[report.when or "call"] + report.nodeid] += (
                    report.duration - cpu_s
                )
    terminalreporter.section("CPU seconds")
    for line in costs.lines():
        terminalreporter.write_line(line)
    files: Counter[str] = Counter()
    for name, cost in costs.of_tests.items():
        files[name.split("::")[0].rpartition(" ")[2]] += cost
    waits = costs.waits
    for kind, counted in (("file", files), ("test", costs.of_tests), ("wait", waits)):
        by_cost = "".join(f"{cost:8.2f}  {name}\n" for name, cost in counted.most_common())
        (Path(os.environ["EARNEST_VAR"]) / f"costs-by-{kind}.txt").write_text(by_cost)
