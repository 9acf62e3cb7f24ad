"""WebKitGTK, driven by its own WebDriver: Playwright knows its own build of WebKit only."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from selenium.webdriver import WebKitGTK
from selenium.webdriver.webkitgtk.options import Options
from selenium.webdriver.webkitgtk.service import Service

from tests.browser.conftest import ELSEWHERE

DRIVER = "WebKitWebDriver"
BROWSERS = "*/webkit2gtk-*/MiniBrowser"


@contextmanager
def webkit(environment: Mapping[str, str]) -> Iterator[WebKitGTK]:
    """A running browser in a window of 390 x 844 that nobody sees.

    Without a loudspeaker in its environment, GStreamer takes one that is none, in real time.
    """
    driver = shutil.which(DRIVER)
    binary = next(Path("/usr/lib").glob(BROWSERS), None)
    if driver is None or binary is None:
        pytest.fail("no WebKitGTK here: install the package webkit2gtk-driver", pytrace=False)
    with screen() as display, TemporaryDirectory() as folder:
        # Pages are asked for reduced motion: what fades and turns is drawn in each frame.
        (settings := Path(folder, "gtk-3.0", "settings.ini")).parent.mkdir()
        settings.write_text("[Settings]\ngtk-enable-animations=0\n")
        own = {"DISPLAY": display, "GDK_BACKEND": "x11", "LIBGL_ALWAYS_SOFTWARE": "1"}
        # Without a GPU, drawing into DMA buffers doubles what a page costs.
        own |= {"XDG_CONFIG_HOME": folder, "WEBKIT_DISABLE_DMABUF_RENDERER": "1"}
        options = Options()
        options.binary_location = str(binary)
        options.add_argument("--automation")
        service = Service(driver, env={**environment, **ELSEWHERE, **own})
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            running = WebKitGTK(options=options, service=service)
        try:
            running.set_window_rect(0, 0, 390, 844)
            yield running
        finally:
            running.quit()


@contextmanager
def screen() -> Iterator[str]:
    """A screen without glass; its name."""
    if shutil.which("Xvfb") is None:
        pytest.fail("no Xvfb here: install the package xvfb", pytrace=False)
    told, tells = os.pipe()
    command = ["Xvfb", "-displayfd", str(tells), "-screen", "0", "1400x1000x24", "-nolisten", "tcp"]
    process = subprocess.Popen(command, pass_fds=[tells], stderr=subprocess.DEVNULL)
    os.close(tells)
    try:
        with os.fdopen(told) as number:
            yield f":{number.readline().strip()}"
    finally:
        process.terminate()
        process.wait()
