"""A server of the Model Context Protocol (MCP): agents make drafts and read results.

It asks an Earnest server by the REST API, with the rights of a token: its own by stdio, that of
each request by HTTP. No tool opens a study, closes one or pays: a person does that in the browser.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import httpx
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations

from earnest.client import Client
from earnest.errors import EarnestError, file_error_line
from earnest.screenshots import screenshot

Body = dict[str, Any]
MOST_BYTES = 64 * 1024**2  # of one request by HTTP, with clips in it
LONGEST_PATH = 1000
FAMILY = ("task", "criterion", "estimand", "condition")
NUMBERS = (
    *("value", "low", "high", "level", "interval", "n_ratings", "n_raters", "n_items", "note"),
)
INSTRUCTIONS = """\
Earnest runs crowdsourced listening tests of speech. A study is a folder: study.toml, stimuli.csv
and clips. Start from get_preset, check with validate_study, store with create_draft, look at it
with preview_study. A person opens the study in the browser: give them the address of
opening_page. Report the intervals of get_results with every mean."""


def serve_stdio(url: str | None, token: str | None) -> None:
    """Serve one client by standard input and output, with one token."""
    with Client(url, token) as client:
        server_with(lambda ctx: client, local=True).run("stdio")


def serve_http(url: str | None, host: str, port: int) -> None:
    """Serve clients at http://HOST:PORT/mcp; each request brings its own token."""
    server = server_with(lambda ctx: Client(url, token_of(ctx)), local=False)
    server.run("streamable-http", host=host, port=port, max_request_body_size=MOST_BYTES)


def token_of(ctx: Context) -> str:
    """Return the token of a request; EarnestError where it has none."""
    scheme, _, token = (ctx.headers or {}).get("authorization", "").partition(" ")
    if scheme.casefold() != "bearer" or not token.strip():
        raise EarnestError("Send a token of Earnest in the header “Authorization: Bearer TOKEN”.")
    return str(token).strip()


def server_with(client_of: Callable[[Context], Client], *, local: bool) -> MCPServer:
    """Return the server; ``local``: it may read folders of this machine."""
    tools = Tools(client_of, local)
    reading = (
        *(tools.list_methods, tools.list_presets, tools.get_preset, tools.get_study_schema),
        *(tools.read_docs, tools.validate_study, tools.plan_study, tools.list_studies),
        *(tools.get_status, tools.preview_study, tools.get_results, tools.get_results_file),
        tools.opening_page,
    )
    storing = (tools.create_draft, tools.run_analysis)
    listed = [
        *(_tool(each, ToolAnnotations(read_only_hint=True)) for each in reading),
        *(
            _tool(each, ToolAnnotations(read_only_hint=False, destructive_hint=False))
            for each in storing
        ),
    ]
    return MCPServer("earnest", instructions=INSTRUCTIONS, log_level="WARNING", tools=listed)


def _tool(function: Callable[..., Any], annotations: ToolAnnotations) -> Tool:
    """Return a tool that refuses arguments that it does not know, in place of ignoring them."""
    tool = Tool.from_function(_plainly(function), annotations=annotations)
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    return tool.model_copy(update={"parameters": arguments.model_json_schema(by_alias=True)})


def _plainly(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool, whose EarnestErrors and unreadable files reach the agent in plain words."""

    @wraps(tool)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return tool(*args, **kwargs)
        except EarnestError as error:
            raise ToolError(str(error)) from None
        except OSError as error:
            raise ToolError(file_error_line(error)) from None

    return run


class Tools:
    """What agents can do; the docstring of a tool is what they read of it."""

    def __init__(self, client_of: Callable[[Context], Client], local: bool) -> None:
        self.client_of, self.local = client_of, local

    # --- Designing --------------------------------------------------------------------------------

    def list_methods(self, ctx: Context) -> list[Body]:
        """List the test methods (MOS, MUSHRA, CMOS, …) with question and standard."""
        return self.client_of(ctx).methods()

    def list_presets(self, ctx: Context) -> list[Body]:
        """List the ready-made studies and what each is for."""
        return self.client_of(ctx).presets()

    def get_preset(self, ctx: Context, name: str) -> Body:
        """Get the commented study.toml and the stimuli.csv of a preset, to start from."""
        return self.client_of(ctx).preset(name)

    def get_study_schema(self, ctx: Context, table: str = "") -> Body:
        """Get the JSON Schema of study.toml, or of one of its tables, such as Task or Criterion."""
        schema = self.client_of(ctx).study_schema()
        if not table:
            tables = sorted(schema["$defs"])
            return {"properties": schema["properties"], "tables": tables}
        if table not in schema["$defs"]:
            raise EarnestError(f"No table {table!r}. Known: {', '.join(sorted(schema['$defs']))}")
        found: Body = schema["$defs"][table]
        return found

    def read_docs(self, ctx: Context, page: str = "") -> str:
        """Read a page of the documentation, such as methods; without a page, the list of pages."""
        return self.client_of(ctx).docs(page)

    def validate_study(
        self,
        ctx: Context,
        folder: str = "",
        study_toml: str = "",
        stimuli_csv: str = "",
        files: dict[str, str] | None = None,
    ) -> Body:
        """List every mistake of a study with its row and remedy. Nothing is stored.

        Name a folder on this machine, or send study_toml, stimuli_csv and files (base64 by path).
        """
        with self._study(folder, study_toml, stimuli_csv, files) as path:
            return self.client_of(ctx).validate(path)

    def create_draft(
        self,
        ctx: Context,
        folder: str = "",
        study_toml: str = "",
        stimuli_csv: str = "",
        files: dict[str, str] | None = None,
        replace: str = "",
        project: int | None = None,
    ) -> Body:
        """Store a study as a draft; replace names the key of a draft to replace. It is not opened.

        Takes what validate_study takes.
        """
        client = self.client_of(ctx)
        with self._study(folder, study_toml, stimuli_csv, files) as path:
            made = client.replace(replace, path) if replace else client.create(path, project)
        return {**made, "opening_page": client.study_page(made["study"]["key"])}

    @contextmanager
    def _study(
        self, folder: str, study_toml: str, stimuli_csv: str, files: dict[str, str] | None
    ) -> Iterator[Path]:
        """The folder, or a zip of what was sent."""
        if folder and not self.local:
            raise EarnestError(
                "This server reads no folders. Send study_toml, stimuli_csv and files."
            )
        if bool(folder) == bool(study_toml):
            raise EarnestError("Name either a folder, or send study_toml, stimuli_csv and files.")
        if folder:
            yield Path(os.path.expanduser(folder))  # which leaves ~unknown as it is
            return
        with TemporaryDirectory() as temporary:
            path = Path(temporary) / "study.zip"
            with ZipFile(path, "w") as archive:
                archive.writestr("study.toml", study_toml)
                archive.writestr("stimuli.csv", stimuli_csv)
                for name, content in (files or {}).items():
                    archive.writestr(_checked_path(name), _decoded(name, content))
            yield path

    def plan_study(
        self,
        ctx: Context,
        size: float,
        goal: str = "half_width",
        options: dict[str, float | str] | None = None,
    ) -> Body:
        """Plan raters, ratings, cost and time for a half-width of the 95% CI, or a difference.

        goal: half_width or difference. options: conditions, items, clips_per_rater, of (mean or
        difference), assignment, power, level, source (att, long_form, lfs, nvv) or sd_residual and
        sd_rater, sd_item, …; pay_per_hour, fee, currency.
        """
        more = options or {}
        if twice := [name for name in ("size", "goal") if name in more]:
            named = " and ".join(twice)
            raise EarnestError(
                f"options holds {named}. Give {named} as arguments, outside options."
            )
        return self.client_of(ctx).plan(size, goal=goal, **more)

    def preview_study(
        self, ctx: Context, key: str, task: str = "", width: int = 1280, instructions: bool = False
    ) -> Image:
        """Take a picture of a rater's screen: the first trial of a task, or its instructions.

        width is that of the window in pixels: 390 for a phone.
        """
        preview = self.client_of(ctx).preview(key)
        if task and task not in preview["tasks"]:
            raise EarnestError(f"No task {task!r}. Known: {', '.join(preview['tasks'])}")
        address = httpx.URL(preview["url"], params={"task": task or preview["tasks"][0]})
        fragment = "" if instructions else "#trial"
        return Image(data=screenshot(f"{address}{fragment}", width), format="png")

    # --- Running and results ----------------------------------------------------------------------

    def list_studies(self, ctx: Context, words: str = "") -> list[Body]:
        """List your studies, newest first; words narrow them by key, title or tag."""
        found = self.client_of(ctx).studies(q=words or None)
        return [{name: row[name] for name in ("key", "title", "name", "state")} for row in found]

    def get_status(self, ctx: Context, key: str) -> Body:
        """Get the state and progress of a study, and what is to be known before it is opened."""
        client = self.client_of(ctx)
        return {
            "study": client.study(key),
            "findings": client.findings(key),
            "progress": client.progress(key),
        }

    def opening_page(self, ctx: Context, key: str) -> str:
        """Get the page where a person opens, pauses or closes a study, and pays raters."""
        client = self.client_of(ctx)
        return client.study_page(client.study(key)["key"])

    def run_analysis(self, ctx: Context, key: str) -> Body:
        """Analyse the present ratings of a study. get_results has the result."""
        return self.client_of(ctx).analyse(key, wait_s=60)

    def get_results(self, ctx: Context, key: str) -> Body:
        """Get the newest analysis: its main result in sentences, and each mean with its CI."""
        results = self.client_of(ctx).results(key)
        report = results["report"]
        if report is None:
            raise EarnestError("No analysis is finished yet. Start one: run_analysis.")
        answer = next(part for part in report["parts"] if part["key"] == "answer")
        overall: dict[tuple[str, ...], Body] = {}
        for row in report["estimates"]:
            if row["breakdown"] == "condition:":  # the first interval is the one of all claims
                overall.setdefault(tuple(row[name] for name in FAMILY), row)
        columns = (*FAMILY, *NUMBERS)
        return {
            "analysed_at": results["run"]["finished_at"],
            "sentences": answer["sentences"],
            "limitations": [*report["warnings"], *answer["warnings"]],
            "estimates": [{name: row.get(name) for name in columns} for row in overall.values()],
            "files": FILES,
        }

    def get_results_file(self, ctx: Context, key: str, name: str) -> str:
        """Get a text file of the newest analysis, such as estimates.csv; get_results names them."""
        content = self.client_of(ctx).result_file(key, name)
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise EarnestError(f"{name} is no text. Download it: earnest results --file") from None


FILES = (
    *("estimates.csv", "contrasts.csv", "shares.csv", "exclusions.csv", "screening.csv"),
    *("report.json", "report.html", "methods.txt", "results.csv", "results.tex"),
    *("differences.csv", "differences.tex", "references.bib"),
)


def _checked_path(name: str) -> str:
    if not 0 < len(name) <= LONGEST_PATH:
        raise EarnestError(f"files: {name[:80]!r} is no path. Name each such as audio/a1.wav.")
    return name


def _decoded(name: str, content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except ValueError:
        raise EarnestError(f"{name} is not base64.") from None
