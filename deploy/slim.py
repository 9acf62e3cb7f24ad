"""Takes out of an environment of packages what no process of Earnest reads: images are smaller.

python slim.py /opt/earnest      says what each rule freed
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from interface_languages import INTERFACE_LANGUAGES  # a copy stands next to this file

# Of Earnest's pages, by how the folders of catalogues begin.
LANGUAGES = sorted({each.tag.partition("-")[0] for each in INTERFACE_LANGUAGES})
SERVICES = ("s3", "sts", "sso", "sso-oidc", "signin")  # of AWS: a bucket, and who may ask it
OF_GPUS = ("nvidia/*", "triton/*", "cuda/*")  # stay as they are
NOT_STRIPPED = (*OF_GPUS, "torch/*")


class Rule(NamedTuple):
    """Patterns of files below site-packages, where * goes through folders."""

    what: str
    gone: tuple[str, ...]
    kept: tuple[str, ...] = ()


RULES = (
    Rule("tests of packages", ("*/tests/*", "*/mpl-data/sample_data/*")),
    Rule(
        "sources and headers of compiled modules",
        ("*.c", "*.cc", "*.h", "*.hpp", "*.pxd", "*.pxi", "*.pyx", "*.a", "*/include/*"),
        (*OF_GPUS, "pytensor/*"),  # which reads its own when a model is made
    ),
    Rule("catalogues before they are compiled", ("*.po",)),
    Rule(
        "catalogues of other languages",
        ("*/locale/*/LC_MESSAGES/*.mo",),
        tuple(f"*/locale/{each}*" for each in LANGUAGES),
    ),
    Rule(
        "services of AWS beside its buckets",
        ("botocore/data/*/*", "boto3/data/*/*"),
        tuple(f"*/data/{each}/*" for each in SERVICES),
    ),
    Rule("Arrow over networks", ("pyarrow/*flight*", "pyarrow/_s3fs.*", "pyarrow/libarrow_s3.*")),
    Rule(
        "copies of Arrow's libraries, under names that nothing links to",
        ("pyarrow/libarrow_python*.so", "pyarrow/libarrow_python*.so.*.*.*"),
    ),
)


def packages_of(environment: Path) -> Path:
    """Its site-packages."""
    (found,) = environment.glob("lib/python3*/site-packages")
    return found


def fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, each) for each in patterns)


def rule_of(name: str) -> Rule | None:
    """The rule by which a file goes; its name is that below site-packages."""
    found = (each for each in RULES if fits(name, each.gone) and not fits(name, each.kept))
    return next(found, None)


def slim(packages: Path) -> Iterator[tuple[str, int]]:
    """Removes files by the rules; each rule and the bytes that it freed."""
    freed = {rule.what: 0 for rule in RULES}
    for path in sorted(each for each in packages.rglob("*") if each.is_file()):
        if rule := rule_of(path.relative_to(packages).as_posix()):
            freed[rule.what] += path.lstat().st_size
            path.unlink()
    for folder in sorted(packages.rglob("*"), reverse=True):
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()
    yield from freed.items()


def loads(library: Path) -> bool:
    """Whether the system's loader takes it, tried in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            ctypes.CDLL(str(library))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def libraries(packages: Path) -> Iterator[Path]:
    """Those that may be stripped."""
    for path in sorted(packages.rglob("*.so*")):
        if path.is_symlink() or not path.is_file():
            continue
        if fits(path.relative_to(packages).as_posix(), NOT_STRIPPED):
            continue
        with path.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path


def strip(packages: Path) -> int:
    """Takes symbols for debuggers out of shared libraries; the bytes that this freed.

    One that loads no more stays as it was: strip spoils some that were changed after linking.
    """
    freed = 0
    for path in libraries(packages):
        whole, loaded = path.read_bytes(), loads(path)
        subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)
        if loaded and not loads(path):
            path.write_bytes(whole)
        freed += len(whole) - path.stat().st_size
    return freed


def main() -> None:
    packages = packages_of(Path(sys.argv[1]))
    for what, freed in slim(packages):
        print(f"{freed / 1e6:6.1f} MB {what}")
    if shutil.which("strip"):
        print(f"{strip(packages) / 1e6:6.1f} MB symbols for debuggers")


if __name__ == "__main__":
    main()
