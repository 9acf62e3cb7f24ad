"""The pictures of the documentation, taken of the demo study: python -m tools.screenshots [NAME …].

Makes a house of its own with the demo, scripted raters, their analysis and a review; nothing of
yours is touched. Writes docs/images/NAME.webp; run it when pages have changed.
"""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page

from tools.locks import ROOT

FOLDER = ROOT / "docs" / "images"
MOST_BYTES = 120_000
QUALITIES = (85, 75, 65, 50, 35)
WIDTH, HEIGHT, TRIAL_WIDTH = 1280, 860, 760
PORT = 8255
RATERS, CARELESS = 60, 0.2
REVIEWED = "Does the reason fit the label?"


@dataclass(frozen=True)
class Shot:
    name: str
    path: str  # with {link} for the raters' link
    within: str = ""  # what has to be there first
    as_rater: bool = False
    until: Callable[[Page], None] | None = None


def _to_a_trial(page: Page) -> None:
    """As a rater, up to a first trial that is heard and answered, its reason begun."""
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Start").click()
    page.locator(".player-button").click()
    page.locator("[data-part=confirm][aria-disabled=false]").click()
    page.get_by_role("button", name="Begin").click()
    page.locator(".trial .player-button").click()
    page.locator(".player[data-state=heard]").wait_for()
    page.locator("fieldset.criterion label").first.click()
    page.locator("textarea").fill("She takes a short breath before “then”.")
    page.evaluate("scrollTo(0, 0)")


SHOTS = (
    Shot("landing", "/r/{link}/", "#consent-form", as_rater=True),
    Shot("study", "/studies/demo/", ".task"),
    Shot("raters", "/studies/demo/raters/", ".raters-table"),
    Shot("results", "/studies/demo/results/", ".first-screen"),
    Shot("reviews", "/studies/demo/reviews/", "main"),
    Shot("new-study", "/new/", ".gallery"),
    # last: it begins a session, and results would not be the newest any more
    Shot("trial", "/r/{link}/", "#consent-form", as_rater=True, until=_to_a_trial),
)


def fill() -> str:
    """The demo with raters, an analysis and a review; returns the link of its raters."""
    from django.core.management import call_command

    from benchmarks.paper_raters import one_after_the_other
    from config.run.preparation import collect_static, ensure_researcher
    from listening import review
    from listening.models import Study
    from listening.review import Plan

    collect_static()
    ensure_researcher()
    call_command("ensure_demo", stdout=io.StringIO())
    print(dict(one_after_the_other("demo", range(RATERS), CARELESS)), flush=True)
    study = Study.objects.get(key="demo")
    plan = Plan("reasons", REVIEWED, repeated=0, seed=1)
    review.set_state(review.make_job(study, plan, by="researcher"), "open", by="researcher")
    _analyse(study)
    return str(study.link)


def _analyse(study: Any) -> None:
    """What a worker does when the page of results is opened first."""
    from analysis.models import AnalysisRun
    from analysis.web.first_runs import default_options
    from analysis.web.jobs import run_analysis

    options = default_options(study.key)
    run = AnalysisRun.objects.create(
        study=study, estimator=options.estimator, parameters=options.parameters()
    )
    run_analysis(run.pk)
    run.refresh_from_db()
    if run.error:
        raise SystemExit(f"The analysis of the demo failed: {run.error}")


def take(browser: Browser, base: str, shot: Shot, link: str) -> bytes:
    """The page as PNG, once it is quiet."""
    size = {"width": TRIAL_WIDTH if shot.as_rater else WIDTH, "height": HEIGHT}
    context = browser.new_context(viewport=size, color_scheme="light", locale="en")  # type: ignore[arg-type]
    try:
        if not shot.as_rater:
            context.add_cookies(_log_in(base))
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(base + shot.path.format(link=link))
        if shot.within:
            page.locator(shot.within).first.wait_for()
        if shot.until:
            shot.until(page)
        page.wait_for_timeout(500)  # until what moves has come to rest
        return page.screenshot()
    finally:
        context.close()


def _log_in(base: str) -> Any:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.get(username="researcher"))
    return [
        {"name": name, "value": cookie.value, "url": base}
        for name, cookie in client.cookies.items()
    ]


def small(png: bytes) -> bytes:
    """As WebP, at the best quality that fits."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for quality in QUALITIES:
        webp = io.BytesIO()
        picture.save(webp, "WEBP", quality=quality, method=6)
        if webp.tell() <= MOST_BYTES:
            return webp.getvalue()
    raise SystemExit(
        f"A picture is over {MOST_BYTES} bytes at quality {QUALITIES[-1]}: shoot less."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [shot.name for shot in SHOTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    from benchmarks.chromium import chromium
    from benchmarks.house import own_house, web_process

    options.folder.mkdir(parents=True, exist_ok=True)
    with own_house(options.port, 1):
        from django.conf import settings

        settings.ALLOWED_HOSTS = ["*"]  # Django's test client asks for `testserver`
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright has a loop in this thread
        link = fill()
        with web_process(), chromium() as browser:
            for shot in SHOTS:
                if not options.names or shot.name in options.names:
                    webp = small(take(browser, f"http://localhost:{options.port}", shot, link))
                    (options.folder / f"{shot.name}.webp").write_bytes(webp)
                    print(f"{shot.name}.webp: {len(webp):,} bytes", flush=True)


if __name__ == "__main__":
    main()
