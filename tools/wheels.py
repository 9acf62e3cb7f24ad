"""Which locked packages have no wheel where: python -m tools.wheels [--python 3.14 …].

uv resolves requirements.lock for each Python and platform as `make run` would install it, and takes
wheels only. It reads the package index, so this is no test; what it said stands in docs/running.md.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.locks import ROOT, RUN_LOCK

UV = ROOT / "build" / "uv" / "bin" / "uv"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "macOS 14 on Apple silicon": "aarch64-apple-darwin",
}
WHEELS_ONLY = ["pip", "compile", "-q", "--no-deps", "--only-binary", ":all:", "-o", "/dev/null"]
HERE = {"UV_PYTHON_DOWNLOADS": "never", "MACOSX_DEPLOYMENT_TARGET": "14.0"}
WITHOUT = re.compile(r"Because (?P<name>[\w.-]+)==(?P<version>\S+) has no (?:usable )?wheels")


class WheelsError(Exception):
    """uv failed for another reason than a missing wheel; the message is uv's."""


def blocks(lock: str) -> dict[str, str]:
    """The lock's entries by name, each with its hashes."""
    entries = re.split(r"^(?=[a-z0-9])", lock, flags=re.M)[1:]
    return {entry.partition("==")[0]: entry for entry in entries}


def resolve(entries: str, python: str, platform: str) -> str:
    """What uv says to these entries, wheels only; empty when each has one."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(entries, "utf-8")
        done = subprocess.run(
            [UV, *WHEELS_ONLY, "--python-version", python, "--python-platform", platform, wanted],
            capture_output=True,
            text=True,
            env={**os.environ, **HERE},
        )
    return "" if done.returncode == 0 else " ".join(done.stderr.split())


def missing(lock: str, python: str, platform: str) -> Iterator[str]:
    """Each package that has no wheel there, as name==version: uv names one at a time."""
    left = blocks(lock)
    while message := resolve("".join(left.values()), python, platform):
        named = WITHOUT.search(message)
        if named is None or named["name"] not in left:
            raise WheelsError(f"Python {python}, {platform}: {message}")
        del left[named["name"]]
        yield f"{named['name']}=={named['version']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", nargs="+", default=PYTHONS, help="versions (default: all)")
    args = parser.parse_args()
    if not UV.exists():
        sys.exit(f"{UV.relative_to(ROOT)} is missing. Make it: make {UV.relative_to(ROOT)}")
    lock = RUN_LOCK.read_text("utf-8")
    try:
        for python in args.python:
            for label, platform in PLATFORMS.items():
                names = ", ".join(sorted(missing(lock, python, platform))) or "none"
                print(f"{python}  {label}: without a wheel: {names}", flush=True)
    except WheelsError as error:
        sys.exit(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
