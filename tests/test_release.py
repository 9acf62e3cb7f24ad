"""A release is made whole or not at all, and a wheel holds every room."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import soundfile
from setuptools import Distribution

from metrics.scoring import presets
from tools import release as releasing
from tools import release_files, sbom
from tools.locks import ROOT
from tools.packaged import (
    FILES,
    BuiltFiles,
    PackagedError,
    build,
    expected_paths,
    mistakes,
    tracked_files,
)
from tools.release import (
    Release,
    ReleaseError,
    check,
    date_changelog,
    edited_files,
    make,
)

AUDIO = ROOT / "tests" / "data" / "metrics" / "audio"
CHANGES = (
    "# Changes\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0 - 2026-01-02\n\n- All.\n"
)
PROJECT = """[project]
name = "earnest"
version = "0.1.0" # and elsewhere

[tool.x]
python_version = "3.11"
"""
CITATION = "cff-version: 1.2.0\ntitle: Earnest\nversion: 0.1.0\nlicense: Apache-2.0\n"


RECIPE = """FROM python:3.11 AS packages
FROM python:3.11 AS house
FROM house AS metrics
COPY --from=packages /opt /opt
FROM house AS web
"""


def git(root: Path, *words: str) -> None:
    named = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *named, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """Of a repository that has nothing but what a release changes."""
    files = {"CHANGELOG.md": CHANGES, "pyproject.toml": PROJECT, "CITATION.cff": CITATION}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "All")
    return Release("0.2.0", date(2026, 3, 4), root=tmp_path)


def test_the_three_files_tell_the_version_and_the_day(release: Release):
    files = edited_files(release)
    assert files["pyproject.toml"] == PROJECT.replace('"0.1.0"', '"0.2.0"')
    assert "\nversion: 0.2.0\ndate-released: 2026-03-04\nlicense" in files["CITATION.cff"]
    assert files["CHANGELOG.md"] == CHANGES.replace(
        "## Unreleased\n", "## Unreleased\n\n## 0.2.0 - 2026-03-04\n"
    )
    (release.root / "CITATION.cff").write_text(files["CITATION.cff"])
    assert (
        edited_files(release)["CITATION.cff"] == files["CITATION.cff"]
    )  # the day stands there once


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("next", "is no version"),
        ("0.2.0.dev1", "cannot be released"),
        ("0.02.0", "cannot be released"),
        ("0.0.9", "is before 0.1.0"),
        ("0.1.0", "a tag v0.1.0 already"),
    ],
)
def test_a_version_that_cannot_be_is_refused(release: Release, version: str, words: str):
    git(release.root, "tag", "v0.1.0")
    with pytest.raises(ReleaseError, match=words):
        check(Release(version, release.day, root=release.root))


def test_a_tree_that_is_not_ready_is_refused(ready: Release):
    check(ready)
    with pytest.raises(ReleaseError, match="This is main; releases are made on stable"):
        check(Release("0.2.0", ready.day, "stable", ready.root))
    (ready.root / "new.txt").write_text("")
    with pytest.raises(ReleaseError, match=r"(?s)not committed are:.*new\.txt"):
        check(ready)
    with pytest.raises(ReleaseError, match="nothing below Unreleased"):
        date_changelog(CHANGES.replace("- A thing.\n", ""), "0.2.0", "2026-03-04")
    with pytest.raises(ReleaseError, match=r"a part about 0\.1\.0 already"):
        date_changelog(CHANGES, "0.1.0", "2026-03-04")


@pytest.fixture
def ready(release: Release, monkeypatch: pytest.MonkeyPatch) -> Iterator[Release]:
    """With a key, a builder of images that writes down what it was told, and a built wheel."""
    gpg = shutil.which("gpg")
    if gpg is None:
        pytest.skip("needs gpg, of the package gnupg")
    (release.root / "deploy").mkdir()
    (release.root / "deploy" / "Containerfile").write_text(RECIPE)
    (release.root / ".gitignore").write_text("build/\n")
    git(release.root, "add", ".")
    git(release.root, "commit", "-qm", "More")
    programs = release.root / "build" / "bin"
    programs.mkdir(parents=True)
    docker = programs / "docker"
    docker.write_text(f'#!/bin/sh\necho "$@" >> {programs}/told\necho sha256:0$#\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "t")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "t@example.org")

    def built(root: Path) -> BuiltFiles:
        assert 'version = "0.2.0"' in (root / "pyproject.toml").read_text()
        folder = root / "build" / "release"
        folder.mkdir()
        made = BuiltFiles(folder / "earnest-0.2.0.tar.gz", folder / "earnest-0.2.0.whl")
        for path in (made.sdist, made.wheel):
            path.write_bytes(path.name.encode())
        return made

    bill = {"metadata": {"component": {}}, "components": []}
    monkeypatch.setattr(releasing, "build", built)
    monkeypatch.setattr(releasing, "mistakes", lambda *given: [])
    monkeypatch.setattr(sbom, "bill_of_running", lambda: bill)
    monkeypatch.setattr(sbom, "mistakes", lambda given: "")
    with tempfile.TemporaryDirectory() as home:  # a short path: its agent listens in it
        monkeypatch.setenv("GNUPGHOME", home)
        quiet = [gpg, "--batch", "--quiet", "--passphrase", ""]
        subprocess.run([*quiet, "--quick-gen-key", "t@example.org"], check=True)
        yield replace(release, key="t@example.org")
        subprocess.run(["gpgconf", "--kill", "all"], check=True)


def test_one_command_commits_tags_builds_and_signs(ready: Release):
    told = make(ready)
    folder = ready.root / "build" / "release"
    subprocess.run(["gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS"], cwd=folder, check=True)
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True)
    summed = {line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert summed == {path.name for path in folder.iterdir()} - {"SHA256SUMS", "SHA256SUMS.asc"}
    assert summed >= {"images.txt", "earnest-0.2.0.cdx.json", "earnest-0.2.0.whl"}
    bill = json.loads((folder / "earnest-0.2.0.cdx.json").read_text())
    assert bill["metadata"]["component"]["version"] == "0.2.0"
    revision = ready.git("rev-parse", "v0.2.0^{commit}")
    commands = (ready.root / "build" / "bin" / "told").read_text()
    assert re.findall(r"build .*--target (\S+) ", commands) == ["metrics", "web"]
    assert commands.count(f"REVISION={revision}") == 2
    assert "earnest:0.2.0-web" in (folder / "images.txt").read_text()
    assert "## 0.2.0 - 2026-03-04" in ready.git("show", "v0.2.0:CHANGELOG.md")
    assert "docker push REGISTRY/earnest:0.2.0-web" in told
    assert "twine upload build/release/earnest-0.2.0.tar.gz build/release/earnest-0.2.0.whl" in told


@pytest.mark.parametrize("broken", ["build", "mistakes", "images"])
def test_what_fails_leaves_everything_as_it_was(
    ready: Release, monkeypatch: pytest.MonkeyPatch, broken: str
):
    before = ready.git("log", "--format=%H")
    if broken == "build":
        monkeypatch.setattr(releasing, "build", Mock(side_effect=PackagedError("Building failed")))
    elif broken == "mistakes":
        monkeypatch.setattr(releasing, "mistakes", lambda *given: ["The wheel lacks: x.py."])
    else:
        (ready.root / "build" / "bin" / "docker").write_text(
            "#!/bin/sh\ntest $1 = info && exit\necho full >&2; exit 1\n"
        )
    with pytest.raises((ReleaseError, PackagedError), match=r"failed|x\.py|full"):
        make(ready)
    assert ready.git("log", "--format=%H") == before
    check(ready)  # clean, and no tag
    assert (ready.root / "CHANGELOG.md").read_text() == CHANGES


def test_who_cannot_sign_or_build_images_learns_it_first(
    ready: Release, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(ReleaseError, match="no secret key “ada"):
        check(replace(ready, key="ada@example.org"))
    monkeypatch.setattr(release_files, "BUILDERS", ("no-such-builder",))
    with pytest.raises(ReleaseError, match="Or: --no-images"):
        check(ready)
    check(replace(ready, has_images=False))


def test_a_dry_run_changes_nothing(
    ready: Release, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(
        releasing, "Release", lambda *given, **more: Release(*given, ready.root, **more)
    )
    how = ["--sign", ready.key, "--no-images", "--dry-run"]
    assert releasing.main(["0.2.0", *how]) == 0
    assert "Nothing was changed" in capsys.readouterr().out
    assert ready.git("status", "--porcelain") == ""
    assert releasing.main(["0.0.1", *how]) == 1
    assert "No release was made. 0.0.1 is before" in capsys.readouterr().err


def test_a_wheel_with_too_little_or_too_much_is_named(release: Release, tmp_path: Path):
    for name in ("config/__init__.py", "templates/a.html", "tests/__init__.py"):
        (release.root / name).parent.mkdir()
        (release.root / name).write_text("")
    git(release.root, "add", ".")
    wheel = tmp_path / "w.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("config/__init__.py", "")
        archive.writestr("tests/__init__.py", "")
        archive.writestr("earnest-0.1.0.dist-info/METADATA", "Name: earnest\nVersion: 0.1.0\n")
        archive.writestr("earnest-0.1.0.dist-info/entry_points.txt", "")
    assert mistakes(release.root, BuiltFiles(wheel, wheel), "0.2.0") == [
        "The wheel lacks: earnest_files/templates/a.html.",
        "The wheel holds what git does not know: tests/__init__.py.",
        "The wheel says it is 0.1.0, not 0.2.0.",
        "The wheel lacks its licenses/LICENSE.",
    ]


# As in an environment that `pip install earnest[metrics]` made: only what the wheel names, and what
# that names in turn, can be imported.
INSTALLED = """
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

sys.path.insert(0, sys.argv.pop(1))
wanted, found = [("earnest", "metrics"), ("earnest", "")], set()
while wanted:
    name, extra = each = wanted.pop()
    if each in found:
        continue
    found.add(each)
    try:
        needs = distribution(name).requires or ()
    except PackageNotFoundError:  # such as Triton, which is not installed without a GPU
        continue
    for line in needs:
        need = Requirement(line)
        if need.marker is None or need.marker.evaluate({"extra": extra}):
            wanted += [(canonicalize_name(need.name), part) for part in ("", *need.extras)]
names = {name for name, _ in found}
brought = packages_distributions()
absent = {top for top, by in brought.items() if not names & set(map(canonicalize_name, by))}
absent -= {"packaging", "__editable___earnest_finder"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from config.run.commands import earnest
sys.exit(earnest())
"""


@pytest.mark.soak
def test_a_wheel_with_its_metrics_scores_a_clip_by_the_usual_preset(tmp_path: Path):
    made = build(ROOT, tmp_path / "release")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert mistakes(ROOT, made, version) == []
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    where = str(tmp_path / "installed")
    subprocess.run([sys.executable, *install, "--target", where, str(made.wheel)], check=True)
    clip, out = tmp_path / "clip.wav", tmp_path / "scores.jsonl"
    voice, rate_hz = soundfile.read(AUDIO / "long_same-human.flac", stop=8 * 16_000)
    soundfile.write(clip, voice, rate_hz)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("DJANGO_", "EARNEST_"))}
    env["EARNEST_VAR"] = str(tmp_path / "var")
    words = [where, "score_files", str(clip), "--preset", "fast", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", INSTALLED, *words],
        cwd=tmp_path, env=env,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    scores = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    keys = {choice.metric for choice in presets.preset("fast").choices()}
    assert keys <= {score["metric"] for score in scores}
    assert [score for score in scores if score["metric"] in keys and score["value"] is None] == []


@pytest.mark.medium
def test_every_room_and_every_file_is_told_to_the_wheel(monkeypatch: pytest.MonkeyPatch):
    """What setuptools would copy, asked without building."""
    told: dict[str, Any] = {}
    monkeypatch.chdir(ROOT)
    with monkeypatch.context() as instead:
        instead.setattr("setuptools.setup", told.update)
        runpy.run_path("setup.py")
    assert set(told["package_dir"].values()) == set(FILES)
    told["script_name"] = "setup.py"
    command = Distribution(told).get_command_obj("build_py")
    command.ensure_finalized()
    lib = Path(command.build_lib)
    copied = {Path(path).relative_to(lib).as_posix() for path in command.get_outputs()}
    wanted = expected_paths(tracked_files(ROOT))
    assert len(wanted) > 1000
    assert wanted - copied == set()
