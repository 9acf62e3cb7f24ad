"""As much of a browser as a scripted rater needs: pages, forms, cookies, clips, patient retries."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any

import httpx

PAGE_HEADERS = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}  # of a browser over HTTPS
RETRIED = frozenset({429, 500, 502, 503, 504})


@dataclass
class Form:
    """A form of a page: where it goes and what it holds."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


@dataclass
class Page:
    """A page as it was answered: its forms, its embedded JSON, its headline."""

    url: str
    status: int
    headline: str
    forms: list[Form]
    data: dict[str, Any]  # id of the script element -> what it holds

    def form_with(self, name: str) -> Form | None:
        return next((form for form in self.forms if name in form.fields), None)


class _Reader(HTMLParser):
    """Collects forms, JSON scripts and the first headline."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self.scripts: dict[str, str] = {}
        self.headline = ""
        self._form: Form | None = None
        self._script: str | None = None
        self._in_headline = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Form(values.get("action", ""), values.get("method", "get").lower())
            self.forms.append(self._form)
        elif tag in ("input", "textarea") and self._form and values.get("name"):
            default = "on" if values.get("type") == "checkbox" else ""
            self._form.fields[values["name"]] = values.get("value", default)
        elif tag == "script" and values.get("type") == "application/json":
            self._script = values.get("id", "")
            self.scripts[self._script] = ""
        elif tag == "h1" and not self.headline:
            self._in_headline = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "script":
            self._script = None
        elif tag == "h1":
            self._in_headline = False

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] += data
        elif self._in_headline:
            self.headline += data


def read_page(url: str, status: int, html: str) -> Page:
    """What the markup says, without running its scripts."""
    reader = _Reader()
    reader.feed(html)
    data = {key: json.loads(text) for key, text in reader.scripts.items()}
    return Page(url, status, " ".join(reader.headline.split()), reader.forms, data)


@cache
def _public_authorities() -> ssl.SSLContext:
    """Read once: it takes as long as the requests of a short session."""
    return httpx.create_ssl_context()


class Unreachable(Exception):
    """The server did not answer, even after waiting and asking again, or has no such clip."""


@dataclass
class Browser:
    """One cookie jar and its requests; a request that fails in transit is sent again, later."""

    client: httpx.AsyncClient
    trouble: Counter[str]  # server errors and broken connections, counted over all attempts
    tries: int = 8
    pause_s: float = 0.2  # before the second try; doubles each time, up to 5 s
    shown: str = ""  # address of the page that is open

    @classmethod
    def at(
        cls,
        base_url: str,
        user_agent: str,
        trouble: Counter[str],
        tls: ssl.SSLContext | bool = True,
    ) -> Browser:
        """`tls` says whose certificates are trusted; True: those of public authorities."""
        client = httpx.AsyncClient(
            base_url=base_url,
            headers={"User-Agent": user_agent, "Accept-Language": "en"},
            follow_redirects=True,
            timeout=30,
            verify=_public_authorities() if tls is True else tls,
        )
        return cls(client, trouble)

    async def page(self, url: str) -> Page:
        return self._read(await self._send("GET", url, headers=PAGE_HEADERS))

    async def submit(self, page: Page, form: Form, changes: Mapping[str, str]) -> Page:
        """Sends the form with its own fields, some of them filled in by the rater."""
        target = str(httpx.URL(page.url).join(form.action)) if form.action else page.url
        data = {**form.fields, **changes}
        headers = {**PAGE_HEADERS, **self.own_origin(), "Referer": page.url}
        return self._read(await self._send(form.method.upper(), target, data=data, headers=headers))

    async def clip(self, url: str) -> bytes:
        response = await self._send("GET", url, headers={"Accept": "audio/*"})
        if response.is_error:
            raise Unreachable(f"GET {response.url.path}: status {response.status_code}")
        return response.content

    async def post_json(self, url: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of a call that carries the CSRF token, as the page's script does."""
        names = ("__Host-csrftoken", "__Secure-csrftoken", "csrftoken")
        token = next(filter(None, map(self.client.cookies.get, names)), "")
        headers = {**self.own_origin(), "X-CSRFToken": token, "Accept": "application/json"}
        if self.shown:
            headers["Referer"] = self.shown
        response = await self._send("POST", url, json=body, headers=headers)
        try:
            answer = response.json()
        except ValueError:
            answer = {}
        return response.status_code, answer if isinstance(answer, dict) else {}

    def own_origin(self) -> dict[str, str]:
        """Every browser names it when it posts, and over HTTPS Django insists on it."""
        base = self.client.base_url
        return {"Origin": f"{base.scheme}://{base.netloc.decode('ascii')}"}

    def _whole(self, url: str) -> str:
        """Paths that pages name hold the path that Earnest lies below; those of bots do not."""
        base = self.client.base_url.path
        return str(self.client.base_url.join(url)) if url.startswith(base) else url

    async def _send(self, method: str, url: str, **content: Any) -> httpx.Response:
        url = self._whole(url)
        for attempt in range(self.tries):
            if attempt:
                await asyncio.sleep(min(self.pause_s * 2 ** (attempt - 1), 5))
            try:
                response = await self.client.request(method, url, **content)
            except httpx.TransportError as error:
                self.trouble[type(error).__name__] += 1
                continue
            if response.status_code >= 500:
                self.trouble[f"status {response.status_code}"] += 1
            if response.status_code not in RETRIED:
                return response
        raise Unreachable(f"{method} {httpx.URL(url).path}")

    def _read(self, response: httpx.Response) -> Page:
        self.shown = str(response.url)
        return read_page(self.shown, response.status_code, response.text)

    async def close(self) -> None:
        await self.client.aclose()
