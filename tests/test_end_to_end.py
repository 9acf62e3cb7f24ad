"""From a folder to a report: import, simulated raters on the pages, ratings, estimates, files."""

import asyncio
import csv
import io
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import correlation
from typing import Any

import httpx
import pytest
import websockets

from tests.browser.small import cut
from tests.config.helpers import BASE_DIR, PATIENCE_S, House
from tests.demo_house import DemoHouse

pytestmark = pytest.mark.slow

KEY = "end-to-end"
RATERS = 40
TWO_WAY = "two-way clustered"
NAIVE = "naive"
QUICK = ("--everything", "--figures", "none", "--replicates", "200")


@dataclass
class Run:
    """A study taken from its folder to its report by commands, as a person would give them."""

    house: DemoHouse
    folder: Path
    said: str  # by simulate_raters

    def read(self, name: str) -> list[dict[str, str]]:
        with (self.folder / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @property
    def truth(self) -> dict[tuple[str, str], dict[str, Any]]:
        told = json.loads((self.folder / "truth.json").read_text())
        return {(row["estimand"], row["condition"]): row for row in told["expected"]}

    def estimates(self, kind: str) -> dict[tuple[str, str], dict[str, str]]:
        """The overall estimate of each condition with one kind of interval."""
        rows = {
            (row["estimand"], row["condition"]): row
            for row in self.read("export/estimates.csv")
            if row["breakdown"] == "condition:" and row["weighting"] == "ratings"
            if row["interval"].startswith(kind)
        }
        assert len(rows) == 14  # seven conditions, HLS and MOS
        return rows


IN_A_ROW = """
import json, sys
from config.run.commands import main
for words in json.loads(sys.argv[1]):
    print("\\0", end="", flush=True)
    print("\\0", end="", flush=True, file=sys.stderr)
    sys.argv = ["manage.py", *words]
    if status := main():
        sys.exit(status)
"""


def run_commands(house: House, *commands: Sequence[str | Path]) -> list[tuple[str, str]]:
    """Give commands as manage.py does, all to one process; return what each printed, and where."""
    words = json.dumps([[str(word) for word in command] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", IN_A_ROW, words],
        cwd=BASE_DIR,
        env=house.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outputs, errors = (text.split("\0")[1:] for text in (done.stdout, done.stderr))
    return list(zip(outputs, errors, strict=True))


@pytest.fixture(scope="module")
def run(demo_house: DemoHouse, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("end-to-end")
    write_study(folder / "study")
    shares = ("--careless", "0", "--leaver", "0.08", "--returner", "0.08", "--withdrawer", "0.04")
    crowd = ("--study", KEY, "--raters", str(RATERS), "--seed", "11", *shares)
    imported, simulated, _ = run_commands(
        demo_house,
        ("import_study", folder / "study", "--open"),
        ("simulate_raters", *crowd, "--truth", folder / "truth.json"),
        ("export_study", KEY, "--out", folder / "export", "--level", "0.999", *QUICK),
    )
    assert "Open, with" in imported[0]
    return Run(demo_house, folder, simulated[0])


def write_study(folder: Path) -> None:
    """The demo under another key, with short clips: nobody hears them here."""
    folder.mkdir()
    for source in (BASE_DIR / "demo").rglob("*"):
        target = folder / source.relative_to(BASE_DIR / "demo")
        if source.is_dir():
            target.mkdir()
        else:
            target.write_bytes(source.read_bytes())
    for sound in (folder / "audio").glob("*.flac"):
        cut(sound, 1.0)
    text = (folder / "study.toml").read_text()
    assert 'key = "demo"' in text
    (folder / "study.toml").write_text(text.replace('key = "demo"', f'key = "{KEY}"', 1))


def test_every_acknowledged_answer_is_stored(run: Run):
    told = re.search(r"(\d+) due, stored (\d+) \((\d+) ratings\)", run.said)
    assert told, run.said
    due, stored, ratings = map(int, told.groups())
    assert due == stored == ratings == len(rows_of(run)) > 400
    assert "LOST" not in run.said
    assert "Server errors" not in run.said


def rows_of(run: Run) -> list[dict[str, Any]]:
    return run.house.rows(
        "SELECT q.id, q.label, q.counts, q.score, t.trap, t.code, k.key AS task, t.slot_id"
        " FROM listening_rating q JOIN listening_trial t ON t.id = q.trial_id"
        " JOIN listening_task k ON k.id = t.task_id JOIN listening_study s ON s.id = k.study_id"
        " WHERE s.key = %s ORDER BY q.id",
        KEY,
    )


def test_the_exported_ratings_are_those_of_the_database(run: Run):
    stored = rows_of(run)
    exported = run.read("export/ratings.csv")
    assert len(exported) == len(stored)
    assert Counter((r["task"], r["label"], r["trap"]) for r in exported) == Counter(
        (r["task"], r["label"], r["trap"]) for r in stored
    )
    lines = json.loads((run.folder / "export/ratings.json").read_text())
    assert [row["score"] for row in lines] == [float(row["score"]) for row in exported]
    raters = {row["rater"] for row in exported}
    assert all(re.fullmatch(r"sim-\w{10}", rater) for rater in raters)


def test_no_stimulus_has_more_counting_ratings_than_planned(run: Run):
    counted = Counter(row["slot_id"] for row in rows_of(run) if row["counts"])
    assert set(counted.values()) == {1}
    assert not any(row["counts"] for row in rows_of(run) if row["trap"])


def test_the_analysis_recovers_the_opinions_of_the_crowd(run: Run):
    """At 99.9 %, so that one honest run in some hundreds fails by chance, if any does."""
    estimates = run.estimates(TWO_WAY)
    assert estimates.keys() <= run.truth.keys()
    for name, row in estimates.items():
        low, value, high = float(row["low"]), float(row["value"]), float(row["high"])
        truth = run.truth[name]["expected_for_these_stimuli"]
        if low == high:  # everybody said the same: the file says that this interval is none
            assert "no width" in row["note"]
        else:
            assert low <= truth <= high, f"{name}: {truth} is not in [{low}, {high}]"
        assert abs(value - truth) < {"hls": 0.3, "mos": 0.8}[name[0]], name
    for estimand in ("hls", "mos"):
        own = [name for name in estimates if name[0] == estimand]
        told = [float(estimates[name]["value"]) for name in own]
        true = [run.truth[name]["expected_for_these_stimuli"] for name in own]
        assert correlation(told, true) > 0.9


def test_the_honest_interval_is_wider_than_the_naive_one_mostly(run: Run):
    honest, naive = run.estimates(TWO_WAY), run.estimates(NAIVE)
    wider = [name for name in honest if width(honest[name]) > width(naive[name])]
    assert len(wider) >= 9
    assert sum(width(row) > 0 for row in honest.values()) >= 12


def width(row: dict[str, str]) -> float:
    return float(row["high"]) - float(row["low"])


def test_the_researcher_sees_progress_that_adds_up(run: Run):
    progress = asyncio.run(watched(run.house))
    stored = rows_of(run)
    for task in progress["tasks"]:
        counted = [r for r in stored if r["task"] == task["key"] and r["counts"]]
        traps = [r for r in stored if r["task"] == task["key"] and r["trap"]]
        assert task["rated"] == len({r["slot_id"] for r in counted})
        assert task["rated"] == sum(c["rated"] for c in task["conditions"])
        assert task["planned"] == sum(c["planned"] for c in task["conditions"])
        assert sum(t["answered"] for t in task["traps"]) == len(traps)
    assert progress["sessions"]["simulated"] == RATERS
    assert sum(n for k, n in progress["sessions"].items() if k != "simulated") == RATERS


async def watched(house: DemoHouse) -> dict[str, Any]:
    """The first message of the live monitor, to a researcher who logged in on the page."""
    with logged_in(house) as client:
        cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    url = f"ws://127.0.0.1:{house.port}/ws/studies/{KEY}/"
    async with websockets.connect(
        url, origin=websockets.Origin(house.url), additional_headers={"Cookie": cookies}
    ) as socket:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            message = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_S))
            if message["type"] == "progress":
                found: dict[str, Any] = message["progress"]
                return found
    raise AssertionError("the monitor told no progress")


@contextmanager
def logged_in(house: DemoHouse) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=house.url, timeout=PATIENCE_S, follow_redirects=True) as client:
        log_in(house, client)
        yield client


def log_in(house: DemoHouse, client: httpx.Client) -> None:
    client.get("/login/")
    password = (house.var / "researcher-login.txt").read_text().split("password: ")[1].strip()
    form = {"username": "researcher", "password": password, "next": "/studies/"}
    token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
    page = client.post("/login/", data={**form, **token}, headers={"Referer": house.url})
    assert page.status_code == 200
    assert KEY in page.text


@pytest.fixture
def researcher(run: Run) -> Iterator[httpx.Client]:
    with logged_in(run.house) as client:
        yield client


def test_the_researchers_pages_give_the_same_ratings(run: Run, researcher: httpx.Client):
    page = researcher.get(f"/studies/{KEY}/")
    assert page.status_code == 200
    download = researcher.get(f"/studies/{KEY}/results/ratings.csv")
    assert download.status_code == 200
    exported = (run.folder / "export" / "ratings.csv").read_text("utf-8")
    given = [{**row, "left_out_by": ""} for row in csv_rows(download.text)]  # no analysis here yet
    kept = [{**row, "left_out_by": ""} for row in csv_rows(exported)]
    assert sorted(given, key=str) == sorted(kept, key=str)


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))
