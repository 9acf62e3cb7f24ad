"""The command line of the client: `earnest study create DIR`, `ratings`, `results` and so on."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from earnest import tables
from earnest.client import Client
from earnest.errors import EarnestError, file_error_line, mistake_line

Command = Callable[[Client, argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None, client: Client | None = None) -> int:
    """The exit status: 0 where it was done, 1 where not, 2 for a command that is none."""
    args = parser().parse_args(arguments)
    try:
        if args.command == _mcp:  # it makes its own clients
            return _mcp(args)
        with nullcontext(client) if client else Client(args.url, args.token) as opened:
            command: Command = args.command
            return command(opened, args)
    except EarnestError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:  # such as of `| head`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # what is left is for nobody
        return 1
    except OSError as error:
        print(file_error_line(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    top_parser = argparse.ArgumentParser(
        prog="earnest", description="Query an Earnest server through its REST API (docs/api.md)."
    )
    top_parser.add_argument("--url", help="Address of the server. Default: EARNEST_URL.")
    top_parser.add_argument("--token", help="API token. Default, and safer: EARNEST_TOKEN.")
    add_commands(top_parser.add_subparsers(required=True, metavar="COMMAND"))
    return top_parser


def add_commands(commands: Any) -> None:
    """All commands of the client."""
    study = commands.add_parser("study", help="Create, check, open, pause, close or copy a study.")
    _add_study(study.add_subparsers(required=True, metavar="WHAT"))
    _add(commands, "studies", _studies, "List studies.").add_argument(
        "-q", help="Words to look for."
    )
    _add_key(commands, "progress", _progress, "Print the progress of a study.")
    ratings = _add_key(
        commands, "ratings", _ratings, "Export ratings: all of them, or those since a cursor."
    )
    ratings.add_argument(
        "--since", default="", metavar="CURSOR", help="Cursor that an earlier call printed."
    )
    ratings.add_argument(
        "--append",
        action="store_true",
        help="Append new ratings to --out, and remember the cursor.",
    )
    _out(ratings)
    _out(
        _add_key(commands, "sessions", _sessions, "Export sessions with their checks and answers.")
    )
    results = _add_key(commands, "results", _results, "Print the newest analysis as JSON.")
    results.add_argument("--run", action="store_true", help="Analyse the present ratings first.")
    results.add_argument("--file", default="", help="File of the analysis, such as estimates.csv.")
    results.add_argument("--out", type=Path, help="Output file. Default: the terminal.")
    score = _add_key(commands, "score", _score, "Score the clips with metrics.")
    score.add_argument(
        "--preset", default="", help="Preset, such as fast, instead of names of metrics."
    )
    score.add_argument("metrics", nargs="*")
    scores = _add_key(commands, "scores", _scores, "Export metric scores.")
    for name, words in (("only", "Only clips with"), ("without", "Leave out clips with")):
        warned = f"{words} these audio warnings: codes, separated by commas, or any."
        scores.add_argument(f"--{name}", default="", metavar="CODES", help=warned)
    _out(scores)
    mcp = _add(
        commands,
        "mcp",
        _mcp,
        "Serve agents by the Model Context Protocol: by stdio, or by HTTP with --port.",
    )
    mcp.add_argument("--port", type=int, help="Serve by HTTP. Each request brings its token.")
    mcp.add_argument("--host", default="127.0.0.1", help="Address to listen on, with --port.")


def _add_study(commands: Any) -> None:
    create = _add(
        commands, "create", _create, "Create a draft from a study folder, or a zip file of one."
    )
    create.add_argument("folder", type=Path)
    create.add_argument("--project", type=int, help="Number of a project.")
    create.add_argument("--replace", metavar="KEY", help="Replace the draft with this key.")
    _add(commands, "validate", _validate, "List all mistakes in a study folder.").add_argument(
        "folder", type=Path
    )
    opened = _add_key(commands, "open", _open, "Open a study to raters.")
    opened.add_argument(
        "--anyway", action="store_true", help="Open the study in spite of problems."
    )
    _add_key(
        commands,
        "pause",
        lambda c, a: _print_study(c.pause(a.key)),
        "Stop new raters from starting.",
    )
    _add_key(
        commands, "close", lambda c, a: _print_study(c.close(a.key)), "Close a study for good."
    )
    copy = _add_key(commands, "copy", _copy, "Copy a study as a draft.")
    copy.add_argument("--to", default="", help="Key of the copy.")
    copy.add_argument(
        "--version", action="store_true", help="Make the copy the next version of the study."
    )
    _add_key(commands, "archive", _archive, "Archive a study.")


def _add(commands: Any, name: str, run: Callable[..., int], words: str) -> argparse.ArgumentParser:
    command_parser: argparse.ArgumentParser = commands.add_parser(
        name, help=words, description=words
    )
    command_parser.set_defaults(command=run)  # no option may be called so
    return command_parser


def _add_key(commands: Any, name: str, run: Command, words: str) -> argparse.ArgumentParser:
    command_parser = _add(commands, name, run, words)
    command_parser.add_argument("key", help="Study key.")
    return command_parser


def _out(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, help="CSV file. Default: the terminal.")


def _mcp(args: argparse.Namespace) -> int:
    try:
        from earnest.mcp_server import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        raise EarnestError(
            f"The MCP server needs the package {error.name}: pip install 'earnest[mcp]', or in a "
            "clone pip install -r requirements-mcp.txt"
        ) from None
    if args.port:
        serve_http(args.url, args.host, args.port)
    else:
        serve_stdio(args.url, args.token)
    return 0


# --- Studies --------------------------------------------------------------------------------------


def _studies(client: Client, args: argparse.Namespace) -> int:
    for study in client.studies(q=args.q):
        print(f"{study['key']:30} {study['state']:7} {study['name']}")
    return 0


def _print_study(study: dict[str, Any]) -> int:
    print(f"“{study['key']}” is {study['state']}. Raters start at {study['link']}")
    return 0


def _create(client: Client, args: argparse.Namespace) -> int:
    created = (
        client.replace(args.replace, args.folder)
        if args.replace
        else client.create(args.folder, args.project)
    )
    for remark in created["remarks"]:
        print(remark)
    for finding in created["findings"]:
        print(f"{finding['level'].capitalize()}: {finding['what']} {finding['remedy']}")
    return _print_study(created["study"])


def _validate(client: Client, args: argparse.Namespace) -> int:
    validation = client.validate(args.folder)
    for line in (*map(mistake_line, validation["mistakes"]), *validation["remarks"]):
        print(line)
    many = len(validation["mistakes"])
    print(["Nothing is wrong.", "1 mistake."][many] if many < 2 else f"{many:,} mistakes.")
    return 0 if validation["valid"] else 1


def _open(client: Client, args: argparse.Namespace) -> int:
    return _print_study(client.open(args.key, anyway=args.anyway))


def _copy(client: Client, args: argparse.Namespace) -> int:
    return _print_study(client.copy(args.key, args.to, as_version=args.version))


def _archive(client: Client, args: argparse.Namespace) -> int:
    study = client.change(args.key, archived=True)
    print(f"“{study['key']}” is archived, and as before {study['state']}.")
    return 0


def _progress(client: Client, args: argparse.Namespace) -> int:
    progress = client.progress(args.key)
    print(f"{progress['state']}, {progress['at']}")
    for task in progress["tasks"]:
        print(f"{task['key']}: {task['rated']:,} of {task['planned']:,} places rated")
    print(", ".join(f"{number:,} {status}" for status, number in progress["sessions"].items()))
    return 0


# --- Tables ---------------------------------------------------------------------------------------


def _ratings(client: Client, args: argparse.Namespace) -> int:
    if not args.append:
        count, since = tables.write_csv(client.rating_pages(args.key, args.since), args.out)
    elif args.out is None:
        raise EarnestError("Say which file is added to: --out FILE --append")
    elif args.since:
        raise EarnestError("--append goes on where the file ends: leave --since out.")
    else:
        file = tables.Growing(args.out)
        count, since = 0, file.since()
        for page in client.rating_pages(args.key, since):
            file.add(page)
            count, since = count + len(page), page.cursor
    amount = "1 rating" if count == 1 else f"{count:,} ratings"
    print(f"{amount}. What comes later: --since {since}", file=sys.stderr)
    return 0


def _sessions(client: Client, args: argparse.Namespace) -> int:
    tables.write_csv([client.sessions(args.key)], args.out)
    return 0


def _scores(client: Client, args: argparse.Namespace) -> int:
    tables.write_csv([client.scores(args.key, args.only, args.without)], args.out)
    return 0


# --- Results --------------------------------------------------------------------------------------


def _results(client: Client, args: argparse.Namespace) -> int:
    if args.run:
        run = client.analyse(args.key)
        if run["state"] != "done":
            raise EarnestError(
                f"The analysis is {run['state']}, {run['share']:.0%} done, and goes on. Ask for "
                "the results later, without --run."
            )
    if args.file:
        content = client.result_file(args.key, args.file)
    else:
        results = client.results(args.key)
        if results["report"] is None:
            raise EarnestError("No analysis is finished yet. Ask for one: --run")
        content = json.dumps(results["report"], ensure_ascii=False, indent=1).encode()
    if args.out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)  # as it is: a figure may be sent into a file
    else:
        args.out.write_bytes(content)
    return 0


def _score(client: Client, args: argparse.Namespace) -> int:
    if bool(args.preset) == bool(args.metrics):
        raise EarnestError("Name either metrics or a preset, such as --preset fast.")
    run = client.score(args.key, args.preset, args.metrics)
    print(f"Run {run['run']} is {run['state']}: {run['done']:,} of {run['total']:,} scores.")
    return 0
