"""A film of the review desk by keyboard, and the screens of reviewing and validity.

    .venv/bin/python benchmarks/desk_film.py docs/images/desk.webp
    .venv/bin/python benchmarks/desk_film.py --screens FOLDER

The film: ten verdicts in about thirty seconds by keyboard alone, the last seven of them without a
network; then the rest of a minute without one, cut out of the film; then the page is loaded anew.
The script ends with an error unless all ten are stored, each once. Frames are screenshots, so no
video encoder is needed. The screens: five pages at two widths in two schemes, looked at by axe.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, BrowserContext, Page

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.chromium import chromium
from benchmarks.house import own_house, web_process

SIZE = {"width": 760, "height": 560}
STRIP, FRAME_S, PACE_S, MINUTE_S = 44, 0.5, 3.0, 60.0
KEYS = ("1", "1", "2", "1", "3", "1", "1", "2", "1", "1")
NOTED, OFFLINE_FROM = 2, 3  # by place: which gets a note, from where the network is gone
WORDS = "no word about the voice"
RATERS = 5
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")


# --- What is reviewed ----------------------------------------------------------------------------


def studies(var: Path) -> Any:
    """The presets att and nvv as they come, the first with some scripted raters' reasons."""
    from django.core.management import call_command

    from benchmarks.paper_raters import one_after_the_other
    from listening.models import Study

    for name in ("att", "nvv"):
        call_command("new_study", name, str(var / name), verbosity=0, stdout=io.StringIO())
        call_command("import_study", str(var / name), "--open", stdout=io.StringIO())
    print(dict(one_after_the_other("att", range(RATERS), 0.2)), flush=True)
    return Study.objects.get(key="att")


def desk_of(study: Any, kind: str, title: str, settings: Mapping[str, Any] | None = None) -> str:
    """The path of an open review's desk, for one who was invited."""
    from listening import review
    from listening.review import Plan

    plan = Plan(kind, title, repeated=0, seed=1, settings=settings or {})
    job = review.make_job(study, plan, by="researcher")
    review.set_state(job, "open", by="researcher")
    return "/" + review.invite(job, 30, by=job.study.owner.username).split("/", 3)[3]


# --- The film ------------------------------------------------------------------------------------


@dataclass
class Film:
    """Screenshots with a strip below: the seconds, the keys, and what happens."""

    page: Page
    began: float = field(default_factory=time.monotonic)
    cut: float = 0.0  # seconds that the film leaves out
    frames: list[tuple[float, Image.Image]] = field(default_factory=list)
    note: str = ""

    def now(self) -> float:
        return time.monotonic() - self.began

    def shoot(self, key: str = "") -> None:
        shot = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        frame = Image.new("RGB", (shot.width, shot.height + STRIP), "#1c1c1e")
        frame.paste(shot, (0, 0))
        pen, font = ImageDraw.Draw(frame), ImageFont.load_default(20)
        pen.text((16, shot.height + 10), f"{self.now():.0f} s", "white", font)
        pen.text((90, shot.height + 10), self.note, "#9fd3ff", font)
        pen.text((400, shot.height + 10), f"key: {key}" if key else "", "#ffd60a", font)
        self.frames.append((self.now() - self.cut, frame))

    def press(self, key: str, words: str = "") -> None:
        self.page.keyboard.type(key) if len(key) > 1 and not words else self.page.keyboard.press(
            key
        )
        self.shoot(words or key)

    def until(self, second: float) -> None:
        while self.now() - self.cut < second:
            self.shoot()
            left = second - (self.now() - self.cut)
            self.page.wait_for_timeout(1000 * max(0.0, min(FRAME_S, left)))

    def save(self, path: Path) -> None:
        times = [at for at, _ in self.frames]
        lasts = [b - a for a, b in zip(times, [*times[1:], times[-1] + 4], strict=True)]
        first, *rest = (frame for _, frame in self.frames)
        path.parent.mkdir(parents=True, exist_ok=True)
        first.save(
            path,
            save_all=True,
            append_images=rest,
            duration=[max(20, round(1000 * each)) for each in lasts],
            loop=0,
            lossless=True,
            method=4,
        )


def film(browser: Browser, url: str, path: Path) -> None:
    from listening.models import Verdict

    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(url)
    page.locator("#item").wait_for()
    made = Film(page, note="by keyboard alone")
    for place, key in enumerate(KEYS):
        if place == OFFLINE_FROM:
            context.set_offline(True)
            made.note = "the network is gone"
        made.until(PACE_S * (place + 1) - (2.0 if place == NOTED else 0.8))
        if place == NOTED:
            made.press("n")
            made.press(WORDS)
            made.press("Enter", "Enter")
        made.press(key)
    took = made.now()
    made.until(took + 1)
    left = MINUTE_S - (made.now() - PACE_S * OFFLINE_FROM)
    page.wait_for_timeout(1000 * max(0.0, left))
    made.cut = max(0.0, left)
    made.note = "a minute later: back"
    made.shoot()
    context.set_offline(False)
    made.note = "a minute later: loaded anew"
    page.reload()
    page.get_by_text("All saved").wait_for()
    page.locator("#item").wait_for()
    made.shoot()
    stored = list(Verdict.objects.values_list("assignment", flat=True))
    if not len(stored) == len(set(stored)) == len(KEYS):
        sys.exit(f"{len(stored)} verdicts of {len(set(stored))} items are stored, not {len(KEYS)}")
    made.save(path)
    size = path.stat().st_size / 1e6
    print(f"{len(KEYS)} verdicts in {took:.0f} s, all stored after the reload; {size:.2f} MB")
    context.close()


# --- The screens ---------------------------------------------------------------------------------


@contextmanager
def logged_in(browser: Browser, base: str, width: int, scheme: Any) -> Iterator[BrowserContext]:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.get(username="researcher"))
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    context.add_cookies(
        [{"name": name, "value": held.value, "url": base} for name, held in client.cookies.items()]
    )
    yield context
    context.close()


def screens(browser: Browser, base: str, paths: Mapping[str, str], folder: Path) -> None:
    from tests.browser.axe import Report

    folder.mkdir(parents=True, exist_ok=True)
    report = Report()
    for width in WIDTHS:
        for scheme in SCHEMES:
            with logged_in(browser, base, width, scheme) as context:
                page = context.new_page()
                page.set_default_timeout(60_000)
                for name, path in paths.items():
                    page.goto(base + path)
                    page.wait_for_load_state("networkidle")
                    stage = f"{name}-{width}-{scheme}"
                    report.look(page, stage)
                    page.screenshot(path=folder / f"{stage}.png", full_page=True)
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    print(stage, "too wide" if wide > width else "", flush=True)
    print("\n".join(report.grave) or "axe finds nothing serious")


def paths_of(study: Any, reasons: str) -> dict[str, str]:
    """By name: the address of each page that is looked at."""
    from listening.models import ReviewJob, Study

    clips = desk_of(study, "clips", "Were they synthesised well?", {"share": 1.0})
    nvv = Study.objects.get(key="nvv")
    events = desk_of(nvv, "events", "Which laughs and sighs?")
    job = ReviewJob.objects.filter(study=study, kind="reasons").get()
    return {
        "desk": reasons,
        "clips": clips,
        "events": events,
        "reviews": f"/studies/{study.key}/reviews/",
        "review": f"/studies/{study.key}/reviews/{job.pk}/",
        "items": f"/studies/{study.key}/reviews/{job.pk}/items/",
        "validity": f"/studies/{study.key}/validity/",
    }


def make(var: Path, port: int, path: Path | None, folder: Path | None) -> None:
    from django.conf import settings
    from django.contrib.auth.models import User

    settings.ALLOWED_HOSTS = ["*"]  # Django's test client asks for `testserver`
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright has a loop in this thread
    User.objects.create_superuser("researcher")
    study = studies(var)
    reasons = desk_of(study, "reasons", "Does the reason fit the label?")
    base = f"http://localhost:{port}"
    paths = paths_of(study, reasons) if folder else {}
    with web_process(), chromium() as browser:
        if path:
            film(browser, base + reasons, path)
        if folder:
            screens(browser, base, paths, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("film", type=Path, nargs="?", help="a .webp")
    parser.add_argument("--screens", type=Path, help="a folder for the screens")
    parser.add_argument("--port", type=int, default=8145)
    options = parser.parse_args()
    with own_house(options.port, 1) as var:
        from config.run.preparation import collect_static

        collect_static()
        make(var, options.port, options.film, options.screens)


if __name__ == "__main__":
    main()
