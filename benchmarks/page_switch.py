"""Switches between clips that play together, read from a recording of the page's output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

from benchmarks.page_studies import TONES_HZ

WINDOW_S = 0.004  # two whole periods of the lowest tone: the tones do not leak into each other
HOP_S = 0.0005
AROUND_S = 0.03


@dataclass(frozen=True)
class Switch:
    after_ms: float  # from the click to the middle of the fade, as rendered
    fade_ms: float  # the new clip's rise from 10 to 90 % of its amplitude
    lowest: float  # the least level in the fade; 1: as loud as before and after


def switches(page: Page, count: int) -> list[Switch]:
    """Plays a MUSHRA screen and switches so often, between clips with different tones."""
    page.locator(".deck-toggle").click()
    page.wait_for_timeout(800)
    page.evaluate("probe.tapGraph()")
    page.wait_for_timeout(300)
    buttons = page.locator(".clip-button").all()[1:]  # the first is the reference, heard openly
    clicks = []
    for turn in range(2 * count):
        buttons[turn % len(buttons)].click()
        clicks.append(page.evaluate("probe.marks.last_click"))
        page.wait_for_timeout(330)
    recorded = page.evaluate("probe.recording()")
    found = [read(recorded, clicked) for clicked in clicks]
    return [switch for switch in found if switch is not None][:count]


def levels(samples: NDArray[np.float64], rate_hz: float) -> NDArray[np.float64]:
    """Amplitude of each tone (rows) in windows that follow each other (columns)."""
    size, hop = round(WINDOW_S * rate_hz), round(HOP_S * rate_hz)
    windows = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop]
    at = np.arange(size) / rate_hz
    return np.stack([2 / size * abs(windows @ np.exp(-2j * np.pi * hz * at)) for hz in TONES_HZ])


def read(recorded: dict[str, Any], clicked: float) -> Switch | None:
    """The switch after this click; None where both clips hold the same tone."""
    rate_hz = recorded["rate_hz"]
    quanta = [k for k, came in enumerate(recorded["came"]) if came >= clicked - 20]
    if not quanta or len(recorded["came"]) - quanta[0] < 0.2 * rate_hz / 128:
        return None
    start = 128 * quanta[0]
    part = np.array(recorded["samples"][start : start + round(0.2 * rate_hz)])
    found = levels(part, rate_hz)
    old, new = int(found[:, 0].argmax()), int(found[:, -1].argmax())
    if old == new:
        return None
    loud = (found[old, :4].mean() + found[new, -4:].mean()) / 2
    middle = int(np.argmax(found[new] > found[old]))
    rise = [int(np.argmax(found[new] > share * found[new, -1])) for share in (0.1, 0.9)]
    reach = round(AROUND_S / HOP_S)
    around = found[:, max(0, middle - reach) : middle + reach]
    lowest = float(np.sqrt((around**2).sum(axis=0)).min() / loud)
    sample = start + round((middle * HOP_S + WINDOW_S / 2) * rate_hz)
    came = recorded["came"][min(sample // 128, len(recorded["came"]) - 1)]
    return Switch(came - clicked, 1000 * HOP_S * (rise[1] - rise[0]), lowest)
