"""The rest of the packages: small wheels installed, interrupted, resumed; and what make does."""

import base64
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from config.missing_packages import Installation
from config.run import background_installation
from config.run.background_installation import DONE, BackgroundInstallation
from config.run.processes import LogPipes
from config.run.supervisor import services
from tests.config.helpers import wait_for
from tools import install_rest
from tools.install_rest import CUDA, GPU_ONLY, Installer, InstallError, installed, site_of
from tools.locks import REST, ROOT, RUN_LOCK, locked_packages

NAMES = [f"earnest-double-{number}" for number in range(10)]  # more than pip gets at a time
SLOW = NAMES[-1]  # has to be built, which waits for a file
RUN = (
    "import sys; from pathlib import Path; from tools.install_rest import main\n"
    "sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), background=False))"
)
SETUP = """
import pathlib, time
from setuptools import setup
pathlib.Path({begun!r}).touch()
while not pathlib.Path({go!r}).exists():
    time.sleep(0.05)
setup(name={name!r}, version="1.0", py_modules=["slow"])
"""


def wheel(folder: Path, name: str, version: str = "1.0") -> str:
    """Make a wheel: a script, a module in a folder that all share; return its line of a lock."""
    module = name.replace("-", "_")
    files = {
        f"shared/{module}.py": f"VERSION = {version!r}\n",
        f"{module}-{version}.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        ),
        f"{module}-{version}.dist-info/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{module}-{version}.dist-info/entry_points.txt": (
            f"[console_scripts]\n{name} = shared.{module}:VERSION.strip\n"
        ),
    }
    listed = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        listed += f"{path},sha256={digest.decode()},{len(text)}\n"
    record = f"{module}-{version}.dist-info/RECORD"
    place = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(place, "w") as archive:
        for path, text in {**files, record: f"{listed}{record},,\n"}.items():
            archive.writestr(path, text)
    return line(name, version, place)


def line(name: str, version: str, place: Path) -> str:
    digest = hashlib.sha256(place.read_bytes()).hexdigest()
    return f"{name}=={version} \\\n    --hash=sha256:{digest}\n"


def source(folder: Path) -> str:
    """A package that has to be built, and waits until it may."""
    text = SETUP.format(begun=str(folder / "begun"), go=str(folder / "go"), name=SLOW).encode()
    place = folder / f"{SLOW}-1.0.tar.gz"
    with tarfile.open(place, "w:gz") as archive:
        for name, content in {"setup.py": text, "slow.py": b""}.items():
            member = tarfile.TarInfo(f"{SLOW}-1.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return line(SLOW, "1.0", place)


class Index:
    """A folder of wheels in place of the package index, a lock of them, and an environment."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.prefix, self.lock = folder, folder / "venv", folder / "x.lock"
        self.prefix.mkdir()
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("PIP_")},
            **{"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"},
            **{"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)},
        }

    def write(self, *lines: str) -> None:
        self.lock.write_text(f"first==1.0\n{REST}: later ---\n{''.join(lines)}")

    def start(self, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", RUN, str(self.prefix), str(self.lock)],
            cwd=ROOT,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, **environment: str) -> tuple[int, str]:
        process = self.start(**environment)
        said, _ = process.communicate()
        return process.returncode, said

    @property
    def state(self) -> Installation:
        return Installation(**json.loads((self.prefix / "installation.json").read_text()))

    def here(self) -> list[str]:
        return sorted(installed(site_of(self.prefix)))


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path)


@pytest.mark.slow
def test_a_killed_installation_goes_on_and_is_seen_when_it_is_whole(index: Index):
    index.write(*(wheel(index.folder, name) for name in NAMES[:-1]), source(index.folder))
    process = index.start()
    wait_for((index.folder / "begun").exists)
    wait_for(lambda: index.state.done == 8)  # the ninth waits for the tenth
    assert index.state.words.startswith("Installing speech metrics and models: 8 of 10 packages, ")
    assert index.here() == []
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    for name in NAMES[:7]:
        (index.folder / f"{name.replace('-', '_')}-1.0-py3-none-any.whl").unlink()
    half = site_of(index.prefix / "staged") / f"{NAMES[7].replace('-', '_')}-1.0.dist-info"
    (half / "RECORD").unlink()  # as where the kill came while this one was unpacked
    (index.folder / "go").touch()
    status, said = index.run()
    assert status == 0, said
    assert index.here() == NAMES
    assert len(list((index.prefix / "bin").iterdir())) == 9
    assert len(list((site_of(index.prefix) / "shared").glob("*.py"))) == 9
    assert (index.prefix / "run.stamp").exists()
    assert not (index.prefix / "installation.json").exists()
    assert not (index.prefix / "staged").exists()


@pytest.mark.slow
def test_a_newer_version_takes_the_place_of_the_older_one(index: Index):
    index.write(wheel(index.folder, NAMES[0]), wheel(index.folder, NAMES[1]))
    assert index.run()[0] == 0
    kept = site_of(index.prefix) / "shared" / f"{NAMES[1].replace('-', '_')}.py"
    before = kept.stat().st_ino
    index.write(wheel(index.folder, NAMES[0], "2.0"), wheel(index.folder, NAMES[1]))
    assert index.run()[0] == 0
    versions = [path.name for path in installed(site_of(index.prefix)).values()]
    assert sorted(versions) == ["earnest_double_0-2.0.dist-info", "earnest_double_1-1.0.dist-info"]
    new = (site_of(index.prefix) / "shared" / "earnest_double_0.py").read_text()
    assert (new, kept.stat().st_ino) == ("VERSION = '2.0'\n", before)


@pytest.mark.slow
def test_without_a_network_it_says_so_and_a_wrong_file_is_not_installed(index: Index):
    index.write(right := wheel(index.folder, NAMES[0]))
    lost = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_RETRIES": "1"}
    status, said = index.run(**lost, PIP_INDEX_URL="http://127.0.0.1:9/simple")
    assert status == 1, said
    assert index.state.problem.startswith("The package index cannot be reached. Check the network")
    assert not (index.prefix / "run.stamp").exists()
    index.write(re.sub(r"[0-9a-f]{64}", "0" * 64, right))
    assert index.run()[0] == 1
    assert index.state.problem.startswith("A downloaded file is not the one that")
    assert index.here() == []


def test_the_disk_is_never_filled(index: Index, monkeypatch: pytest.MonkeyPatch):
    index.write(wheel(index.folder, NAMES[0]))
    usage = namedtuple("usage", "free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(2_500 * 10**6))
    installer = Installer(locked_packages(index.lock, after=REST), index.prefix, 0)
    with pytest.raises(InstallError, match=r"has 2,500 MB free\. The rest needs 1,930 MB, and 2,0"):
        installer.run()
    assert "Delete what you do not need." in index.state.words


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device", "The disk is full. "),
        ("WARNING: Retrying (Retry(total=4\nERROR: No matching", "The package index cannot be"),
        ("ERROR: first\nERROR: second", "pip failed: second"),
        ("", "pip failed."),
    ],
)
def test_the_reason_is_read_from_what_pip_says(said: str, reason: str):
    assert install_rest.reason_of(said).startswith(reason)


def test_cuda_is_left_where_no_gpu_is_as_far_as_pytorch_can_be_imported_without_it():
    packages = locked_packages(RUN_LOCK, after=REST)
    here = {each.name for each in packages if each.wanted_here}

    def names(**facts: bool) -> set[str]:
        return {each.name for each in install_rest.wanted_here(packages, **facts)}

    assert {"torch", "pymc"} <= here
    assert "django" not in here
    assert names(gpu=True) == here
    assert names(gpu=False) == {name for name in here if not GPU_ONLY.match(name)}
    assert names(gpu=False, without_cuda=True) == {name for name in here if not CUDA.match(name)}


def test_a_pytorch_for_the_cpu_stays_and_brings_no_cuda(index: Index):
    version = next(
        each.version for each in locked_packages(RUN_LOCK, after=REST) if each.name == "torch"
    )
    metadata = site_of(index.prefix) / f"torch-{version}+cpu.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "RECORD").write_text("torch/__init__.py,,1\n")
    installer = Installer(locked_packages(RUN_LOCK, after=REST), index.prefix, 0)
    assert installer.whole() == {"torch": metadata}
    assert [each.name for each in installer.wanted if CUDA.match(each.name)] == []


def test_the_megabytes_that_are_announced_are_those_of_the_packages_here():
    site = installed(site_of(Path(sys.prefix)))
    packages = [each for each in locked_packages(RUN_LOCK, after=REST) if each.wanted_here]
    sizes = {
        each.name: install_rest.bytes_of(site[each.name]) / 10**6
        for each in packages
        if each.name in site
    }
    plain = sum(size for name, size in sizes.items() if not CUDA.match(name))
    cuda = {name: size for name, size in sizes.items() if CUDA.match(name)}
    assert plain == pytest.approx(install_rest.PLAIN_MB, rel=0.1)
    if cuda:
        linked = sum(size for name, size in cuda.items() if not GPU_ONLY.match(name))
        assert linked == pytest.approx(install_rest.LINKED_MB, rel=0.1)
    if "triton" in cuda:
        only = sum(size for name, size in cuda.items() if GPU_ONLY.match(name))
        assert only == pytest.approx(install_rest.GPU_ONLY_MB, rel=0.1)


# --- make and the supervisor ---------------------------------------------------------------------


MAKES_OWN = ("MAKE", "MFLAGS")  # variables by which `make test` would change what is printed


def recipe(goal: str, venv: Path) -> str:
    command = ["make", "-n", goal, f"VENV={venv}"]
    own = {name: value for name, value in os.environ.items() if not name.startswith(MAKES_OWN)}
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    return done.stdout


def test_make_run_opens_pages_before_the_rest_and_make_test_installs_all_first(tmp_path: Path):
    run, test = recipe("run", tmp_path), recipe("test", tmp_path)
    order = [
        "-m venv --clear",
        "/^setuptools==/",
        f"/^{REST}/,$d",
        "config.run.supervisor --install",
    ]
    assert [run.index(each) for each in order] == sorted(run.index(each) for each in order)
    assert "install_rest" not in run
    order = [*order[:3], "tools.install_rest", "-r requirements-dev.lock", "bin/pytest"]
    assert [test.index(each) for each in order] == sorted(test.index(each) for each in order)
    (tmp_path / "bin").mkdir()
    for name in ("bin/pip", "setuptools.stamp", "web.stamp"):
        (tmp_path / name).touch()
    start = f"{tmp_path}/bin/python -m config.run.supervisor --install\n"
    assert recipe("run", tmp_path) == start


class Rest:
    """What a supervisor sees of the rest, in files of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stamp, self.state = folder / "run.stamp", folder / "installation.json"
        self.older = folder / "requirements.lock"
        self.older.touch()
        for module in ("config.missing_packages", "config.run.background_installation"):
            monkeypatch.setattr(f"{module}.INSTALLATION", self.state)
        monkeypatch.setattr(background_installation, "STAMP", self.stamp)
        monkeypatch.setattr(background_installation, "OLDER", (self.older,))
        monkeypatch.setattr(background_installation, "SAY_EVERY_S", 0)

    def write(self, problem: str = "") -> None:
        self.state.write_text(json.dumps(vars(Installation(3, 41, 812, 2300, problem))))


@pytest.fixture
def rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rest:
    return Rest(tmp_path, monkeypatch)


def test_the_terminal_says_how_far_it_is_what_failed_and_that_it_is_done(rest: Rest):
    seen = BackgroundInstallation(asked=True)
    assert (seen.is_wanted(), seen.is_done(), seen.news()) == (True, False, ("", False))
    rest.write()
    far = "3 of 41 packages, 812 of 2,300 MB"
    assert seen.news() == (f"Installing speech metrics and models: {far}.", True)
    assert seen.news() == ("", True)
    rest.write("The disk is full.")
    words, passing = seen.news()
    assert f"could not be installed ({far}). The disk is full. Earnest tries again in 10" in words
    assert (passing, seen.is_wanted()) == (False, False)
    os.utime(rest.state, (time.time() - 601,) * 2)
    assert seen.is_wanted()
    rest.state.unlink()
    rest.stamp.touch()
    assert (seen.is_wanted(), seen.news(), seen.news()) == (False, (DONE, False), ("", False))


def test_a_start_with_all_packages_or_without_make_installs_nothing(rest: Rest):
    assert not BackgroundInstallation(asked=False).is_wanted()
    rest.stamp.touch()
    seen = BackgroundInstallation(asked=True)
    assert (seen.is_wanted(), seen.is_done(), seen.news()) == (False, True, ("", False))
    os.utime(rest.older, (time.time() + 60,) * 2)  # after `git pull`
    assert BackgroundInstallation(asked=True).is_wanted()


@pytest.mark.parametrize("embedded", [True, False])
def test_jobs_of_metrics_wait_in_their_queue_for_the_packages(
    embedded: bool, rest: Rest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings
):
    monkeypatch.setattr("config.run.supervisor.RestingQueue.has_jobs", lambda _: True)
    settings.EMBEDDED = settings.EMBEDDED if embedded else frozenset()
    seen = BackgroundInstallation(asked=True)
    by_name = {each.name: each for each in services(tmp_path, "", 1, 1, LogPipes(), seen)}
    gpu, installing = by_name["gpu"].wanted, by_name["installation"].wanted
    assert gpu is not None
    assert installing is not None
    assert (gpu(), installing()) == (False, True)
    rest.stamp.touch()
    assert (gpu(), installing()) == (True, False)
