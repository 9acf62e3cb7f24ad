"""Firefox as its users have it, driven by Playwright over WebDriver BiDi."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser import firefox_bridge
from tests.browser.conftest import ELSEWHERE
from tests.config.helpers import own_folder

FIREFOX = ("firefox-esr", "firefox")


Start = Callable[..., Browser]


@contextmanager
def firefoxes() -> Iterator[Start]:
    """Starts Firefox in an environment that names its loudspeaker, with preferences."""
    path = next(filter(None, map(shutil.which, FIREFOX)), None)
    if path is None:
        pytest.fail(f"no Firefox here: install the package {FIREFOX[0]}", pytrace=False)
    with own_folder() as folder, sync_playwright() as playwright:
        running: list[Browser] = []

        def start(environment: Mapping[str, str], **preferences: Any) -> Browser:
            found = playwright.firefox.launch(
                channel="moz-firefox",
                executable_path=bridge_in(folder),
                env={**environment, **ELSEWHERE, "FIREFOX": path},
                firefox_user_prefs={k.replace("_", "."): v for k, v in preferences.items()},
            )
            running.append(found)
            return found

        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # as for Chromium
        try:
            yield start
        finally:
            for each in running:
                each.close()
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def bridge_in(folder: Path) -> Path:
    """Playwright starts one file."""
    path = folder / "firefox"
    command = shlex.join([sys.executable, firefox_bridge.__file__])
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)
    return path
