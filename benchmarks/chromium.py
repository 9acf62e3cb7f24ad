"""A real headless Chromium for the benchmarks: its network, its bytes and its memory."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PROBE = Path(__file__).with_name("page_probe.js")
MB = 1024.0 * 1024.0


@contextmanager
def chromium() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        sys.exit("This benchmark needs Chromium: install the package chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def fresh_page(browser: Browser) -> Iterator[Page]:
    """A page with empty caches and the probe, which the pages' own rules would not let in."""
    context: BrowserContext = browser.new_context(bypass_csp=True)
    context.add_init_script(path=PROBE)
    page = context.new_page()
    page.set_default_timeout(60_000)
    try:
        yield page
    finally:
        context.close()


def slow_down(page: Page, *, kb_per_s: float, latency_ms: float) -> None:
    cdp = page.context.new_cdp_session(page)
    cdp.send("Network.enable")
    rate = kb_per_s * 1000
    link = {"downloadThroughput": rate, "uploadThroughput": rate, "latency": latency_ms}
    cdp.send("Network.emulateNetworkConditions", {"offline": False, **link})


@dataclass
class Sent:
    """One answer that the browser got."""

    url: str
    kind: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    wire_bytes: int = 0  # as it came, headers and all
    body_bytes: int = 0  # as it came, without the headers
    plain_bytes: int = 0  # uncompressed


class Traffic:
    """All that a page asks for from now on."""

    def __init__(self, page: Page) -> None:
        self.all: dict[str, Sent] = {}
        cdp = page.context.new_cdp_session(page)
        cdp.on("Network.requestWillBeSent", self._asked)
        cdp.on("Network.responseReceived", self._answered)
        cdp.on("Network.dataReceived", self._came)
        cdp.on("Network.loadingFinished", self._finished)
        cdp.send("Network.enable")

    def _asked(self, event: dict[str, Any]) -> None:
        self.all[event["requestId"]] = Sent(event["request"]["url"], event.get("type", ""))

    def _answered(self, event: dict[str, Any]) -> None:
        sent = self.all.setdefault(event["requestId"], Sent(event["response"]["url"]))
        sent.headers = {k.lower(): v for k, v in event["response"]["headers"].items()}
        sent.kind = event["type"]
        sent.body_bytes = int(sent.headers.get("content-length", 0))

    def _came(self, event: dict[str, Any]) -> None:
        if sent := self.all.get(event["requestId"]):
            sent.plain_bytes += event["dataLength"]
            sent.wire_bytes += event["encodedDataLength"]

    def _finished(self, event: dict[str, Any]) -> None:
        if sent := self.all.get(event["requestId"]):
            sent.wire_bytes = max(sent.wire_bytes, int(event["encodedDataLength"]))

    def of(self, *endings: str) -> list[Sent]:
        return [sent for sent in self.all.values() if urlsplit(sent.url).path.endswith(endings)]

    def elsewhere(self, port: int) -> list[str]:
        """Addresses outside the server."""
        home = (f"http://127.0.0.1:{port}/", f"blob:http://127.0.0.1:{port}/", "data:")
        return [sent.url for sent in self.all.values() if not sent.url.startswith(home)]


def heap_mb(page: Page) -> float:
    """What the page's scripts hold, after a clean-up."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("HeapProfiler.collectGarbage")
    cdp.send("Performance.enable")
    metrics = cdp.send("Performance.getMetrics")["metrics"]
    return float(next(m["value"] for m in metrics if m["name"] == "JSHeapUsedSize")) / MB


def browser_mb() -> float:
    """The memory of all processes of this program's browsers; shared pages count once."""
    total = 0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "chrom" in process.name():
                total += process.memory_full_info().pss
    return total / MB
