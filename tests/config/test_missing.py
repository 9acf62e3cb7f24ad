"""A light installation: pages work, and what is not there is named with what brings it."""

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpRequest
from django.test import Client, RequestFactory
from packaging.utils import canonicalize_name

from analysis.models import Leaderboard
from analysis.web import validity_jobs
from analysis.web.board_jobs import make_leaderboard
from analysis.web.planning_jobs import check_plan, estimate_pilot
from analysis.web.validity_jobs import count_rules
from config.missing_packages import (
    EXTRAS,
    Installation,
    extra_of,
    installing,
    installing_beside_a_wheel,
    remedy,
)
from config.operations.unavailable import Unavailable
from config.run import command_help
from metrics.models import ScoringRun, ScoringShard
from metrics.scoring.runs import work_on
from tests.config.test_settings import start
from tests.factories import make_study, make_user
from tools.locks import ROOT, pins

IMPORTED_AS = {
    "arviz-stats": "arviz_stats",
    "protobuf": "google",
    "espeakng-loader": "espeakng_loader",
    "faster-whisper": "faster_whisper",
    "fontpkg-noto-sans-devanagari": "fontpkg_noto_sans_devanagari",
    "fontpkg-noto-sans-thai": "fontpkg_noto_sans_thai",
    "noto-cjk-sans-otc": "noto_cjk_sans_otc",
    "silero-vad": "silero_vad",
    "pyworld-prebuilt": "pyworld",
    "visqol-python": "visqol",
}
BUILT_HERE = "paired"  # a compiler is needed
NOT_BY_MAKE_RUN = {BUILT_HERE, "ray"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_package_of_a_requirements_file_is_known_by_the_name_that_code_imports(extra: str):
    wanted = {IMPORTED_AS.get(name, name) for name in pins(ROOT / f"requirements-{extra}.txt")}
    along = {"ai_edge_litert"} if extra == BUILT_HERE else set()  # ViSQOL's own extra
    assert set(EXTRAS[extra]) == wanted | along


def test_all_files_together_are_what_make_run_installs():
    parts = [
        pins(ROOT / f"requirements-{name}.txt")
        for name in ("web", *(set(EXTRAS) - NOT_BY_MAKE_RUN))
    ]
    assert sum(map(len, parts)) == len(pins(ROOT / "requirements.txt"))
    assert not {canonicalize_name(n) for names in EXTRAS.values() for n in names} & set(parts[0])


def test_the_reason_is_found_behind_other_errors_and_nowhere_else():
    behind = ValueError("no metric")
    behind.__cause__ = ModuleNotFoundError("no torch", name="torch.nn")
    assert "requirements-metrics.txt" in remedy(behind)
    assert extra_of("pandas.core") == "analysis"
    assert remedy(ModuleNotFoundError("no x", name="unheard_of")) == remedy(ValueError()) == ""


BESIDE = ["earnest[metrics]", Path("/x/venv"), "/x/venv/bin/python", "/w/earnest-1.whl"]


def test_the_command_is_one_that_works_in_the_environment_that_is_running(tmp_path: Path):
    """`pip install` of a shell is another environment's, and those of pipx and uvx have none."""
    by_pip = installing_beside_a_wheel(*BESIDE)
    assert by_pip == "/x/venv/bin/python -m pip install 'earnest[metrics]'"
    (tmp_path / "pipx_metadata.json").touch()
    by_pipx = installing_beside_a_wheel("earnest[bayes]", tmp_path, *BESIDE[2:])
    assert by_pipx == f"pipx runpip {tmp_path.name} install 'earnest[bayes]'"
    cached = Path("/home/ada/.cache/uv/archive-v0/5LYR")
    by_uvx = installing_beside_a_wheel(BESIDE[0], cached, *BESIDE[2:])
    assert by_uvx == "uvx --from '/w/earnest-1.whl[metrics]' earnest"
    other = installing_beside_a_wheel("funasr", cached, *BESIDE[2:])
    assert other == "uvx --with funasr --from /w/earnest-1.whl earnest"


def test_where_there_is_no_pip_the_command_is_one_of_uv(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("config.missing_packages.distributions", lambda name: iter(()))
    by_uv = installing_beside_a_wheel(*BESIDE)
    assert by_uv == "uv pip install --python /x/venv/bin/python 'earnest[metrics]'"


def test_a_clone_is_told_its_file_of_requirements_and_how_to_do_without_cuda(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("sys.platform", "linux")
    words = remedy(ModuleNotFoundError("no torch", name="torch"))
    assert ".venv/bin/pip install -r requirements-metrics.txt; then start Earnest again." in words
    assert "pip install 'earnest" not in words  # nothing of this name is on an index
    assert words.endswith("avoid 4 GB of CUDA: docs/running.md, Install less.")
    assert installing("funasr") == ".venv/bin/pip install funasr"


def test_a_package_that_is_being_installed_is_named_with_how_far_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    state = tmp_path / "installation.json"
    monkeypatch.setattr("config.missing_packages.INSTALLATION", state)
    state.write_text(json.dumps(vars(Installation(3, 41, 812, 2300))))
    words = remedy(ModuleNotFoundError("no torch", name="torch"))
    far = (
        "speech metrics and models: 3 of 41 packages, 812 of 2,300 MB. Try again when this is done."
    )
    assert words == (
        "The package torch is not installed yet. It is needed for scores of audio. "
        f"Installing {far}"
    )
    os.utime(state, (0, 0))
    words = remedy(ModuleNotFoundError("no torch", name="torch"))
    assert words.endswith(
        "was interrupted (3 of 41 packages, 812 of 2,300 MB). Run make run to continue."
    )
    assert "pip install" in remedy(ModuleNotFoundError("no scipy", name="scipy"))


def test_a_command_says_it_in_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pymc", None)  # as if it were not installed
    monkeypatch.setattr(command_help.Commands, "execute", lambda self: __import__("pymc"))
    with pytest.raises(SystemExit, match=r"^CommandError: The package pymc .*-bayes\.txt"):
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


class Lacking(ModuleType):
    """A module that imports what was never installed."""

    def __getattr__(self, name: str) -> Any:
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")


@pytest.mark.django_db
@pytest.mark.parametrize("job", ["pilot", "check", "rules", "leaderboard", "scores"])
def test_a_job_says_what_its_worker_lacks(job: str, monkeypatch: pytest.MonkeyPatch):
    study = make_study(key="light")
    for name in ("planning.pilot", "planning.proposal", "rule_effects"):
        monkeypatch.setitem(sys.modules, f"analysis.statistics.{name}", Lacking(name))
    monkeypatch.setattr("metrics.scoring.runner.resolve_device", lambda _: Lacking("torch").tensor)
    monkeypatch.setattr(
        "analysis.web.board_jobs.leaderboard_content", lambda *_: Lacking("pandas").frame
    )
    board = Leaderboard.objects.create(owner=study.owner, title="x")
    run = ScoringRun.objects.create(study=study, metrics=[])
    shard = ScoringShard.objects.create(run=run, number=0)
    done = {
        "pilot": lambda: estimate_pilot("pilot-x", study.key),
        "check": lambda: check_plan("check-x", {"form": {}, "components": {}}),
        "rules": lambda: count_rules(study.key, "tried", {}, "mark"),
        "leaderboard": lambda: make_leaderboard(board.pk),
        "scores": lambda: work_on(shard.pk, lambda _: None),
    }
    done[job]()
    told = {
        "pilot": lambda: cache.get("pilot-x")["problem"],
        "check": lambda: cache.get("check-x")["problem"],
        "rules": lambda: cache.get(validity_jobs._name(study.key, "tried"))["problem"],
        "leaderboard": lambda: Leaderboard.objects.get().error,
        "scores": lambda: ScoringShard.objects.get().error,
    }
    words = told[job]()
    assert words.startswith("The worker of queue ")
    assert "The package scipy is not installed here" in words
    assert ".venv/bin/pip install -r requirements-analysis.txt" in words


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
from metrics.scoring.presets import shipped_presets
print(len(shipped_presets()))
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
