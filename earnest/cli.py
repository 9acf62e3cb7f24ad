"""The command line of the client: `earnest study create DIR`, `ratings`, `results` and so on."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from earnest.client import Client
from earnest.errors import EarnestError, said
from earnest.table import Table

CURSOR = ".cursor"  # beside a file that is added to: how far it goes
Command = Callable[[Client, argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None, client: Client | None = None) -> int:
    """The exit status: 0 where it was done, 1 where not, 2 for a command that is none."""
    asked = parser().parse_args(arguments)
    try:
        with nullcontext(client) if client else Client(asked.url, asked.token) as opened:
            run: Command = asked.run
            return run(opened, asked)
    except EarnestError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename or ''}: {error.strerror}", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="earnest", description="Asks an Earnest server by its REST API (docs/api.md)."
    )
    made.add_argument("--url", help="of the server; else the environment's EARNEST_URL")
    made.add_argument("--token", help="better in the environment: EARNEST_TOKEN")
    add_commands(made.add_subparsers(required=True, metavar="COMMAND"))
    return made


def add_commands(commands: Any) -> None:
    """All commands of the client."""
    study = commands.add_parser("study", help="make, check, open, pause, close, copy studies")
    _add_study(study.add_subparsers(required=True, metavar="WHAT"))
    _add(commands, "studies", _studies, "list studies").add_argument("-q", help="words to look for")
    _add_key(commands, "progress", _progress, "how far a study is")
    ratings = _add_key(commands, "ratings", _ratings, "ratings, all or those that came since")
    ratings.add_argument("--since", default="", metavar="CURSOR", help="as told the time before")
    ratings.add_argument(
        "--append", action="store_true", help="add to --out what came since, and remember how far"
    )
    _out(ratings)
    _out(_add_key(commands, "sessions", _sessions, "sessions with checks and answers"))
    results = _add_key(commands, "results", _results, "the newest analysis, as JSON")
    results.add_argument("--run", action="store_true", help="analyse the ratings of now first")
    results.add_argument("--file", default="", help="one of its files, such as estimates.csv")
    results.add_argument("--out", type=Path, help="a file; else the terminal")
    score = _add_key(commands, "score", _score, "have metrics score the clips")
    score.add_argument("--preset", default="", help="such as fast; else name metrics")
    score.add_argument("metrics", nargs="*")
    scores = _add_key(commands, "scores", _scores, "scores of metrics")
    for name, words in (("only", "clips with"), ("without", "no clips with")):
        told = f"{words} these warnings about their audio: codes with commas between, or any"
        scores.add_argument(f"--{name}", default="", metavar="CODES", help=told)
    _out(scores)


def _add_study(commands: Any) -> None:
    create = _add(commands, "create", _create, "a draft from a study folder, or a zip of one")
    create.add_argument("folder", type=Path)
    create.add_argument("--project", type=int, help="the number of a project")
    create.add_argument("--replace", metavar="KEY", help="the draft of this key by the folder")
    _add(commands, "validate", _validate, "list all mistakes").add_argument("folder", type=Path)
    opened = _add_key(commands, "open", _open, "let raters in")
    opened.add_argument("--anyway", action="store_true", help="in spite of problems")
    _add_key(commands, "pause", lambda c, a: _shown(c.pause(a.key)), "let nobody new in")
    _add_key(commands, "close", lambda c, a: _shown(c.close(a.key)), "end it for good")
    copy = _add_key(commands, "copy", _copy, "a copy, as a draft")
    copy.add_argument("--to", default="", help="the key of the copy")
    copy.add_argument("--version", action="store_true", help="the next version of it")
    _add_key(commands, "archive", lambda c, a: _shown(c.change(a.key, archived=True)), "put away")


def _add(commands: Any, name: str, run: Command, words: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(name, help=words, description=words)
    made.set_defaults(run=run)
    return made


def _add_key(commands: Any, name: str, run: Command, words: str) -> argparse.ArgumentParser:
    made = _add(commands, name, run, words)
    made.add_argument("key", help="of the study")
    return made


def _out(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, help="a CSV file; else the terminal")


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
    for line in (*map(said, found["mistakes"]), *found["remarks"]):
        print(line)
    print("Nothing is wrong." if found["valid"] else f"{len(found['mistakes'])} mistakes.")
    return 0 if found["valid"] else 1


def _open(client: Client, asked: argparse.Namespace) -> int:
    return _shown(client.open(asked.key, anyway=asked.anyway))


def _copy(client: Client, asked: argparse.Namespace) -> int:
    return _shown(client.copy(asked.key, asked.to, as_version=asked.version))


def _progress(client: Client, asked: argparse.Namespace) -> int:
    told = client.progress(asked.key)
    print(f"{told['state']}, {told['at']}")
    for task in told["tasks"]:
        print(f"{task['key']}: {task['rated']:,} of {task['planned']:,} places rated")
    print(", ".join(f"{number:,} {status}" for status, number in told["sessions"].items()))
    return 0


# --- Tables ---------------------------------------------------------------------------------------


def _ratings(client: Client, asked: argparse.Namespace) -> int:
    since, mode = asked.since, "w"
    remembered = Path(f"{asked.out}{CURSOR}")
    if asked.append:
        if asked.out is None:
            raise EarnestError("Say which file is added to: --out FILE --append")
        if asked.out.exists() != remembered.exists():
            raise EarnestError(
                f"{asked.out} and {remembered} belong together, and one is missing: how far the "
                "file goes is not known. Take both away to begin again."
            )
        if remembered.exists():
            since, mode = remembered.read_text("utf-8").strip(), "a"
    count = 0
    for page in client.rating_pages(asked.key, since):
        _write(page, asked.out, mode)
        count, since, mode = (
            count + len(page),
            page.cursor,
            "a" if page.rows or mode == "a" else mode,
        )
        if asked.append:
            remembered.write_text(since, "utf-8")
    print(f"{count:,} ratings. What comes later: --since {since}", file=sys.stderr)
    return 0


def _sessions(client: Client, asked: argparse.Namespace) -> int:
    _write(client.sessions(asked.key), asked.out, "w")
    return 0


def _scores(client: Client, asked: argparse.Namespace) -> int:
    _write(client.scores(asked.key, asked.only, asked.without), asked.out, "w")
    return 0


def _write(table: Table, out: Path | None, mode: str) -> None:
    """Rows as CSV; the head only where the file begins."""
    if out is None:
        _lines(table, sys.stdout, mode == "w")
        return
    with out.open(mode, encoding="utf-8", newline="") as file:
        _lines(table, file, mode == "w")


def _lines(table: Table, file: IO[str], head: bool) -> None:
    if not table.rows:
        return
    columns = list(dict.fromkeys(name for row in table for name in row))
    writer = csv.writer(file, lineterminator="\n")
    if head:
        writer.writerow(columns)
    for row in table:
        writer.writerow([_cell(row.get(name)) for name in columns])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    danger = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if danger else value  # a spreadsheet would run it


# --- Results --------------------------------------------------------------------------------------


def _results(client: Client, asked: argparse.Namespace) -> int:
    if asked.run:
        client.analyse(asked.key)
    if asked.file:
        content = client.result_file(asked.key, asked.file)
    else:
        told = client.results(asked.key)
        if told["report"] is None:
            raise EarnestError("No analysis is finished yet. Ask for one: --run")
        content = json.dumps(told["report"], ensure_ascii=False, indent=1).encode()
    if asked.out is None:
        sys.stdout.write(content.decode("utf-8", "replace"))
    else:
        asked.out.write_bytes(content)
    return 0


def _score(client: Client, asked: argparse.Namespace) -> int:
    told = client.score(asked.key, asked.preset, asked.metrics)
    print(f"Run {told['run']} is {told['state']}: {told['done']:,} of {told['total']:,} scores.")
    return 0
