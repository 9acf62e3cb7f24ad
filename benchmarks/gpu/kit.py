"""Packs what a GPU machine lacks beside this repository, torch and transformers: `make gpu-kit`.

    python -m benchmarks.gpu.kit build/gpu-kit

Small packages by the versions and hashes of the locks, for Python 3.11 to 3.13 on x86-64; of some
only what is used. `bash build/gpu-kit/run` then needs no network: it unpacks what the machine's
Python does not have into a folder of its own, and starts `python -m benchmarks.gpu`.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
PYTHONS = ("3.11", "3.12", "3.13")
LIMIT_BYTES = 30 * 2**20
# Package: what is taken of its wheel (a pattern of paths; empty: all), and the name to import
PACKAGES = {
    "accelerate": ("", "accelerate"),
    "cffi": ("", "_cffi_backend"),
    "distillmos": ("", "distillmos"),
    "Gammatone": ("", "gammatone"),
    "hypothesis": ("", "hypothesis"),
    "iniconfig": ("", "iniconfig"),
    "jiwer": ("", "jiwer"),
    "peft": ("", "peft"),
    "pluggy": ("", "pluggy"),
    "protobuf": ("", "google.protobuf"),
    "psutil": ("", "psutil"),
    "pytest": ("", "pytest"),
    "rapidfuzz": (r"\.py$", "rapidfuzz"),  # its C++ is replaced by its own Python
    "silero-vad": (r"\.py$|silero_vad\.jit$", "silero_vad"),
    "sortedcontainers": ("", "sortedcontainers"),
    "soundfile": ("", "soundfile"),
    "soxr": ("", "soxr"),
    "torchmetrics": ("", "torchmetrics"),
    "lightning-utilities": ("", "lightning_utilities"),
    "zhconv": ("", "zhconv"),
    "zhon": ("", "zhon"),
}
WITHOUT_WHEEL = ("zhconv", "zhon")


def main() -> None:
    """Write the kit, and say how large it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "packages").mkdir(parents=True)
    pins = pinned()
    lines = []
    with tempfile.TemporaryDirectory() as place:
        for name, (pattern, imported) in PACKAGES.items():
            if name in WITHOUT_WHEEL:
                found = [from_environment(name, Path(place))]
            else:
                found = wheels(name, pins[name.lower()], Path(place))
            for wheel in found[:1] if pattern else found:  # what is cut out fits every Python
                packed = pack(wheel, pattern, folder / "packages")
                digest = hashlib.sha256(packed.read_bytes()).hexdigest()
                lines.append(f"{digest}  {imported}  {packed.name}")
    (folder / "packages.txt").write_text("\n".join(sorted(set(lines))) + "\n", encoding="utf-8")
    for name in ("run", "unpack.py"):
        shutil.copy(Path(__file__).parent / f"kit_{name}", folder / name)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / 2**20:.1f} MiB, {len(set(lines))} packages")
    if size >= LIMIT_BYTES:
        raise SystemExit(f"The kit must stay below {LIMIT_BYTES / 2**20:.0f} MiB.")


def pinned() -> dict[str, str]:
    """Return the lock's lines of each package, version and hashes, by its name in lower case."""
    found = {}
    for lock in LOCKS:
        text = (ROOT / lock).read_text(encoding="utf-8")
        for entry in re.split(r"\n(?=\S)", text):
            if match := re.match(r"([A-Za-z0-9._-]+)==", entry):
                found[match[1].lower()] = re.sub(r" ;[^\\\n]*", "", entry)
    return found


def wheels(name: str, pin: str, place: Path) -> list[Path]:
    """Return the wheels of a package, one for all Pythons or one for each."""
    requirement = place / "requirement.txt"
    requirement.write_text(pin, encoding="utf-8")
    target = place / name
    for python in PYTHONS:
        platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in (39, 34, 28, 27, 24, 17)]
        command = [
            sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download",
            "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:",
            f"--python-version={python}", "--implementation=cp", *platforms,
            "--platform=manylinux2014_x86_64", "--platform=manylinux1_x86_64",
            "--dest", str(target), "-r", str(requirement),
        ]  # fmt: skip
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name} for Python {python}: {done.stderr[-500:]}")
    return sorted(target.iterdir())


def pack(wheel: Path, pattern: str, folder: Path) -> Path:
    """Copy a wheel, or only the files of it whose paths match; return what was written."""
    if not pattern:
        return Path(shutil.copy(wheel, folder))
    version = wheel.name.split("-")[1]
    packed = folder / f"{wheel.name.split('-')[0]}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as whole:
        names = [entry.filename for entry in whole.infolist()]
        chosen = [n for n in names if re.search(pattern, n) or ".dist-info/" in n]
        write_zip(packed, ((name, whole.read(name)) for name in chosen))
    return packed


def from_environment(name: str, folder: Path) -> Path:
    """Pack a package of Python alone that has no wheel, as it is installed here."""
    installed = distribution(name)
    files = [path for path in installed.files or () if ".." not in path.parts]
    sources = [path for path in files if path.suffix != ".pyc"]
    packed = folder / f"{name}-{installed.version}-py3-none-any.whl"
    write_zip(packed, ((str(path), Path(path.locate()).read_bytes()) for path in sources))
    return packed


def write_zip(path: Path, entries: Iterable[tuple[str, bytes]]) -> None:
    """Write files into an archive without dates, so that the same kit comes out each time."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries:
            fixed = zipfile.ZipInfo(name)
            fixed.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(fixed, content, compresslevel=9)


if __name__ == "__main__":
    main()
