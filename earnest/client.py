"""The client: a method for each thing that the REST API does."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import httpx

from earnest import sending
from earnest.errors import EarnestError
from earnest.sending import Sender, path_of, plain
from earnest.tables import Table

TRIES = 5
TIMEOUT_S = 120.0
AT_ONCE = 10_000  # ratings in one request
LOOK_AGAIN_S = 1.0
Body = dict[str, Any]


class Client:
    """Asks one server, with one token.

    Without `url` and `token`, the environment says them: EARNEST_URL and EARNEST_TOKEN. What may
    be repeated is asked for again when the server or the network is away for a while. What the
    server refuses is raised as EarnestError, in its words.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        tries: int = TRIES,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        url = url or os.environ.get("EARNEST_URL", "")
        token = token or os.environ.get("EARNEST_TOKEN", "")
        if not _is_address(url):
            raise EarnestError(
                "Say where the server is, such as https://listen.example.org: "
                "export EARNEST_URL=…, or Client(url, token)."
            )
        if not token:
            raise EarnestError(
                "A token is needed: make one on the page Account, Tokens; then "
                "export EARNEST_TOKEN=…, or Client(url, token)."
            )
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise EarnestError("This is no token: copy the whole of it, earnest_ and what follows.")
        self.address = url.rstrip("/")
        http = httpx.Client(
            base_url=f"{self.address}/api/v1/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_s,
            transport=transport,
        )
        self.sender = Sender(http, max(1, tries))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_connection()

    def close_connection(self) -> None:
        self.sender.http.close()

    def _get(self, *names: object, **query: Any) -> Any:
        params = {name: value for name, value in query.items() if value is not None}
        return plain(self.sender.ask("GET", path_of(*names), params=params))

    def _post(self, body: Mapping[str, Any], *names: object) -> Any:
        return plain(self.sender.ask("POST", path_of(*names), json=body))

    # --- Studies ----------------------------------------------------------------------------------

    def studies(self, **narrowed: Any) -> Table:
        """All that the token reaches; narrowed by q, state, tag, project, archived."""
        rows: list[Body] = []
        cursor: str | None = None
        while True:
            page = self._get("studies", **narrowed, cursor=cursor)
            rows += page["results"]
            if not page["next"]:
                return Table(rows)
            cursor = httpx.URL(page["next"]).params["cursor"]

    def study(self, key: str) -> Body:
        study: Body = self._get("studies", key)
        return study

    def validate(self, folder: str | Path) -> Body:
        """Every mistake of a study folder, or a zip of one; nothing is stored."""
        with sending.zip_of(Path(folder)) as file:
            return sending.send_zip(self.sender, file, "POST", sending.VALIDATIONS)

    def create(self, folder: str | Path, project: int | None = None) -> Body:
        """A study from a folder, as a draft: `study`, `remarks`, `findings`."""
        with sending.zip_of(Path(folder)) as file:
            return sending.send_zip(self.sender, file, "POST", "studies", project=project)

    def replace(self, key: str, folder: str | Path) -> Body:
        """A draft by another folder of the same key."""
        with sending.zip_of(Path(folder)) as file:
            return sending.send_zip(self.sender, file, "PUT", path_of("studies", key))

    def open(self, key: str, *, anyway: bool = False) -> Body:
        """Lets raters in; `anyway` in spite of problems that were found."""
        return self._state(key, "open", anyway=anyway)

    def pause(self, key: str) -> Body:
        return self._state(key, "paused")

    def close(self, key: str) -> Body:
        """Ends a study for good."""
        return self._state(key, "closed")

    def _state(self, key: str, to: str, *, anyway: bool = False) -> Body:
        study: Body = self._post({"to": to, "anyway": anyway}, "studies", key, "state")
        return study

    def copy(self, key: str, to: str = "", *, as_version: bool = False) -> Body:
        """A copy, as a draft; or the next version."""
        study: Body = self._post({"key": to, "as_version": as_version}, "studies", key, "copies")
        return study

    def change(self, key: str, **change: Any) -> Body:
        """What colleagues see: name, tags, archived."""
        study: Body = plain(self.sender.ask("PATCH", path_of("studies", key), json=change))
        return study

    def findings(self, key: str) -> list[Body]:
        """What should be known before a draft is opened."""
        findings: list[Body] = self._get("studies", key, "findings")
        return findings

    def progress(self, key: str) -> Body:
        progress: Body = self._get("studies", key, "progress")
        return progress

    def preview(self, key: str) -> Body:
        """Where the preview of a study is for some minutes: `url`; and its `tasks`."""
        preview: Body = self._get("studies", key, "preview")
        return preview

    def study_page(self, key: str) -> str:
        """Where people look after a study in the browser."""
        return f"{self.address}/{path_of('studies', key)}/"

    # --- Designs ----------------------------------------------------------------------------------

    def methods(self) -> list[Body]:
        methods: list[Body] = self._get("methods")
        return methods

    def presets(self) -> list[Body]:
        presets: list[Body] = self._get("presets")
        return presets

    def preset(self, name: str) -> Body:
        """The `study_toml` and `stimuli_csv` of a preset."""
        preset: Body = self._get("presets", name)
        return preset

    def study_schema(self) -> Body:
        """The JSON Schema of study.toml."""
        schema: Body = plain(self.sender.ask("GET", f"{self.address}/schema/study.json"))
        return schema

    def docs(self, page: str = "") -> str:
        """A page of the documentation as Markdown, such as methods; without a name, the list."""
        if not page:
            return self.sender.ask("GET", f"{self.address}/llms.txt").text
        path = path_of("help", f"{page}.md")
        try:
            return self.sender.ask("GET", f"{self.address}/{path}").text
        except EarnestError as error:
            if error.status != 404:
                raise
        pages = re.findall(r"/help/([\w-]+)\.md", self.docs())  # raises where this is no Earnest
        near = get_close_matches(page.casefold(), pages, 1)
        remedy = f"Did you mean “{near[0]}”?" if near else "Without a name, you get their list."
        raise EarnestError(f"The documentation has no page “{page}”. {remedy}", 404)

    def plan(self, /, size: float, **asked: Any) -> Body:
        """Raters, ratings and cost for a half-width, or with goal="difference" a difference."""
        plan: Body = self._post({"size": size, **asked}, "plans")
        return plan

    # --- Sessions and ratings ---------------------------------------------------------------------

    def sessions(self, key: str) -> Table:
        return _table(self._get("studies", key, "sessions"), "sessions")

    def reject(self, key: str, sessions: Iterable[str], reason: str) -> Body:
        """Sessions such as “s12”: their ratings are kept, and no longer count."""
        return self._decide(key, sessions, "rejected", reason)

    def restore(self, key: str, sessions: Iterable[str], reason: str) -> Body:
        return self._decide(key, sessions, "restored", reason)

    def _decide(self, key: str, sessions: Iterable[str], decision: str, reason: str) -> Body:
        body = {"sessions": list(sessions), "decision": decision, "reason": reason}
        decision_result: Body = self._post(body, "studies", key, "decisions")
        return decision_result

    def ratings(self, key: str, since: str = "") -> Table:
        """All ratings, or those that came since a cursor: every one exactly once.

        The table's `cursor` is what to ask with next time.
        """
        rows: list[Body] = []
        columns: tuple[str, ...] = ()
        for page in self.rating_pages(key, since):
            rows += page.rows
            since, columns = page.cursor, page.columns
        return Table(rows, since, columns)

    def rating_pages(self, key: str, since: str = "") -> Iterator[Table]:
        """The same in pages of some thousand, which need little memory."""
        more = True
        while more:
            page = self._get("studies", key, "ratings", since=since or None, limit=AT_ONCE)
            since, more = page["next"], page["more"]
            yield _table(page, "ratings", since)

    # --- Results ----------------------------------------------------------------------------------

    def results(self, key: str) -> Body:
        """The newest finished analysis: `report`, `run`; `newest` may be on its way."""
        results: Body = self._get("studies", key, "results")
        return results

    def result_file(self, key: str, name: str, **query: Any) -> bytes:
        """A file of the results, such as estimates.csv."""
        return self.sender.ask(
            "GET", path_of("studies", key, "results", "files", name), params=query
        ).content

    def analyse(
        self, key: str, options: Mapping[str, Any] | None = None, *, wait_s: float = 600.0
    ) -> Body:
        """Asks for an analysis and waits for it, at most so long; 0 does not wait."""
        run: Body = self._post({"options": dict(options or {})}, "studies", key, "results", "runs")
        until = time.monotonic() + wait_s
        while run["state"] in ("queued", "running") and time.monotonic() < until:
            self.sender.sleep(LOOK_AGAIN_S)
            run = self._get("studies", key, "results", "runs", run["run"])
        if run["state"] == "failed":
            raise EarnestError(f"The analysis failed: {run['error']}")
        return run

    # --- Metrics ----------------------------------------------------------------------------------

    def score(
        self, key: str, preset: str = "", metrics: Sequence[Mapping[str, Any] | str] = ()
    ) -> Body:
        """Asks for a preset of metrics, or for metrics one by one; how far that is."""
        listed = [{"metric": each} if isinstance(each, str) else dict(each) for each in metrics]
        body: Body = {"preset": preset} if preset else {"metrics": listed}
        run: Body = self._post(body, "studies", key, "metrics", "runs")
        return run

    def scoring(self, key: str) -> list[Body]:
        """The runs of metrics, the newest first, and how far each is."""
        runs: list[Body] = self._get("studies", key, "metrics", "runs")["runs"]
        return runs

    def scores(self, key: str, only: str = "", without: str = "") -> Table:
        """Scores of the clips with, and without, warnings of these codes (commas between; any)."""
        filters = {"only": only or None, "without": without or None}
        return _table(self._get("studies", key, "metrics", "scores", **filters), "scores")

    # --- Webhooks ---------------------------------------------------------------------------------

    def webhooks(self) -> list[Body]:
        webhooks: list[Body] = self._get("webhooks")
        return webhooks

    def add_webhook(
        self, url: str, events: Iterable[str], name: str = "", study: str | None = None
    ) -> Body:
        """The new webhook; its `secret` is shown in this answer only."""
        body = {"url": url, "events": list(events), "name": name}
        webhook: Body = self._post(body | ({"study": study} if study else {}), "webhooks")
        return webhook

    def remove_webhook(self, pk: int) -> None:
        self.sender.ask("DELETE", path_of("webhooks", pk))


def _is_address(url: str) -> bool:
    try:
        return httpx.URL(url).scheme in ("http", "https") and bool(httpx.URL(url).host)
    except httpx.InvalidURL:
        return False


def _table(body: Body, name: str, cursor: str = "") -> Table:
    return Table(body[name], cursor, tuple(body.get("columns", ())))
