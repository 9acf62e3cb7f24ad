"""A start waits for a database that dies meanwhile, and ends at a mistake."""

import json
from pathlib import Path

import pytest
from django.db import OperationalError

from config.run import preparation
from config.run.embedded_servers import EmbeddedError
from config.run.supervisor import StartError, Supervisor


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    made = Supervisor()
    made.var = tmp_path
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "prepare.log").write_text("why\n")
    monkeypatch.setattr(made, "wait", lambda seconds: pauses.append(seconds))
    pauses.clear()
    return made


pauses: list[float] = []


def statuses(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, *given: int) -> None:
    left = list(given)

    def once(result: Path, log: Path) -> int:
        status = left.pop(0)
        if status == 0:
            result.write_text(json.dumps({"path": "/", "study": ""}))
        return status

    monkeypatch.setattr(supervisor, "prepare_once", once)


def test_a_database_that_is_away_is_waited_for_with_growing_pauses(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    statuses(supervisor, monkeypatch, *[preparation.AWAY_STATUS] * 7, 0)
    assert supervisor.prepare() == {"path": "/", "study": ""}
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]
    assert capsys.readouterr().out.count("waits for a server or for space: why") == 7


def test_a_mistake_ends_the_start(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch):
    statuses(supervisor, monkeypatch, preparation.AWAY_STATUS, 1)
    with pytest.raises(StartError, match="preparation failed"):
        supervisor.prepare()


def test_a_refusal_is_its_last_line(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch):
    statuses(supervisor, monkeypatch, preparation.REFUSED_STATUS)
    with pytest.raises(StartError, match=r"^why$"):
        supervisor.prepare()


@pytest.mark.parametrize("error", [OperationalError("gone"), EmbeddedError("ended 5 times")])
def test_what_may_work_later_has_a_status_of_its_own(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(preparation, "prepare", fail)
    assert preparation.main(tmp_path / "prepared.json") == preparation.AWAY_STATUS


def test_a_mistake_is_raised_with_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise KeyError("no such field")

    monkeypatch.setattr(preparation, "prepare", fail)
    with pytest.raises(KeyError):
        preparation.main(tmp_path / "prepared.json")
