"""Firefox as its users have it, driven by Playwright over WebDriver BiDi."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser, Error, Playwright, sync_playwright

from tests.browser import firefox_bridge
from tests.browser.conftest import ELSEWHERE
from tests.config.helpers import own_folder

FIREFOX = ("firefox-esr", "firefox")
Reports = TypeVar("Reports", bound=Sequence[Any])


@dataclass
class Firefoxes:
    """Starts Firefox in an environment that names its loudspeaker, with preferences.

    One that runs is used again, unless its bridge has found that it stopped answering.
    """

    playwright: Playwright
    folder: Path
    path: str
    running: dict[str, tuple[Browser, Path]] = field(default_factory=dict)

    def __call__(self, environment: Mapping[str, str], **preferences: Any) -> Browser:
        key = f"{environment.get('PULSE_SERVER')} {preferences}"
        found, hung = self.running.get(key, (None, None))
        if found is None or hung is None or hung.exists() or not found.is_connected():
            self.running[key] = self._started(environment, preferences)
        return self.running[key][0]

    def _started(
        self, environment: Mapping[str, str], preferences: Mapping[str, Any]
    ) -> tuple[Browser, Path]:
        hung = self.folder / f"hung-{len(list(self.folder.iterdir()))}"
        words = {**environment, **ELSEWHERE, "FIREFOX": self.path, "FIREFOX_HUNG": str(hung)}
        found = self.playwright.firefox.launch(
            channel="moz-firefox",
            executable_path=bridge_in(self.folder),
            env=words,
            firefox_user_prefs=STILL | {k.replace("_", "."): v for k, v in preferences.items()},
        )
        return found, hung

    def close(self) -> None:
        for each, _ in self.running.values():
            with contextlib.suppress(Error):  # it may be gone
                each.close()


STILL = {"ui.prefersReducedMotion": 1}  # what fades and turns is drawn in each frame
hung_firefoxes: list[Firefoxes] = []  # those whose hangs are looked for


@contextmanager
def firefoxes() -> Iterator[Firefoxes]:
    path = next(filter(None, map(shutil.which, FIREFOX)), None)
    if path is None:
        pytest.fail(f"no Firefox here: install the package {FIREFOX[0]}", pytrace=False)
    with own_folder() as folder, sync_playwright() as playwright:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # as for Chromium
        start = Firefoxes(playwright, folder, path)
        hung_firefoxes.append(start)
        try:
            yield start
        finally:
            hung_firefoxes.remove(start)
            start.close()
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def has_hung() -> bool:
    """Whether a bridge has found that its Firefox stopped answering."""
    return any(hung.exists() for each in hung_firefoxes for _, hung in each.running.values())


def repeated_after_a_hang(
    run: Callable[[], Reports], hung: Callable[[], bool], say: Callable[[str], None]
) -> Reports:
    """The reports of a test; of a second run with a new Firefox where the first one hung.

    A failed assertion is never looked at twice.
    """
    reports = run()
    if not (any(each.failed for each in reports) and hung()):
        return reports
    say("Firefox stopped answering: this test runs a second time, in a new one.")
    return run()


def bridge_in(folder: Path) -> Path:
    """Playwright starts one file."""
    path = folder / "firefox"
    command = shlex.join([sys.executable, firefox_bridge.__file__])
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)
    return path
