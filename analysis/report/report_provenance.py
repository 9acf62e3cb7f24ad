"""Where a report comes from: code revision, package versions, date."""

from __future__ import annotations

import platform
import subprocess
import tomllib
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from analysis.report.part import Part
from listening.common.plugins import packages_of
from listening.methods import Method

PACKAGES = ("numpy", "pandas", "scipy")
WHERE_INSTALLED = ("arviz", "matplotlib", "nutpie", "pymc")  # models and figures that ask for them
ROOT = Path(__file__).resolve().parents[2]


@cache
def code_revision() -> str:
    """What ``git describe`` says of this code, or the package's version without a repository."""
    if (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--tags"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return package_version()
        if done.returncode == 0:
            return done.stdout.strip()
    return package_version()


def package_version() -> str:
    """The version of Earnest, from its project file or from its installed metadata."""
    project = ROOT / "pyproject.toml"
    if project.exists():
        return "earnest " + str(tomllib.loads(project.read_text("utf-8"))["project"]["version"])
    try:
        return "earnest " + version("earnest")
    except PackageNotFoundError:
        return "earnest, version unknown"


def package_versions() -> dict[str, str]:
    """The versions of Python, of the packages that numbers and figures come from, and of plug-ins.

    Read from their metadata: nothing is imported.
    """
    versions = {"python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    for name in WHERE_INSTALLED:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions | _plugin_versions()


@cache
def _plugin_versions() -> dict[str, str]:
    return packages_of(Method.registry, Part.registry)


def now() -> str:
    """The present moment in UTC (ISO 8601, to the second)."""
    return datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
