"""The rest of the packages, which `make run` installs while its pages are open.

A process of the supervisor does it (`tools/install_rest.py`). What fails is tried again after a
while, at once when a page asks for it, and by the next start.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from config.missing_packages import INSTALLATION, installation
from listening.common.ages import age_s
from listening.common.command_name import CODE

COMMAND = [sys.executable, "-m", "tools.install_rest", "--background"]
RETRY_S = 600.0
SAY_EVERY_S = 5.0
STAMP = INSTALLATION.with_name("run.stamp")  # the Makefile's, once all packages are there
OLDER = (CODE / "requirements.lock", INSTALLATION.with_name("web.stamp"), Path("/dev/nvidiactl"))
AGAIN = (
    f"Earnest tries again in {RETRY_S / 60:.0f} minutes, or when you press “Try again” on a "
    "study’s metrics page. All other pages work."
)
DONE = "Speech metrics and models are installed."


class BackgroundInstallation:
    """What the supervisor asks and says about the rest of the packages."""

    def __init__(self, asked: bool) -> None:
        self.due = asked and not self._is_stamped()
        self.say_at, self.said = 0.0, ""

    def is_done(self) -> bool:
        """Whether workers may start that need the packages."""
        if self.due and self._is_stamped():
            self.due = False
        return not self.due

    def is_wanted(self) -> bool:
        """Whether its process is to be started now."""
        if self.is_done():
            return False
        state = installation()
        if state is None or not state.problem:
            return True
        return INSTALLATION.exists() and age_s(INSTALLATION.stat().st_mtime) > RETRY_S

    def news(self) -> tuple[str, bool]:
        """What the terminal does not show yet, and whether the next line takes its place."""
        at_rest = self.said == DONE or (self.is_done() and not self.said)
        if at_rest or time.monotonic() < self.say_at:
            return "", False
        self.say_at = time.monotonic() + SAY_EVERY_S
        state = installation()
        words = DONE if self.is_done() else state.words if state else self.said
        if state and state.problem:
            words += f" {AGAIN}"
        news, self.said = words if words != self.said else "", words
        return news, bool(state and state.works)

    def _is_stamped(self) -> bool:
        """Whether the stamp is newer than all that it depends on; a GPU may have come since."""
        marks = [path.stat().st_mtime for path in OLDER if path.exists()]
        return STAMP.exists() and STAMP.stat().st_mtime >= max(marks, default=0.0)
