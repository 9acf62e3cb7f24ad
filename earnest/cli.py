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
from earnest.errors import EarnestError, mistake_line

Command = Callable[[Client, argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None, client: Client | None = None) -> int:
    """The exit status: 0 where it was done, 1 where not, 2 for a command that is none."""
    asked = parser().parse_args(arguments)
    try:
        with nullcontext(client) if client else Client(asked.url, asked.token) as opened:
            command: Command = asked.command
            return command(opened, asked)
    except EarnestError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:  # such as of `| head`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # what is left is for nobody
        return 1
    except OSError as error:
        print(f"{error.filename or 'It could not be written'}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="earnest", description="Query an Earnest server through its REST API (docs/api.md)."
    )
    made.add_argument("--url", help="Address of the server. Default: EARNEST_URL.")
    made.add_argument("--token", help="API token. Default, and safer: EARNEST_TOKEN.")
    add_commands(made.add_subparsers(required=True, metavar="COMMAND"))
    return made


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
        commands, "pause", lambda c, a: _shown(c.pause(a.key)), "Stop new raters from starting."
    )
    _add_key(commands, "close", lambda c, a: _shown(c.close(a.key)), "Close a study for good.")
    copy = _add_key(commands, "copy", _copy, "Copy a study as a draft.")
    copy.add_argument("--to", default="", help="Key of the copy.")
    copy.add_argument(
        "--version", action="store_true", help="Make the copy the next version of the study."
    )
    _add_key(commands, "archive", _archive, "Archive a study.")


def _add(commands: Any, name: str, run: Command, words: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(name, help=words, description=words)
    made.set_defaults(command=run)  # no option may be called so
    return made


def _add_key(commands: Any, name: str, run: Command, words: str) -> argparse.ArgumentParser:
    made = _add(commands, name, run, words)
    made.add_argument("key", help="Study key.")
    return made


def _out(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, help="CSV file. Default: the terminal.")


# --- Studies --------------------------------------------------------------------------------------


def _studies(client: Client, asked: argparse.Namespace) -> int:
    for study in client.studies(q=asked.q):
        print(f"{study['key']:30} {study['state']:7} {study['name']}")
    return 0


def _shown(study: dict[str, Any]) -> int:
    print(f"“{study['key']}” is {study['state']}. Raters start at {study['link']}")
    return 0


def _create(client: Client, asked: argparse.Namespace) -> int:
    made = (
        client.replace(asked.replace, asked.folder)
        if asked.replace
        else client.create(asked.folder, asked.project)
    )
    for remark in made["remarks"]:
        print(remark)
    for finding in made["findings"]:
        print(f"{finding['level'].capitalize()}: {finding['what']} {finding['remedy']}")
    return _shown(made["study"])


def _validate(client: Client, asked: argparse.Namespace) -> int:
    found = client.validate(asked.folder)
    for line in (*map(mistake_line, found["mistakes"]), *found["remarks"]):
        print(line)
    many = len(found["mistakes"])
    print(["Nothing is wrong.", "1 mistake."][many] if many < 2 else f"{many:,} mistakes.")
    return 0 if found["valid"] else 1


def _open(client: Client, asked: argparse.Namespace) -> int:
    return _shown(client.open(asked.key, anyway=asked.anyway))


def _copy(client: Client, asked: argparse.Namespace) -> int:
    return _shown(client.copy(asked.key, asked.to, as_version=asked.version))


def _archive(client: Client, asked: argparse.Namespace) -> int:
    study = client.change(asked.key, archived=True)
    print(f"“{study['key']}” is archived, and as before {study['state']}.")
    return 0


def _progress(client: Client, asked: argparse.Namespace) -> int:
    told = client.progress(asked.key)
    print(f"{told['state']}, {told['at']}")
    for task in told["tasks"]:
        print(f"{task['key']}: {task['rated']:,} of {task['planned']:,} places rated")
    print(", ".join(f"{number:,} {status}" for status, number in told["sessions"].items()))
    return 0


# --- Tables ---------------------------------------------------------------------------------------


def _ratings(client: Client, asked: argparse.Namespace) -> int:
    if not asked.append:
        count, since = tables.write_csv(client.rating_pages(asked.key, asked.since), asked.out)
    elif asked.out is None:
        raise EarnestError("Say which file is added to: --out FILE --append")
    elif asked.since:
        raise EarnestError("--append goes on where the file ends: leave --since out.")
    else:
        file = tables.Growing(asked.out)
        count, since = 0, file.since()
        for page in client.rating_pages(asked.key, since):
            file.add(page)
            count, since = count + len(page), page.cursor
    told = "1 rating" if count == 1 else f"{count:,} ratings"
    print(f"{told}. What comes later: --since {since}", file=sys.stderr)
    return 0


def _sessions(client: Client, asked: argparse.Namespace) -> int:
    tables.write_csv([client.sessions(asked.key)], asked.out)
    return 0


def _scores(client: Client, asked: argparse.Namespace) -> int:
    tables.write_csv([client.scores(asked.key, asked.only, asked.without)], asked.out)
    return 0


# --- Results --------------------------------------------------------------------------------------


def _results(client: Client, asked: argparse.Namespace) -> int:
    if asked.run:
        run = client.analyse(asked.key)
        if run["state"] != "done":
            raise EarnestError(
                f"The analysis is {run['state']}, {run['share']:.0%} done, and goes on. Ask for "
                "the results later, without --run."
            )
    if asked.file:
        content = client.result_file(asked.key, asked.file)
    else:
        told = client.results(asked.key)
        if told["report"] is None:
            raise EarnestError("No analysis is finished yet. Ask for one: --run")
        content = json.dumps(told["report"], ensure_ascii=False, indent=1).encode()
    if asked.out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)  # as it is: a figure may be sent into a file
    else:
        asked.out.write_bytes(content)
    return 0


def _score(client: Client, asked: argparse.Namespace) -> int:
    if bool(asked.preset) == bool(asked.metrics):
        raise EarnestError("Say what is to be scored: --preset fast, or names of metrics.")
    told = client.score(asked.key, asked.preset, asked.metrics)
    print(f"Run {told['run']} is {told['state']}: {told['done']:,} of {told['total']:,} scores.")
    return 0
