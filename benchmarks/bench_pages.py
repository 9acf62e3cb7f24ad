"""The rater's pages in a real Chromium: time to a clip and to its sound, bytes, memory."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Browser, Page

from benchmarks.chromium import Traffic, browser_mb, chromium, fresh_page, heap_mb, slow_down
from benchmarks.house import machine_facts, own_house, percentile, print_table, web_process
from benchmarks.page_studies import KINDS, LONG_RATE_HZ, LONG_S, new_session, open_study
from benchmarks.page_switch import switches
from benchmarks.page_walk import OPENING, Walk

HEAD = ("what", "goal", "median", "worst", "n", "goal met by")
TIMED = ("single clip", "pair", "three criteria", "MUSHRA, 5 clips")
SLOW = {"kb_per_s": 100.0, "latency_ms": 40.0}
CLIP_S = 4.5
PLAIN = "/static/bench/plain.html"
PLAIN_PAGE = """<!doctype html><title>Plain</title><button id="play">Play</button>
<audio id="audio" preload="auto"></audio><script>
const audio = document.getElementById("audio");
const note = (name) => { window.probe.marks[name] ??= performance.now(); };
audio.addEventListener("canplay", () => note("ready"));
audio.addEventListener("playing", () => note("playing"));
document.getElementById("play").addEventListener("click", () => audio.play());
audio.src = location.hash.slice(1);
</script>"""
OPENED = """() => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return { ...probe.marks, shown: paint?.startTime ?? probe.marks.ready };
}"""
Row = list[object]


def row(what: str, unit: str, goal: float | None, values: Sequence[float]) -> Row:
    """One line of the table: a lower number is better."""
    limit = "" if goal is None else f"{goal:g} {unit}"
    within = sum(value <= goal for value in values) if goal is not None else 0
    met = "" if goal is None else f"{within} of {len(values)}"
    median, worst = percentile(values, 0.5), max(values)
    return [what, limit, f"{median:,.0f} {unit}", f"{worst:,.0f} {unit}", len(values), met]


class House:
    """The server under test, with a study for each kind of trial."""

    def __init__(self, port: int, folder: Path, trials: int) -> None:
        self.port, self.folder, self.trials = port, folder, trials
        self.studies: dict[str, Any] = {}

    def url(self, kind: str, code: str = "") -> str:
        """A new session in the study of this kind."""
        if kind not in self.studies:
            material = {"items": self.trials, "seconds": CLIP_S}
            if kind == "long clip":
                material = {"items": 1, "seconds": LONG_S, "rate_hz": LONG_RATE_HZ}
            key = re.sub("[^a-z]+", "-", kind.lower()).strip("-")
            shown = "single clip" if kind == "long clip" else kind
            self.studies[kind] = open_study(self.folder, key, shown, **material)
        return f"http://127.0.0.1:{self.port}/s/{new_session(self.studies[kind])}/"

    def plain(self, page: Page, kind: str) -> str:
        """The plain page with the first clip of a session, whose cookies the browser then has."""
        text = page.context.request.get(self.url(kind)).text()
        found = re.search(r'<script id="state" type="application/json">(.*?)</script>', text)
        assert found is not None
        clip = json.loads(found[1])["trials"][0]["clips"][0]
        return f"http://127.0.0.1:{self.port}{PLAIN}#{clip}"


# --- Opening -------------------------------------------------------------------------------------


def opened(browser: Browser, url: str, *, slow: bool) -> dict[str, float]:
    """Marks of one opening with empty caches; “Begin” is pressed as soon as it is there."""
    with fresh_page(browser) as page:
        if slow:
            slow_down(page, **SLOW)
        page.add_init_script(OPENING)
        page.goto(url)
        page.wait_for_function("probe.marks.ready", timeout=90_000)
        marks: dict[str, float] = page.evaluate(OPENED)
        return marks


def opened_plain(browser: Browser, house: House, kind: str, *, slow: bool) -> dict[str, float]:
    with fresh_page(browser) as page:
        url = house.plain(page, kind)
        if slow:
            slow_down(page, **SLOW)
        page.goto(url)
        page.wait_for_function("probe.marks.ready", timeout=90_000)
        marks: dict[str, float] = page.evaluate(OPENED)
        return marks


def openings(browser: Browser, house: House, rounds: int) -> Iterator[Row]:
    for slow, link in ((False, "fast link"), (True, "100 KB/s, 40 ms")):
        for kind in ("single clip", "MUSHRA, 5 clips"):
            made = [opened(browser, house.url(kind), slow=slow) for _ in range(rounds)]
            ready = [marks["ready"] for marks in made]
            goal = None if slow else 1_000
            yield row(f"opening to first clip ready, {kind}, {link}", "ms", goal, ready)
            if slow:
                seen = [max(0.0, m["progress"] - m["shown"]) for m in made]
                shown = [marks["shown"] for marks in made]
                yield row(f"… of it, until the page shows, {kind}", "ms", None, shown)
                yield row(f"… page shown to visible progress, {kind}", "ms", 1_000, seen)
        plain = [opened_plain(browser, house, "single clip", slow=slow) for _ in range(rounds)]
        ready = [marks["ready"] for marks in plain]
        yield row(f"baseline: plain <audio preload> page, {link}", "ms", None, ready)


# --- Trials --------------------------------------------------------------------------------------


def walks(browser: Browser, house: House, rounds: int) -> Iterator[Row]:
    later: list[Row] = []
    for kind in TIMED:
        with fresh_page(browser) as page:
            walk = Walk(page, house.url(kind))
            walk.begin()
            trials = [walk.trial() for _ in range(rounds)]
        nexts = [t.next_ms for t in trials if t.next_ms is not None]
        yield row(f"“Next” to next trial with play button, {kind}", "ms", 100, nexts)
        sounds = [t.sound_ms for t in trials if t.sound_ms is not None]
        later.append(row(f"click on play to first sample, {kind}", "ms", 50, sounds))
        playing = [t.playing_ms for t in trials if t.playing_ms is not None]
        if playing:
            later.append(row(f"… to the event “playing”, {kind}", "ms", 50, playing))
    yield from later
    yield from plain_sounds(browser, house, rounds)


def plain_sounds(browser: Browser, house: House, rounds: int) -> Iterator[Row]:
    """The same on a page with nothing but an audio element, which is loaded anew for each clip."""
    opens, sounds = [], []
    with fresh_page(browser) as page:
        for _ in range(rounds):
            url = house.plain(page, "single clip")
            page.goto("about:blank")
            page.goto(url)
            page.wait_for_function("probe.marks.ready")
            opens.append(page.evaluate("probe.marks.ready"))
            sounds.append(first_sound_ms(page))
    yield row("baseline: a new plain page for each clip, to its button", "ms", None, opens)
    yield row("baseline: click to first sample, plain page", "ms", None, sounds)


def first_sound_ms(page: Page) -> float:
    """Presses play on a plain page."""
    page.mouse.click(300, 300)  # the recorder's own output may run after a tap only
    page.evaluate("probe.tapElements()")
    page.wait_for_timeout(500)
    page.locator("#play").click()
    clicked = page.evaluate("probe.marks.last_click")
    page.wait_for_function("(at) => probe.firstSound(at)", arg=clicked)
    first = page.evaluate("(at) => probe.firstSound(at)", clicked)
    return float(first["came"]) - float(clicked)


def switching(browser: Browser, house: House, rounds: int) -> Iterator[Row]:
    with fresh_page(browser) as page:
        walk = Walk(page, house.url("MUSHRA, 5 clips"))
        walk.begin()
        found = switches(page, rounds)
    yield row(
        "MUSHRA: click on a clip to the middle of the fade", "ms", 50, [s.after_ms for s in found]
    )
    yield row("MUSHRA: fade, 10 % to 90 % of the amplitude", "ms", 20, [s.fade_ms for s in found])
    dips = [100 * (1 - s.lowest) for s in found]
    yield row("MUSHRA: loss of level in the switch (100 %: a gap)", "%", 30, dips)


# --- Bytes ---------------------------------------------------------------------------------------


def weights(browser: Browser, house: House) -> None:
    """What a trial page brings along, from empty caches to the first trial that is ready."""
    rows = []
    for kind in KINDS:
        with fresh_page(browser) as page:
            traffic = Traffic(page)
            page.goto(house.url(kind))
            page.get_by_role("button", name="Begin").click()
            page.locator(":is(.player, .deck)[data-state=ready]").wait_for()
            page.wait_for_timeout(500)
            code = traffic.of(".js", ".css")
            html = [sent for sent in traffic.all.values() if sent.kind == "Document"]
            sums = [
                sum(getattr(s, f) for s in code)
                for f in ("body_bytes", "wire_bytes", "plain_bytes")
            ]
            rows.append(
                [
                    kind,
                    "60 KB",
                    *(f"{total / 1000:.1f} KB" for total in sums),
                    f"{sum(s.wire_bytes for s in html) / 1000:.1f} KB",
                    f"{len(code)} of {len(traffic.all)}",
                    len(traffic.elsewhere(house.port)),
                ]
            )
    head = (
        "trial",
        "goal",
        "JS + CSS as served",
        "with headers",
        "uncompressed",
        "HTML with headers",
    )
    print_table((*head, "requests for code, of all", "third parties"), rows)


# --- Memory --------------------------------------------------------------------------------------

DECODE_ALL = """async (clip) => {
    const bytes = await (await fetch(clip)).arrayBuffer();
    window.kept = await new AudioContext().decodeAudioData(bytes);
    return window.kept.duration;
}"""


def memory(browser: Browser, house: House) -> None:
    """With a clip of 20 minutes: Earnest, a plain audio element, and decoding it whole."""
    decoded_mb = LONG_S * LONG_RATE_HZ * 4 / 1024**2
    rows: list[Row] = []
    for what, begin in (
        ("Earnest, clip of 4.5 s", lambda page: earnest_plays(page, house.url("single clip"))),
        ("Earnest, clip of 20 min", lambda page: earnest_plays(page, house.url("long clip"))),
        ("baseline: plain <audio preload>, 20 min", lambda page: plain_plays(page, house)),
        ("alternative: decoded whole, 20 min", lambda page: decoded_plays(page, house)),
    ):
        rows.append([what, *measured_memory(browser, begin)])
    print(f"Decoded, 20 minutes are {decoded_mb:.0f} MB (48 kHz, one channel, 32 bit).")
    head = ("page", "heap before", "heap later", "browser before", "most within 15 s", "growth")
    print_table((*head, "click to first sample", "of the clip loaded by then"), rows)


def measured_memory(browser: Browser, begin: Callable[[Page], tuple[str, str]]) -> Row:
    with fresh_page(browser) as page:
        page.goto("about:blank")
        page.wait_for_timeout(500)
        before, heap = browser_mb(), heap_mb(page)
        sound, loaded = begin(page)
        most, end = 0.0, time.monotonic() + 15
        while time.monotonic() < end:
            page.wait_for_timeout(500)
            most = max(most, browser_mb())
        sizes = (heap, heap_mb(page), before, most, most - before)
        return [*(f"{size:,.0f} MB" for size in sizes), sound, loaded]


def earnest_plays(page: Page, url: str) -> tuple[str, str]:
    traffic = Traffic(page)
    walk = Walk(page, url)
    walk.begin()
    walk.tap()
    page.locator(".trial .player-button").click()
    return sound_and_share(page, traffic)


def plain_plays(page: Page, house: House) -> tuple[str, str]:
    traffic = Traffic(page)
    page.goto(house.plain(page, "long clip"))
    page.wait_for_function("probe.marks.ready")
    page.mouse.click(300, 300)
    page.evaluate("probe.tapElements()")
    page.wait_for_timeout(300)
    page.locator("#play").click()
    return sound_and_share(page, traffic)


def sound_and_share(page: Page, traffic: Traffic) -> tuple[str, str]:
    clicked = page.evaluate("probe.marks.last_click")
    page.wait_for_function("(at) => probe.firstSound(at)", arg=clicked)
    first = page.evaluate("(at) => probe.firstSound(at)", clicked)
    clips = [sent for sent in traffic.all.values() if "/c/" in sent.url]
    came = sum(sent.plain_bytes for sent in clips) / 1024**2
    page.evaluate("probe.untap()")
    return f"{first['came'] - clicked:.0f} ms", f"{came:.1f} MB in {len(clips)} requests"


def decoded_plays(page: Page, house: House) -> tuple[str, str]:
    began = time.perf_counter()
    url = house.plain(page, "long clip")
    page.goto(url.split("#")[0])
    page.evaluate(DECODE_ALL, url.split("#")[1])
    return f"not before {1000 * (time.perf_counter() - began):,.0f} ms", "all"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 of each, not 20")
    parser.add_argument("--port", type=int, default=8142)
    parser.add_argument("--only", choices=("open", "trials", "switch", "bytes", "memory"))
    options = parser.parse_args()
    rounds = 3 if options.quick else 20
    with own_house(options.port, 1) as var, tempfile.TemporaryDirectory() as folder:
        from config.run.preparation import collect_static

        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright keeps a loop in this thread
        collect_static()
        plain = var / PLAIN.lstrip("/")
        plain.parent.mkdir(parents=True)
        plain.write_text(PLAIN_PAGE)
        print(machine_facts(), flush=True)
        with web_process(), chromium() as browser:
            print(f"Chromium {browser.version}", flush=True)
            measure(browser, House(options.port, Path(folder), rounds + 2), rounds, options.only)
        print(f"Load average at the end {os.getloadavg()[0]:.1f}")


def measure(browser: Browser, house: House, rounds: int, only: str | None) -> None:
    timed = {"open": openings, "trials": walks, "switch": switching}
    for name, job in timed.items():
        if only in (None, name):
            print_table(HEAD, list(job(browser, house, rounds)))
            print(f"Load average after it {os.getloadavg()[0]:.1f}\n", flush=True)
    if only in (None, "bytes"):
        weights(browser, house)
    if only in (None, "memory"):
        memory(browser, house)


if __name__ == "__main__":
    main()
