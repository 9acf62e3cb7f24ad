"""A light installation: pages work, and what is not there is named with what brings it."""

import sys
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory
from packaging.utils import canonicalize_name

from config import command_help
from config.missing import EXTRAS, extra_of, remedy
from config.operations.unavailable import Unavailable
from tests.config.test_settings import start
from tests.factories import make_study, make_user
from tools.locks import ROOT, pins

IMPORTED_AS = {
    "protobuf": "google",
    "faster-whisper": "faster_whisper",
    "silero-vad": "silero_vad",
    "pyworld-prebuilt": "pyworld",
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_package_of_a_requirements_file_is_known_by_the_name_that_code_imports(extra: str):
    wanted = {IMPORTED_AS.get(name, name) for name in pins(ROOT / f"requirements-{extra}.txt")}
    assert set(EXTRAS[extra]) == wanted


def test_all_files_together_are_what_make_run_installs():
    parts = [pins(ROOT / f"requirements-{name}.txt") for name in ("web", *EXTRAS)]
    assert sum(map(len, parts)) == len(pins(ROOT / "requirements.txt"))
    assert not {canonicalize_name(n) for names in EXTRAS.values() for n in names} & set(parts[0])


def test_the_reason_is_found_behind_other_errors_and_nowhere_else():
    behind = ValueError("no metric")
    behind.__cause__ = ModuleNotFoundError("no torch", name="torch.nn")
    assert "requirements-metrics.txt" in remedy(behind)
    assert extra_of("pandas.core") == "analysis"
    assert remedy(ModuleNotFoundError("no x", name="unheard_of")) == remedy(ValueError()) == ""


def test_a_command_says_it_in_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pymc", None)  # as if it were not installed
    monkeypatch.setattr(command_help.Commands, "execute", lambda self: __import__("pymc"))
    with pytest.raises(SystemExit, match=r"^CommandError: The package pymc .*earnest\[bayes\]"):
        command_help.execute()


def test_scripts_get_json(rf: RequestFactory):
    request: HttpRequest = rf.get("/api/x", headers={"Accept": "application/json"})
    error = ModuleNotFoundError("no scipy", name="scipy")
    answer = Unavailable(lambda _: None).process_exception(request, error)  # type: ignore[arg-type, return-value]
    assert answer is not None
    assert (answer.status_code, b"requirements-analysis.txt" in answer.content) == (501, True)


@pytest.mark.django_db
@pytest.mark.medium
def test_a_page_says_what_it_lacks_and_the_other_pages_are_there(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    client.force_login(make_user("root", is_superuser=True, is_staff=True))
    make_study(key="light")

    def lacking(*_: Any) -> None:  # as where a page imports what was never installed
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr("analysis.web.planning_views._values", lacking)
    page = client.get("/studies/light/planning/", headers={"Accept": "text/html"})
    assert page.status_code == 501
    assert "requirements-analysis.txt" in page.content.decode()
    assert client.get("/studies/light/").status_code == 200


LIGHT = """
import sys
gone = set(sys.argv[1].split())

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in gone:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Gone())
import django
django.setup()
import config.urls
from django.core.management import get_commands, load_command_class
for name, app in get_commands().items():
    load_command_class(app, name)
from metrics.presets import shipped
print(len(shipped()))
"""


@pytest.mark.slow
def test_pages_and_commands_are_loaded_without_any_extra(tmp_path: Path):
    gone = " ".join(name for names in EXTRAS.values() for name in names)
    done = start(tmp_path, "-c", LIGHT, gone, DJANGO_SETTINGS_MODULE="config.settings")
    assert (done.returncode, int(done.stdout or 0) > 0) == (0, True), done.stderr


def test_the_version_stands_in_one_place_and_in_the_citation():
    import tomllib

    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\nlicense: {project['license']}\n" in (ROOT / "CITATION.cff").read_text()
