"""Spans of the waveform, marked in a real Chromium: what is stored are times of the upload."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from listening.methods.error_spans import read_spans
from listening.models import Rating, Study
from listening.studies import create_study, open_study
from tests.browser.conftest import PHONE
from tests.browser.driver import begin, go_on, hear
from tests.browser.test_rater_looks import TOO_WIDE, can_be_seen_and_reached
from tests.browser.watch import Watch
from tests.factories import make_user
from tests.listening.web import WebProcess

NewPage = Callable[..., Page]
RATE_HZ = 16_000
CLICK_S = {"a": 1.5, "b": 0.9}  # by system: where the upload clicks
QUIET_S = 0.6  # at the start of each upload, which the import trims away
TOML = """
[study]
key = "spans"
title = "Where are the errors?"
seed = 1
[study.texts]
welcome = "Welcome."
consent = "You agree."
contact = "us@example.org"
[[conditions]]
key = "a"
[[conditions]]
key = "b"
[[tasks]]
key = "errors"
title = "Mark errors"
instructions = "Mark what sounds wrong."
method = "marking"
block_size = 1
ratings_per_stimulus = 2
[tasks.options]
mark = "waveform"
"""


def study_of_clicks(folder: Path) -> Study:
    """Two clips of a soft tone with a click each, after silence of which the import trims most."""
    (folder / "audio").mkdir(parents=True)
    rows = ["stimulus,condition,item,file"]
    for system, at_s in CLICK_S.items():
        time_s = np.arange(round(2.4 * RATE_HZ)) / RATE_HZ
        wave = 0.05 * np.sin(2 * np.pi * 220 * time_s) * (time_s > QUIET_S) * (time_s < 2.2)
        wave[np.abs(time_s - at_s) < 0.001] = 0.8
        soundfile.write(folder / f"audio/{system}1.wav", wave, RATE_HZ)
        rows.append(f"{system}1,{system},i1,audio/{system}1.wav")
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n")
    (folder / "study.toml").write_text(TOML)
    study = create_study(folder, make_user())
    open_study(study, anyway=True)
    return study


def enter(page: Page, web: WebProcess, study: Study) -> None:
    page.goto(f"{web.url}/r/{study.link}/")
    page.get_by_role("checkbox").check()
    page.locator("#consent-form button.button-primary").click()
    begin(page)


def seen_click(page: Page) -> tuple[float, float]:
    """The share of the width at which the waveform is highest, and the clip's length in s."""
    page.wait_for_function("() => document.querySelector('.span-wave path').hasAttribute('d')")
    share, length = page.evaluate(
        """() => {
          const drawn = document.querySelector(".span-wave path").getAttribute("d");
          const lines = [...drawn.matchAll(/M([\\d.]+) \\S+?V([\\d.]+)/g)];
          const columns = lines.map(([, x, y]) => [+x, +y]);
          const [x] = columns.reduce((a, b) => (b[1] > a[1] ? b : a));
          return [x / 600, Number(document.querySelector("[data-part=start]").max)];
        }"""
    )
    return float(share), float(length)


def screenshot(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.slow
@pytest.mark.parametrize("phone", [False, True])
def test_a_span_around_a_click_is_stored_at_the_time_of_the_upload(
    web: WebProcess, transactional_db: None, new_page: NewPage, tmp_path: Path, phone: bool
) -> None:
    study = study_of_clicks(tmp_path / "study")
    watch = Watch(web.url)
    page = watch.over(
        new_page(**(PHONE if phone else {"viewport": {"width": 1280, "height": 900}}))
    )
    enter(page, web, study)
    screenshot(page, f"locked-{phone}")
    hear(page)
    share, length = seen_click(page)
    wave = page.locator(".span-wave")
    box = wave.bounding_box()
    assert box
    if phone:  # the finger goes there, and the ends are set where the clip is
        for place, name in ((share - 0.01, "Start here"), (share + 0.01, "End here")):
            wave.scroll_into_view_if_needed()
            box = wave.bounding_box()
            assert box
            page.touchscreen.tap(box["x"] + place * box["width"], box["y"] + 40)
            page.get_by_role("button", name=name).tap()
        for name in ("Start 10 ms earlier", "End 10 ms later"):
            page.get_by_role("button", name=name).tap()
    else:
        for place in (share - 0.01, share + 0.01):
            (page.mouse.down if place > share else lambda: None)()
            page.mouse.move(box["x"] + place * box["width"], box["y"] + 40, steps=4)
        page.mouse.up()
    screenshot(page, f"chosen-{phone}")
    page.get_by_role("button", name="Glitch").click()
    expect(page.locator(".mark-entry")).to_have_count(1)
    screenshot(page, f"marked-{phone}")
    can_be_seen_and_reached(page, "spans") if phone else None
    assert page.evaluate(TOO_WIDE) <= 0
    go_on(page)
    expect(page.locator(".view-end")).to_be_visible()
    rating = Rating.objects.get()
    stimulus = rating.stimulus
    assert stimulus.trimmed_s > 0.5
    (span,) = read_spans(rating.label)
    true_s = CLICK_S[stimulus.condition.key]
    assert span.start_s - 0.02 <= true_s <= span.end_s + 0.02, (span, true_s)
    assert span.end_s - span.start_s < 0.2
    assert rating.score == pytest.approx(60 / stimulus.duration_s)
    assert length > stimulus.duration_s
    assert watch.complaints == []
