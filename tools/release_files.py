"""What a release has beside its wheel: images, and signed checksums."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

RECIPE = "deploy/Containerfile"
BUILDERS = ("docker", "podman")
SUMS, SIGNATURE, IMAGES = "SHA256SUMS", "SHA256SUMS.asc", "images.txt"


class ReleaseError(Exception):
    """Why there is no release, and what to do."""


def run(command: Sequence[str], root: Path) -> str:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        words = done.stderr.strip() or done.stdout.strip()
        raise ReleaseError(f"{' '.join(command)}: {words}")
    return done.stdout.strip()


def builder() -> str:
    """The program that builds images here."""
    for name in BUILDERS:
        if (
            shutil.which(name)
            and not subprocess.run([name, "info"], capture_output=True).returncode
        ):
            return name
    raise ReleaseError(f"No {' or '.join(BUILDERS)} works here to build images. Or: --no-images.")


def targets(recipe: str) -> list[str]:
    """The stages of a Containerfile that no other stage builds upon: one image each."""
    stages = re.findall(r"^FROM\s+(\S+)\s+AS\s+(\S+)", recipe, re.M | re.I)
    used = {base for base, _ in stages} | set(re.findall(r"--from=(\S+)", recipe))
    return [name for _, name in stages if name not in used]


def build_images(root: Path, version: str, folder: Path) -> list[str]:
    """One image for each target, and a file with their ids, which a registry keeps; their names."""
    program, revision = builder(), run(["git", "rev-parse", "HEAD"], root)
    names, lines = [], []
    for target in targets((root / RECIPE).read_text("utf-8")):
        name = f"earnest:{version}-{target}"
        build = [program, "build", "-f", RECIPE, "--target", target, "-t", name]
        run([*build, "--build-arg", f"REVISION={revision}", "."], root)
        names.append(name)
        lines.append(f"{run([program, 'image', 'inspect', '-f', '{{.Id}}', name], root)}  {name}\n")
    (folder / IMAGES).write_text("".join(lines), "utf-8")
    return names


def check_key(key: str, root: Path) -> None:
    """Raises ReleaseError unless this key can sign."""
    if shutil.which("gpg") is None:
        raise ReleaseError("There is no gpg here: install gnupg.")
    try:
        run(["gpg", "--batch", "--list-secret-keys", key], root)
    except ReleaseError:
        raise ReleaseError(f"gpg has no secret key “{key}”; gpg --list-secret-keys.") from None


def sign(folder: Path, key: str) -> None:
    """A checksum of each file of the release, in the form of sha256sum, and gpg's signature."""
    files = sorted(path for path in folder.iterdir() if path.name not in (SUMS, SIGNATURE))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), "utf-8")
    run(
        ["gpg", "--batch", "--yes", "--local-user", key, "--armor", "--detach-sign", SUMS],
        folder,
    )
