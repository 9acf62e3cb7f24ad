"""Unpacks into a folder the packages of the kit that this Python does not have, hashes compared."""

import hashlib
import importlib.util
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def fits(wheel: str) -> bool:
    """Whether a wheel is for this Python: by its tags, a stable interface counts upwards."""
    python, interface = wheel.removesuffix(".whl").split("-")[-3:-1]
    own = sys.version_info[1]
    for tag in python.split("."):
        if tag in ("py3", "py2", f"cp3{own}"):
            return True
        if interface == "abi3" and tag.startswith("cp3") and int(tag[3:]) <= own:
            return True
    return False


def is_here(name: str) -> bool:
    """Whether this Python has a package by the name that code imports."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # of what it lies in
        return False


def main() -> None:
    """Unpack what is missing, and say what."""
    site = Path(sys.argv[1])
    entries = [line.split() for line in (HERE / "packages.txt").read_text().splitlines()]
    missing = {name for _, name, _ in entries if not is_here(name)}
    unpacked = set()
    for digest, name, wheel in entries:
        if name not in missing or name in unpacked or not fits(wheel):
            continue
        content = HERE / "packages" / wheel
        if hashlib.sha256(content.read_bytes()).hexdigest() != digest:
            raise SystemExit(f"{content} is damaged: its SHA-256 is not that of packages.txt")
        zipfile.ZipFile(content).extractall(site)
        unpacked.add(name)
    print(f"unpacked into {site}: {', '.join(sorted(unpacked)) or 'nothing'}", flush=True)
    if lacking := sorted(missing - unpacked):
        print(f"not in the kit for this Python: {', '.join(lacking)}", flush=True)


if __name__ == "__main__":
    main()
