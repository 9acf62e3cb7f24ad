"""Pictures of web pages by the Chromium or Chrome of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from earnest.errors import EarnestError

BROWSERS = (
    *("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
    *("google-chrome-stable", "microsoft-edge", "chrome", "msedge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
HEIGHT = 900
LOADING_MS = 8_000  # of the page's own clock, which runs ahead while nothing happens
TIMEOUT_S = 60


def screenshot(url: str, width: int) -> bytes:
    """Return a PNG of a page as it is once its scripts and clips are there."""
    if not 200 <= width <= 4000:
        raise EarnestError("The width must be 200 to 4,000 pixels.")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise EarnestError(
            f"No Chromium or Chrome is installed here to take a picture. Open the page: {url}"
        )
    with TemporaryDirectory() as folder:
        target = Path(folder) / "page.png"
        options = [
            *("--headless", "--disable-gpu", "--hide-scrollbars", "--mute-audio"),
            *("--no-first-run", f"--user-data-dir={folder}/profile"),
            *(f"--window-size={width},{HEIGHT}", f"--virtual-time-budget={LOADING_MS}"),
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")  # Chromium has none for root
        words = [browser, *options, f"--screenshot={target}", url]
        try:
            subprocess.run(words, capture_output=True, timeout=TIMEOUT_S, check=True)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise EarnestError(
                f"{browser} took no picture ({error}). Open the page: {url}"
            ) from None
