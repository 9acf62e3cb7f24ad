"""Makes a release on this machine and pushes nothing: python -m tools.release VERSION --sign KEY.

Checks the tree, dates the changelog, sets the version (pyproject.toml; CITATION.cff repeats it),
builds sdist and wheel, looks into both, commits, tags, builds the images of that commit, lists what
Earnest runs on, signs checksums of it all in build/release, and prints what is left to do. When
something fails, the repository is as it was.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from packaging.version import InvalidVersion, Version

from tools import sbom
from tools.locks import ROOT
from tools.packaged import BuiltFiles, PackagedError, build, mistakes
from tools.release_files import ReleaseError, build_images, builder, check_key, run, sign

BRANCH = "main"
UNRELEASED = "## Unreleased\n"
PROJECT, CITATION, CHANGES = "pyproject.toml", "CITATION.cff", "CHANGELOG.md"
LEFT = """
{folder} holds the release; {tag} is its commit. Left to do, in this order:

  git push origin {branch} {tag}
  python -m twine upload {files}   # to where you publish packages
{images}
Attach all files of {folder} to the release's page.
"""
IMAGE = "  {program} tag {name} REGISTRY/{name} && {program} push REGISTRY/{name}\n"


@dataclass(frozen=True)
class Release:
    version: str
    day: date
    branch: str = BRANCH
    root: Path = ROOT
    key: str = ""  # of gpg, that signs
    has_images: bool = True

    @property
    def tag(self) -> str:
        return f"v{self.version}"

    def read(self, name: str) -> str:
        return (self.root / name).read_text("utf-8")

    def git(self, *words: str) -> str:
        return run(["git", *words], self.root)


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
    check_key(release.key, release.root)
    if release.has_images:
        builder()


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
    if release.git("tag", "--list", release.tag):
        raise ReleaseError(f"There is a tag {release.tag} already; give the next version.")


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


# --- All of it -----------------------------------------------------------------------------------


@contextmanager
def undone_on_failure(release: Release) -> Iterator[None]:
    """When what follows fails or is interrupted, commit, tag and files are as they were."""
    before = release.git("rev-parse", "HEAD")
    try:
        yield
    except BaseException:
        if release.git("tag", "--list", release.tag):
            release.git("tag", "-d", release.tag)
        release.git("reset", "--hard", before)  # nothing was uncommitted
        raise


def make(release: Release) -> str:
    """Edits, builds and looks, commits and tags, and signs; returns what is left to do."""
    check(release)
    with undone_on_failure(release):
        for name, text in edited_files(release).items():
            (release.root / name).write_text(text, "utf-8")
        made = build(release.root)
        if wrong := mistakes(release.root, made, release.version):
            raise ReleaseError("What was built is not right:\n" + "\n".join(wrong))
        folder = made.wheel.parent
        sbom.write(folder / f"earnest-{release.version}.cdx.json", release.version)
        release.git("commit", "-qam", f"Earnest {release.version}")
        release.git("tag", "-a", release.tag, "-m", f"Earnest {release.version}")
        images = build_images(release.root, release.version, folder) if release.has_images else []
        sign(folder, release.key)
    return next_steps(release, made, images)


def next_steps(release: Release, made: BuiltFiles, images: Sequence[str]) -> str:
    files = [path.relative_to(release.root).as_posix() for path in (made.sdist, made.wheel)]
    return LEFT.format(
        folder=made.wheel.parent.relative_to(release.root).as_posix(),
        tag=release.tag,
        branch=release.branch,
        files=" ".join(files),
        images="".join(IMAGE.format(program=builder(), name=each) for each in images),
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.release",
        description="Makes a release on this machine; pushes nothing.",
    )
    parser.add_argument("version", help="like 0.2.0 or 0.2.0rc1")
    parser.add_argument("--dry-run", action="store_true", help="check, and change nothing")
    parser.add_argument("--branch", default=BRANCH, help=f"release from another than {BRANCH}")
    parser.add_argument("--sign", required=True, metavar="KEY", help="gpg's key for checksums")
    parser.add_argument("--no-images", action="store_true", help="wheel, sdist and bill alone")
    args = parser.parse_args(arguments)
    today = datetime.now(UTC).date()
    release = Release(
        args.version, today, args.branch, key=args.sign, has_images=not args.no_images
    )
    try:
        if args.dry_run:
            check(release)
            print(
                f"Would change {', '.join(edited_files(release))}, and build. Nothing was changed."
            )
        else:
            print(make(release))
    except (ReleaseError, PackagedError, sbom.SbomError) as error:
        print(f"No release was made. {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
