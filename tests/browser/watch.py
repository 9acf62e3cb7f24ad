"""What goes wrong behind a page while somebody takes a study: console, requests, third parties."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Page


@dataclass
class Watch:
    """What goes wrong behind the page: its console, its requests, and whom they go to."""

    origin: str
    complaints: list[str] = field(default_factory=list)

    def over(self, page: Page) -> Page:
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda message: self.console(message.type, message.text))
        page.on("requestfailed", lambda request: self.failed(request.url, str(request.failure)))
        page.on("request", lambda request: self.asked(request.url))
        page.on("response", lambda answer: self.answered(answer.url, answer.status))
        return page

    def console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(f"console: {text}")

    def failed(self, url: str, why: str) -> None:
        """A player that goes lets its blob go, which is no failure."""
        if not (url.startswith("blob:") and "ERR_ABORTED" in why):
            self.complaints.append(f"failed: {url} {why}")

    def asked(self, url: str) -> None:
        if urlsplit(url).scheme not in ("blob", "data") and not url.startswith(self.origin):
            self.complaints.append(f"third party: {url}")

    def answered(self, url: str, status: int) -> None:
        if status >= 400:
            self.complaints.append(f"status {status}: {url}")
