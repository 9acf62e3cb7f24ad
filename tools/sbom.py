"""A CycloneDX bill of what Earnest runs on, from the environment: python -m tools.sbom FILE."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.install_rest import has_gpu, wanted_here
from tools.locks import ROOT, RUN_LOCK, locked_packages, pins

COMMAND = ("-W", "ignore", "-m", "cyclonedx_py", "environment", "--pyproject", "pyproject.toml")
OPTIONS = ("--sv", "1.6", "--of", "JSON", "--output-reproducible", "--no-validate", "-o", "-")


class SbomError(Exception):
    """The environment is not what the lock says; the message tells the difference."""


def whole_environment() -> dict[str, Any]:
    """What cyclonedx-py sees here, tools of tests and checks included."""
    command = [sys.executable, *COMMAND, *OPTIONS, sys.prefix]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SbomError(done.stderr.strip())
    bill: dict[str, Any] = json.loads(done.stdout)
    return bill


def only_for_running(bill: dict[str, Any]) -> dict[str, Any]:
    """Leaves what requirements.lock names for this machine, and says when that is not there."""
    named: dict[str, Any] = {canonicalize_name(each["name"]): each for each in bill["components"]}
    locked = [each for each in locked_packages(RUN_LOCK) if each.wanted_here]
    needed = {each.name for each in wanted_here(locked, has_gpu())}
    wanted = {each.name: each.version for each in locked if each.name in needed | named.keys()}
    wrong = [
        f"{name} {version} (here: {named[name]['version'] if name in named else 'not installed'})"
        for name, version in wanted.items()
        if name not in named or Version(named[name]["version"]) != Version(version)
    ]
    if wrong:
        raise SbomError(
            f"The environment is not that of requirements.lock: {', '.join(wrong)}. Install it "
            "with: rm .venv/*.stamp; make check"
        )
    components = {named[name]["bom-ref"]: named[name] for name in sorted(wanted)}
    root = bill["metadata"]["component"]["bom-ref"]
    direct = pins(ROOT / "requirements.txt")
    arrows = [
        {**each, "dependsOn": [ref for ref in each.get("dependsOn", ()) if ref in components]}
        for each in bill["dependencies"]
        if each["ref"] in components
    ]
    own = {"ref": root, "dependsOn": [named[name]["bom-ref"] for name in sorted(direct)]}
    return {**bill, "components": list(components.values()), "dependencies": [own, *arrows]}


def mistakes(bill: dict[str, Any]) -> str:
    """What CycloneDX's own schema finds wrong; empty when nothing."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))
    return str(error) if error else ""


def bill_of_running() -> dict[str, Any]:
    return only_for_running(whole_environment())


def write(target: Path, version: str = "") -> int:
    """The bill of this environment, of Earnest in this version; how many components it names."""
    bill = bill_of_running()
    if version:
        bill["metadata"]["component"]["version"] = version
    if wrong := mistakes(bill):
        raise SbomError(wrong)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(bill, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return len(bill["components"])


def main() -> int:
    target = Path(sys.argv[1])
    try:
        count = write(target)
    except SbomError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} components in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
