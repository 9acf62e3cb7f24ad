"""Builds sdist and wheel of the files that git knows, and says what is wrong with them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path, PurePosixPath

NOT_SHIPPED = {"tests", "tools", "benchmarks"}  # packages of a clone alone
FILES = ("templates", "static", "locale", "demo", "docs")  # lie in earnest_files/ in a wheel
SDIST = "import sys, setuptools.build_meta as b; b.build_sdist(sys.argv[1])"
WHEEL = "import sys, setuptools.build_meta as b; b.build_wheel(sys.argv[1])"
MOST_NAMED = 10


class PackagedError(Exception):
    """Building failed; the message ends with what it printed."""


@dataclass(frozen=True)
class BuiltFiles:
    sdist: Path
    wheel: Path


def tracked_files(root: Path) -> list[PurePosixPath]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
    return [PurePosixPath(name) for name in done.stdout.decode().split("\0") if name]


def rooms(names: list[PurePosixPath]) -> set[str]:
    """The packages that Earnest runs with: each top folder that is one, but those of a clone."""
    top = {name.parts[0] for name in names if name.parts[1:] == ("__init__.py",)}
    return top - NOT_SHIPPED


def build(root: Path, target: Path | None = None) -> BuiltFiles:
    """Build into a folder, by default build/release, which is emptied first.

    The wheel is made of the sdist, so that both are whole; nothing of an older build is in.
    """
    target = target or root / "build" / "release"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        clean, unpacked = Path(folder) / "clean", Path(folder) / "unpacked"
        for name in tracked_files(root):
            if (root / name).is_file():
                (clean / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, clean / name)
        _run(SDIST, clean, target)
        (sdist,) = target.glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            archive.extractall(unpacked, filter="data")
        (inside,) = unpacked.iterdir()
        _run(WHEEL, inside, target)
    (wheel,) = target.glob("*.whl")
    return BuiltFiles(sdist, wheel)


def _run(code: str, where: Path, target: Path) -> None:
    command = [sys.executable, "-c", code, str(target)]
    done = subprocess.run(command, cwd=where, capture_output=True, text=True)
    if done.returncode:
        raise PackagedError(f"Building failed:\n{(done.stdout + done.stderr)[-2000:]}")


def expected_paths(names: list[PurePosixPath]) -> set[str]:
    """What a wheel has to hold, as paths in it: all of the rooms and files but pages about them."""
    shipped = rooms(names)
    paths = set()
    for name in names:
        if name.parts[0] in FILES:
            paths.add(f"earnest_files/{name}")
        elif name.parts[0] in shipped and name.suffix != ".md":
            paths.add(str(name))
    return paths


def mistakes(root: Path, distribution: BuiltFiles, version: str) -> list[str]:
    """What is missing or too much in the wheel, and what its metadata say wrong."""
    with zipfile.ZipFile(distribution.wheel) as archive:
        inside = {name for name in archive.namelist() if not name.endswith("/")}
        described = next((name for name in inside if name.endswith(".dist-info/METADATA")), "")
        metadata = Parser().parsestr(archive.read(described).decode() if described else "")
    dist_info = {name for name in inside if ".dist-info/" in name}
    wanted = expected_paths(tracked_files(root))
    problems = [
        *_list_names("The wheel lacks", wanted - inside),
        *_list_names("The wheel holds what git does not know", inside - dist_info - wanted),
    ]
    if metadata["Version"] != version:
        problems.append(f"The wheel says it is {metadata['Version']}, not {version}.")
    for ending in ("entry_points.txt", "licenses/LICENSE"):
        if not any(name.endswith(f".dist-info/{ending}") for name in dist_info):
            problems.append(f"The wheel lacks its {ending}.")
    return problems


def _list_names(words: str, names: set[str]) -> list[str]:
    if not names:
        return []
    some = ", ".join(sorted(names)[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return [f"{words}: {some}{more}."]
