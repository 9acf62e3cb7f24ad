"""Reads requirements*.txt and the locks made of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
RUN_LOCK = ROOT / "requirements.lock"
DEV_LOCK = ROOT / "requirements-dev.lock"
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
REST = "# --- The rest"  # begins the part of the lock that is installed while pages are open


@dataclass(frozen=True)
class LockedPackage:
    """One package of a lock: its name as indexes write it, its version, where it is wanted."""

    name: str
    version: str
    wanted_here: bool
    hashes: tuple[str, ...]
    line: str = ""  # as pip reads it


def lines(text: str) -> Iterator[str]:
    """The lines of a requirements file's text, joined where they go on, without comments."""
    for line in text.replace("\\\n", " ").splitlines():
        if words := re.sub(r"(^|\s)#.*", "", line).strip():
            yield words


def locked_packages(path: Path, after: str = "") -> list[LockedPackage]:
    """The packages of a lock; those after a comment that begins so, where one is given."""
    entries, text = [], path.read_text()
    for line in lines(text[text.index(after) :]):
        wanted = Requirement(line.split(" --hash", 1)[0])
        (pin,) = wanted.specifier
        entries.append(
            LockedPackage(
                canonicalize_name(wanted.name),
                pin.version,
                wanted.marker is None or wanted.marker.evaluate(),
                tuple(HASH.findall(line)),
                line,
            )
        )
    return entries


def pins(path: Path) -> dict[str, str]:
    """What a requirements file pins, also through the files that it names: name to version."""
    versions: dict[str, str] = {}
    for line in lines(path.read_text()):
        if line.startswith("-r "):
            versions |= pins(path.parent / line.removeprefix("-r ").strip())
            continue
        wanted = Requirement(line)
        (pin,) = wanted.specifier
        versions[canonicalize_name(wanted.name)] = pin.version
    return versions
