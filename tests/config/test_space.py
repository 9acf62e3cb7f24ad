"""A Space starts from the image of a lab, keeps backups on its bucket and restores the newest."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml
from django.test import Client

from listening.common.command_name import CODE
from tests.config.helpers import PATIENCE_S, free_port, own_folder, wait_for

SPACE = CODE / "deploy" / "space"
NOBODY = 65534
# Stands in for Earnest: `manage.py backup -`, `manage.py restore FILE`, and a server that runs.
DOUBLE = """#!/bin/sh
echo "$*" >> "$CALLS"
case "$2" in
backup) echo "rows $(cat "$EARNEST_VAR/rows")" ;;
restore) read -r word rows < "$3"; [ "$word" = rows ] && echo "$rows" > "$EARNEST_VAR/rows" ;;
config.run.supervisor)
    trap 'exit 0' TERM
    [ -e "$EARNEST_VAR/rows" ] || echo 0 > "$EARNEST_VAR/rows"
    echo running >> "$CALLS"
    while :; do sleep 0.05; done ;;
esac
"""


class Space:
    """A Space with a disk, a bucket and a double of Python."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.var, self.bucket = folder, folder / "var", folder / "bucket"
        for each in (self.var, self.bucket):
            each.mkdir()
        (folder / "python").write_text(DOUBLE)
        (folder / "python").chmod(0o755)

    def start(self, **variables: str) -> subprocess.Popen[str]:
        environment = {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "CALLS": str(self.folder / "calls"),
            "EARNEST_VAR": str(self.var),
            "BACKUPS": str(self.bucket),
            "SPACE_HOST": "lab-listening.hf.space",
            **variables,
        }
        words = ["sh", str(SPACE / "start.sh")]
        return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)

    def calls(self) -> list[str]:
        file = self.folder / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def run_and_stop(self, **variables: str) -> None:
        starts = len(self.supervisors())
        with self.start(**variables) as process:
            wait_for(lambda: process.poll() is not None or len(self.supervisors()) > starts)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0, process.stderr and process.stderr.read()

    def supervisors(self) -> list[str]:
        return [call for call in self.calls() if call == "running"]

    def refusal(self, **variables: str) -> str:
        with self.start(**variables) as process:
            assert process.wait(PATIENCE_S) == 1
            assert process.stderr is not None
            return process.stderr.read()

    def backups(self) -> list[str]:
        return sorted(path.name for path in self.bucket.iterdir())


@pytest.fixture
def space(tmp_path: Path) -> Space:
    return Space(tmp_path)


def test_a_space_needs_a_first_password(space: Space):
    for short in ({}, {"RESEARCHER_PASSWORD": "too-short"}):
        assert "RESEARCHER_PASSWORD of at least 12" in space.refusal(**short)
    space.run_and_stop(RESEARCHER_PASSWORD="quiet-otter-harbour")
    login = (space.var / "researcher-login.txt").read_text()
    assert login == "user: researcher\npassword: quiet-otter-harbour\n"


def test_a_restart_on_an_empty_disk_restores_the_newest_backup_that_is_whole(space: Space):
    for day, text in enumerate(["rows 1", "rows 2", "rows 3", "cut off"], 1):
        (space.bucket / f"earnest-2026010{day}T000000.tar").write_text(text)
    space.run_and_stop()
    restores = [call.rpartition("-")[2][:8] for call in space.calls() if " restore " in call]
    assert restores == ["20260104", "20260103"]
    assert (space.var / "rows").read_text() == "3\n"
    kept = space.backups()
    assert len(kept) == 3
    assert (space.bucket / kept[-1]).read_text() == "rows 3\n"  # written as the Space stopped
    assert kept[0] == "earnest-20260103T000000.tar"


def test_a_space_whose_backups_cannot_be_read_does_not_start_empty(space: Space):
    (space.bucket / "earnest-20260101T000000.tar").write_text("cut off")
    for _ in range(2):  # nor when it is started again on the same disk
        assert "can be restored" in space.refusal(RESEARCHER_PASSWORD="quiet-otter-harbour")
    assert space.backups() == ["earnest-20260101T000000.tar"]


def test_a_restart_that_has_kept_the_disk_restores_nothing(space: Space):
    space.run_and_stop(RESEARCHER_PASSWORD="quiet-otter-harbour")
    (space.var / "rows").write_text("7\n")
    space.run_and_stop()
    assert not [call for call in space.calls() if " restore " in call]
    assert (space.bucket / space.backups()[-1]).read_text() == "rows 7\n"


# --- The files of the Space ----------------------------------------------------------------------


def test_the_space_is_the_image_of_a_lab_under_account_1000():
    recipe = (CODE / "deploy" / "Containerfile").read_text()
    (port,) = re.findall(r"EARNEST_PORT=(\d+)", recipe)
    head = yaml.safe_load((SPACE / "README.md").read_text().split("---")[1])
    assert (head["sdk"], head["app_port"]) == ("docker", int(port))
    tail = (SPACE / "Dockerfile").read_text()
    (parent,) = re.findall(r"^FROM (\w+)", tail, re.M)
    assert f" AS {parent}\n" in recipe
    assert re.findall(r"^USER (\w+)$", tail, re.M)[-1] == "1000"


@pytest.fixture
def account() -> dict[str, int]:
    """The words for `subprocess` that start Python as nobody, where nobody may run this Python."""
    words = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
    try:
        subprocess.run([sys.executable, "-c", ""], check=True, **words)
    except (OSError, subprocess.CalledProcessError):
        words = {}
    return words


@pytest.mark.soak
def test_a_space_answers_and_comes_back_without_a_home(account: dict[str, int]):
    """Without a home or another place to write than the disk and the bucket."""
    with own_folder() as folder:
        for name in ("one", "two", "bucket"):
            (folder / name).mkdir()
            os.chown(folder / name, account.get("user", -1), account.get("group", -1))
        kept = [_start_and_stop(folder, folder / name, account) for name in ("one", "two")]
    assert kept[0] == kept[1]  # the key of the first start came back by the bucket


def _start_and_stop(folder: Path, var: Path, account: dict[str, int]) -> str:
    port = free_port()
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": "/nonexistent",
        "EARNEST_VAR": str(var),
        "EARNEST_PORT": str(port),
        "EARNEST_DEMO": "0",
        "BACKUPS": str(folder / "bucket"),
        "SPACE_HOST": "lab-listening.hf.space",
        "RESEARCHER_PASSWORD": "quiet-otter-harbour",
    }
    words = ["sh", str(SPACE / "start.sh")]
    with subprocess.Popen(words, env=environment, cwd=CODE, **account) as process:
        wait_for(lambda: process.poll() is not None or _answers(port))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    return (var / "secret_key").read_text()


def _answers(port: int) -> bool:
    try:
        return bool(urlopen(f"http://127.0.0.1:{port}/livez", timeout=5).status == 200)
    except OSError:
        return False


# --- In the frame of another site ----------------------------------------------------------------

FRAMED = {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "cross-site"}


@pytest.mark.django_db
def test_a_frame_of_the_site_that_is_named_holds_a_link_and_nothing_else(settings):
    settings.EARNEST_FRAME_ANCESTORS = ["https://huggingface.co"]
    settings.EARNEST_PUBLIC_URL = "https://lab-listening.hf.space"
    shown = Client(headers=FRAMED).get("/studies/")
    assert "frame-ancestors https://huggingface.co" in shown["Content-Security-Policy"]
    assert 'href="https://lab-listening.hf.space/" target="_blank"' in shown.text
    assert "<form" not in shown.text
    own = Client(headers=FRAMED | {"Sec-Fetch-Site": "same-origin"}).get("/login/")
    for other in (own, Client().get("/login/")):
        assert "frame-ancestors 'none'" in other["Content-Security-Policy"]


def test_no_site_may_frame_earnest_unless_it_is_named():
    shown = Client(headers=FRAMED).get("/login/")
    assert "frame-ancestors 'none'" in shown["Content-Security-Policy"]
