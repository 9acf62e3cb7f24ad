"""`make audit`: licences nobody listed, weaknesses nobody mended, networks that are away."""

import json
import threading
import tomllib
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.config.helpers import free_port
from tools import advisories, audit, sbom
from tools.advisories import AcceptedWeakness, Weakness, expired_entries, judge_weaknesses
from tools.licences import Exempt, is_admitted, refused_packages
from tools.locks import LockedPackage

ALLOWED = frozenset({"MIT", "Apache-2.0", "BSD License"})
EXEMPT = Exempt(("nvidia-*",), ("Other/Proprietary License",), "CUDA")
OLD = Weakness("django", "5.2.0", ("GHSA-1", "CVE-1"), ("5.2.1",))
BORNE = AcceptedWeakness("CVE-1", "django", "not reached", date(2026, 12, 1))
BOOK = 'allowed = ["MIT"]\n'
LOCK = f"""# a small one
django==5.2.0 \\
    --hash=sha256:{"0" * 64}
tomli-w==1.2.0 ; sys_platform != 'amiga' \\
    --hash=sha256:{"1" * 64}
"""
ADVISORY = {
    "id": "GHSA-1",
    "aliases": ["CVE-1"],
    "summary": "A hole",
    "affected": [
        {
            "package": {"name": "django", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "5.2.1"}]}],
        }
    ],
}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("MIT", True),
        ("BSD License", True),
        ("MIT AND Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("GPL-2.0-or-later", False),
        ("CC-BY-NC-4.0", False),
        ("ask me (later", False),
        ("nothing", False),
    ],
)
def test_a_licence_is_admitted_when_each_part_that_binds_is_listed(statement, expected):
    assert is_admitted(statement, ALLOWED) is expected


def component(name: str, *ids: str) -> dict[str, Any]:
    return {"name": name, "licenses": [{"license": {"name": each}} for each in ids]}


def test_packages_that_nobody_listed_are_named_with_what_they_state():
    bill = {
        "components": [
            component("Good", "License :: OSI Approved :: BSD License", "MIT"),
            component("silent"),
            component("half", "MIT", "AGPL-3.0-only"),
            component("nvidia-x", "License :: Other/Proprietary License"),
            component("nvidia-y", "Something else since this year"),
        ]
    }
    assert refused_packages(bill, ALLOWED, [EXEMPT]) == {
        "silent": "nothing",
        "half": "MIT and AGPL-3.0-only",
        "nvidia-y": "Something else since this year",
    }


def test_a_weakness_with_a_mended_version_is_wrong_unless_it_is_borne():
    hopeless = Weakness("x", "1", ("GHSA-2",), ())
    assert judge_weaknesses([OLD, hopeless], []) == (
        ["django 5.2.0: GHSA-1, CVE-1; fixed in 5.2.1"],
        ["x 1: GHSA-2; no version fixes it"],
    )
    wrong, told = judge_weaknesses([OLD], [BORNE])
    assert (wrong, len(told)) == ([], 1)
    assert judge_weaknesses([Weakness("other", "1", ("CVE-1",), ("2",))], [BORNE])[0] != []


def test_what_was_borne_too_long_is_wrong():
    assert expired_entries([BORNE], date(2026, 12, 1)) == []
    assert expired_entries([BORNE], date(2026, 12, 2)) == [
        "django: CVE-1 was accepted until 2026-12-01"
    ]


class Service(BaseHTTPRequestHandler):
    """Speaks like OSV, and knows one weakness."""

    asked: list[str]

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(query["package"]["name"])
        known = query["package"]["name"] == "django" and query["version"] == "5.2.0"
        body = json.dumps({"vulns": [ADVISORY]} if known else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    Service.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/query"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small locks and a book; licences are others' business."""
    (tmp_path / "run.lock").write_text(LOCK)
    (tmp_path / "dev.lock").write_text("")
    (tmp_path / "audit.toml").write_text(BOOK)
    monkeypatch.setattr(audit, "RUN_LOCK", tmp_path / "run.lock")
    monkeypatch.setattr(audit, "DEV_LOCK", tmp_path / "dev.lock")
    monkeypatch.setattr(audit, "BOOK", tmp_path / "audit.toml")
    monkeypatch.setattr(audit, "licences_wrong", lambda book: [])
    monkeypatch.setattr(audit, "today", lambda: date(2026, 11, 23))
    return tmp_path


def run(house: Path, url: str) -> int:
    return audit.main(["--daily", str(house / "var" / "audited.json"), "--osv-url", url])


@pytest.mark.slow
def test_pip_audit_asks_the_service_for_each_locked_package(house: Path, service: str):
    found = advisories.ask([house / "run.lock", house / "dev.lock"], service, house)
    assert [str(each) for each in found] == ["django 5.2.0: CVE-1, GHSA-1; fixed in 5.2.1"]
    assert Service.asked == ["pip", "django", "tomli-w"]


def test_a_weakness_is_red_until_it_is_borne_and_what_is_clean_is_asked_once_a_day(
    house: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(advisories, "ask", lambda locks, url, cache: asked.append(url) or [OLD])
        for times in (1, 2):  # what is wrong is asked again
            assert run(house, "one") == 1
            assert capsys.readouterr().err == "django 5.2.0: GHSA-1, CVE-1; fixed in 5.2.1\n"
            assert len(asked) == times

        entry = 'id = "CVE-1"\npackage = "django"\nreason = "not reached"\nuntil = 2026-12-01\n'
        (house / "audit.toml").write_text(f"{BOOK}[[weakness]]\n{entry}")
        assert run(house, "two") == 0
        assert "accepted until 2026-12-01: not reached" in capsys.readouterr().out
        assert run(house, "three") == 0
        assert capsys.readouterr().out == "audited today, and nothing has changed since\n"
        assert asked == ["one", "one", "two"]

    monkeypatch.setattr(audit, "today", lambda: date(2026, 12, 2))
    assert run(house, f"http://127.0.0.1:{free_port()}/") == 1  # without a network, too
    assert "was accepted until 2026-12-01" in capsys.readouterr().err


def test_without_the_service_one_line_says_so_and_nothing_is_red(
    house: Path, capsys: pytest.CaptureFixture[str]
):
    for _ in range(2):  # and nothing is remembered as audited
        assert run(house, f"http://127.0.0.1:{free_port()}/") == 0
        said = capsys.readouterr()
        assert said.out.startswith("not audited: 127.0.0.1 does not answer (")
        assert said.out.count("\n") == 1
        assert said.err == ""


@pytest.mark.soak  # `make check` and `make sbom` ask the same
def test_the_bill_is_valid_and_its_licences_are_listed(monkeypatch: pytest.MonkeyPatch):
    bill = sbom.bill_of_running()
    names = {each["name"] for each in bill["components"]}
    assert {"Django", "torch", "silero-vad", "soxr"} <= names
    assert not {"pytest", "mypy", "cyclonedx-bom"} & names
    assert sbom.mistakes(bill) == ""
    assert sbom.mistakes({**bill, "components": [{"type": "wheel"}]}) != ""
    monkeypatch.setattr(sbom, "bill_of_running", lambda: bill)
    assert audit.licences_wrong(tomllib.loads(audit.BOOK.read_text())) == []


def test_the_bill_has_what_runs_here_and_not_what_checks_it(monkeypatch: pytest.MonkeyPatch):
    lock = [
        LockedPackage("django", "5.2", True, ("0",)),
        LockedPackage("asgiref", "3", True, ("0",)),
        LockedPackage("tzdata", "1", False, ("0",)),
    ]
    monkeypatch.setattr(sbom, "locked_packages", lambda path: lock)
    monkeypatch.setattr(sbom, "pins", lambda path: {"django": "5.2"})
    parts = [("Django", "5.002"), ("pytest", "9"), ("asgiref", "3")]  # 5.2, written otherwise
    bill = {
        "metadata": {"component": {"bom-ref": "root"}},
        "components": [{"name": n, "version": v, "bom-ref": n} for n, v in parts],
        "dependencies": [
            {"ref": "Django", "dependsOn": ["asgiref"]},
            {"ref": "asgiref"},
            {"ref": "pytest", "dependsOn": ["Django"]},
            {"ref": "root"},
        ],
    }
    kept = sbom.only_for_running(bill)
    assert [each["name"] for each in kept["components"]] == ["asgiref", "Django"]
    assert kept["dependencies"] == [
        {"ref": "root", "dependsOn": ["Django"]},
        {"ref": "Django", "dependsOn": ["asgiref"]},
        {"ref": "asgiref", "dependsOn": []},
    ]


def test_an_environment_that_is_not_the_locked_one_is_said(monkeypatch: pytest.MonkeyPatch):
    lock = [
        LockedPackage("django", "5.2", True, ("0",)),
        LockedPackage("tzdata", "1", False, ("0",)),
    ]
    monkeypatch.setattr(sbom, "locked_packages", lambda path: lock)
    with pytest.raises(sbom.SbomError, match=r"django 5.2 \(here: 5.1\)"):
        sbom.only_for_running({"components": [{"name": "Django", "version": "5.1"}]})
