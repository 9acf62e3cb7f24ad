"""Makes a release on this machine and pushes nothing: python -m tools.release VERSION [--dry-run].

Checks the tree, dates the changelog, sets the version (pyproject.toml; CITATION.cff repeats it),
builds sdist and wheel into build/release, looks into both, and prints what is left to do. When
something fails, every file is as it was.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from packaging.version import InvalidVersion, Version

from tools.locks import ROOT
from tools.packaged import PackagedError, build, mistakes

BRANCH = "main"
UNRELEASED = "## Unreleased\n"
PROJECT, CITATION, CHANGES = "pyproject.toml", "CITATION.cff", "CHANGELOG.md"
LEFT = """
Left to do, in this order:

  git commit -am "Earnest {version}"
  git tag -a v{version} -m "Earnest {version}"
  git push origin {branch} v{version}

  python -m twine upload {files}   # to where you publish packages

{images}"""
IMAGES = "Images, of the tagged commit (docker or podman):\n"
IMAGE = """
  docker build -f {recipe} --target {target} --build-arg REVISION=$(git rev-parse v{version}) \\
    -t REGISTRY/earnest:{version}-{target} . && docker push REGISTRY/earnest:{version}-{target}
"""
NO_IMAGES = "There is no {recipe}, so no image is to be made.\n"
RECIPE = "deploy/Containerfile"


class ReleaseError(Exception):
    """Why there is no release, and what to do."""


@dataclass(frozen=True)
class Release:
    version: str
    day: date
    branch: str = BRANCH
    root: Path = ROOT

    def read(self, name: str) -> str:
        return (self.root / name).read_text("utf-8")

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True)
        if done.returncode:
            raise ReleaseError(f"git {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout.strip()


# --- What has to be so ---------------------------------------------------------------------------


def check(release: Release) -> None:
    """Raises ReleaseError unless this may become a release."""
    here = release.git("branch", "--show-current") or "no branch"
    if here != release.branch:
        raise ReleaseError(
            f"This is {here}; releases are made on {release.branch} (or say --branch)."
        )
    if changed := release.git("status", "--porcelain"):
        raise ReleaseError(f"Commit or stash first; not committed are:\n{changed}")
    _check_version(release)


def _check_version(release: Release) -> None:
    try:
        wanted = Version(release.version)
    except InvalidVersion:
        raise ReleaseError(f"“{release.version}” is no version; give one like 0.2.0.") from None
    if str(wanted) != release.version or wanted.is_devrelease or wanted.local:
        raise ReleaseError(
            f"“{release.version}” cannot be released; write it like 0.2.0 or 0.2.0rc1."
        )
    now = Version(tomllib.loads(release.read(PROJECT))["project"]["version"])
    if wanted < now:
        raise ReleaseError(f"{release.version} is before {now}, which {PROJECT} has.")
    if release.git("tag", "--list", f"v{release.version}"):
        raise ReleaseError(f"There is a tag v{release.version} already; give the next version.")


# --- The files -----------------------------------------------------------------------------------


def edited_files(release: Release) -> dict[str, str]:
    """By name: each file of the release as it is to be."""
    version, day = release.version, release.day.isoformat()
    citation = _set(release.read(CITATION), CITATION, "version: ", version)
    if re.search(r"^date-released: ", citation, re.M):
        citation = _set(citation, CITATION, "date-released: ", day)
    else:
        citation = citation.replace(
            f"\nversion: {version}\n", f"\nversion: {version}\ndate-released: {day}\n"
        )
    return {
        PROJECT: _set(release.read(PROJECT), PROJECT, "version = ", f'"{version}"'),
        CITATION: citation,
        CHANGES: date_changelog(release.read(CHANGES), version, day),
    }


def _set(text: str, name: str, start: str, value: str) -> str:
    """The one line that starts so, with another value; what follows the value stays."""
    new, count = re.subn(rf"^{re.escape(start)}\S+", f"{start}{value}", text, flags=re.M)
    if count != 1:
        raise ReleaseError(f"{name} has {count} lines that begin with “{start}”; it needs one.")
    return new


def date_changelog(changes: str, version: str, day: str) -> str:
    """The changelog with what was unreleased under the version, and nothing unreleased."""
    before, heading, rest = changes.partition(UNRELEASED)
    if not heading:
        raise ReleaseError(f"{CHANGES} has no line “{UNRELEASED.strip()}”.")
    if f"\n## {version} " in changes:
        raise ReleaseError(f"{CHANGES} has a part about {version} already.")
    unreleased, end, older = rest.partition("\n## ")
    if not re.search(r"^- \S", unreleased, re.M):
        raise ReleaseError(f"{CHANGES} has nothing below Unreleased: say what is new.")
    return f"{before}{UNRELEASED}\n## {version} - {day}\n{unreleased}{end}{older}"


@contextmanager
def written_files(root: Path, files: dict[str, str]) -> Iterator[None]:
    """Writes the files; when what follows fails or is interrupted, they are as they were."""
    before = {name: (root / name).read_bytes() for name in files}
    try:
        for name, text in files.items():
            (root / name).write_text(text, "utf-8")
        yield
    except BaseException:
        for name, held in before.items():
            (root / name).write_bytes(held)
        raise


# --- All of it -----------------------------------------------------------------------------------


def make(release: Release) -> str:
    """Edits, builds and looks; returns what is left to do."""
    check(release)
    with written_files(release.root, edited_files(release)):
        distribution = build(release.root)
        if wrong := mistakes(release.root, distribution, release.version):
            raise ReleaseError("What was built is not right:\n" + "\n".join(wrong))
    files = " ".join(
        path.relative_to(release.root).as_posix()
        for path in (distribution.sdist, distribution.wheel)
    )
    return next_steps(release, files)


def next_steps(release: Release, files: str) -> str:
    images = NO_IMAGES.format(recipe=RECIPE)
    if (release.root / RECIPE).exists():
        values = {"recipe": RECIPE, "version": release.version}
        names = targets(release.read(RECIPE))
        images = IMAGES + "".join(IMAGE.format(target=each, **values) for each in names)
    return LEFT.format(version=release.version, branch=release.branch, files=files, images=images)


def targets(recipe: str) -> list[str]:
    """The stages of a Containerfile that no other stage builds upon: one image each."""
    stages = re.findall(r"^FROM\s+(\S+)\s+AS\s+(\S+)", recipe, re.M | re.I)
    used = {base for base, _ in stages} | set(re.findall(r"--from=(\S+)", recipe))
    return [name for _, name in stages if name not in used]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.release",
        description="Makes a release on this machine; pushes nothing.",
    )
    parser.add_argument("version", help="like 0.2.0 or 0.2.0rc1")
    parser.add_argument("--dry-run", action="store_true", help="check, and change nothing")
    parser.add_argument("--branch", default=BRANCH, help=f"release from another than {BRANCH}")
    args = parser.parse_args(arguments)
    release = Release(args.version, datetime.now(UTC).date(), args.branch)
    try:
        if args.dry_run:
            check(release)
            print(
                f"Would change {', '.join(edited_files(release))}, and build. Nothing was changed."
            )
        else:
            print(make(release))
    except (ReleaseError, PackagedError) as error:
        print(f"No release was made. {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
