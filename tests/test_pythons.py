"""Which Pythons Earnest runs on: pyproject.toml is the source, the other files repeat it."""

import re
import tomllib

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from tools import wheels
from tools.locks import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SUPPORTED = [
    version
    for minor in range(30)
    if f"{(version := f'3.{minor}')}.0" in SpecifierSet(PROJECT["project"]["requires-python"])
]


def test_classifiers_and_the_look_for_wheels_name_the_same_versions():
    listed = [
        each.rpartition(" :: ")[2]
        for each in PROJECT["project"]["classifiers"]
        if each.startswith("Programming Language :: Python :: ")
    ]
    assert listed == list(wheels.PYTHONS) == SUPPORTED


def test_make_takes_the_same_versions_and_says_so():
    text = (ROOT / "Makefile").read_text()
    first, last = SUPPORTED[0], SUPPORTED[-1]
    low, high = first.replace(".", ", "), last.replace(".", ", ")
    assert f"not ({low}) <= sys.version_info[:2] <= ({high})" in text
    assert f"Earnest needs Python {first} to {last}." in text


def test_style_types_and_locks_are_those_of_the_oldest():
    oldest = SUPPORTED[0]
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    assert PROJECT["tool"]["mypy"]["python_version"] == oldest
    assert f"--universal --python-version {oldest} " in (ROOT / "Makefile").read_text()


def test_two_versions_are_tested_elsewhere_the_oldest_in_full():
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    versions = {
        name: next(
            step["with"]["python-version"] for step in flow["jobs"][name]["steps"] if "with" in step
        )
        for name in ("all", "most")
    }
    assert versions["all"] == SUPPORTED[0]
    assert versions["most"] in SUPPORTED[1:]


LOCK = """# head
first==1.0 \
    --hash=sha256:aa
second==2.0 ; sys_platform == 'linux' \
    --hash=sha256:bb
"""


def test_packages_without_a_wheel_are_found_one_after_another(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def resolve(entries: str, python: str, platform: str) -> str:
        asked.append(re.findall(r"^(\w+)==", entries, re.M))
        left = asked[-1]
        return (
            f"error: Because {left[0]}=={len(left)}.0 has no usable wheels and you" if left else ""
        )

    monkeypatch.setattr(wheels, "resolve", resolve)
    assert list(wheels.missing(LOCK, "3.14", "any")) == ["first==2.0", "second==1.0"]
    assert asked == [["first", "second"], ["second"], []]


def test_another_failure_is_not_taken_for_a_missing_wheel(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wheels, "resolve", lambda *given: "error: no network")
    with pytest.raises(wheels.WheelsError, match=r"Python 3\.14, any: error: no network"):
        list(wheels.missing(LOCK, "3.14", "any"))
