"""Install the packages of requirements.lock that pages do without: python -m tools.install_rest.

`make run` does it while its pages are open (`--background`), and `make test` before the tests. Two
processes of pip unpack them beside the environment, a few at a time, and go on there after an
interruption.
Running processes see them only when all are whole: then they are moved into the environment.
`installation.json` says how far it is, for the terminal and the page of metrics.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from importlib.metadata import PathDistribution
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from config.missing_packages import INSTALLATION, Installation
from listening.common.whole_files import write_whole
from tools.locks import REST, RUN_LOCK, LockedPackage, locked_packages

PIP = (
    *("-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--no-deps"),
    *("--require-hashes", "--no-build-isolation", "--use-pep517", "--no-compile"),
    *("--ignore-installed", "--no-warn-script-location", "--progress-bar", "off"),
)
AT_A_TIME = 8
PROCESSES = 2  # pip unpacks with one processor
LOOK_EVERY_S, PRINT_EVERY_S = 1.0, 5.0
RESERVE_MB = 2_000  # of the disk stay free: databases and answers are on it too
GPU_DEVICES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")
CUDA = re.compile(r"nvidia-|cuda-|triton$")
# PyTorch's wheel for Linux is linked with the other packages of CUDA: it cannot be imported alone.
GPU_ONLY = re.compile(r"triton$|cuda-|nvidia-(cuda-cupti|cusolver|nvtx)$")
PLAIN_MB, LINKED_MB, GPU_ONLY_MB = 1_930, 3_070, 1_260  # on the disk, Linux x86-64
REASONS = (  # what pip says, what it means, and what to do
    (
        r"No space left on device|Errno 28|Disk quota",
        "The disk is full",
        "Delete what is not needed.",
    ),
    (
        r"DO NOT MATCH THE HASHES",
        "A downloaded file is not the one that requirements.lock names",
        "Check the package mirror or proxy of pip.",
    ),
    (
        r"Retrying \(|ConnectionError|Connection(?:Reset|Refused)|timed out|ProxyError|SSLError",
        "The package index cannot be reached",
        "Check the network, or the mirror or proxy of pip.",
    ),
)


class InstallError(Exception):
    """The packages cannot be installed; the message says why and what to do."""


def has_gpu() -> bool:
    """Whether an NVIDIA GPU is here."""
    return any(os.path.exists(path) for path in GPU_DEVICES) or bool(shutil.which("nvidia-smi"))


def wanted_here(
    packages: list[LockedPackage], gpu: bool, without_cuda: bool = False
) -> list[LockedPackage]:
    """What this machine has a use for; `without_cuda`: a PyTorch for the CPU is installed."""
    unused = CUDA if without_cuda else GPU_ONLY
    return [
        each
        for each in packages
        if each.wanted_here and ((gpu and not without_cuda) or not unused.match(each.name))
    ]


def installed(site: Path) -> dict[str, Path]:
    """The metadata of each package in a folder that is whole: pip writes RECORD last."""
    found = [path for path in site.glob("*.dist-info") if (path / "RECORD").exists()]
    return {canonicalize_name(path.name.partition("-")[0]): path for path in found}


def version_of(metadata: Path) -> Version:
    """Of the lock, in whichever build: 2.14.1 of torch 2.14.1+cpu."""
    return Version(Version(metadata.name.removesuffix(".dist-info").partition("-")[2]).public)


@cache
def bytes_of(metadata: Path) -> int:
    """What the files of a package take on the disk."""
    return sum(map(int, re.findall(r",(\d+)$", (metadata / "RECORD").read_text(), re.M)))


class Installer:
    """Bring what is missing into the environment `prefix`; `lock`: a handle that pip keeps too."""

    def __init__(self, packages: list[LockedPackage], prefix: Path, lock: int) -> None:
        self.prefix, self.lock = prefix, lock
        self.staged = prefix / "staged"
        self.downloads = self.staged / "downloads"
        self.state = prefix / INSTALLATION.name
        self.printed_at = float("-inf")
        torch = installed(site_of(prefix)).get("torch", Path())
        self.wanted = wanted_here(packages, has_gpu(), without_cuda=torch.match("*+cpu.*"))
        cuda = [each.name for each in self.wanted if CUDA.match(each.name)]
        self.total_mb = PLAIN_MB + LINKED_MB * bool(cuda) + GPU_ONLY_MB * ("triton" in cuda)

    def whole(self) -> dict[str, Path]:
        """What is wanted and whole, in the environment or in the folder beside it."""
        here = installed(site_of(self.prefix)) | installed(site_of(self.staged))
        return {
            each.name: here[each.name]
            for each in self.wanted
            if each.name in here and version_of(here[each.name]) == Version(each.version)
        }

    def run(self) -> None:
        """Raise InstallError where it cannot be done; the state says it as well."""
        try:
            shutil.rmtree(self.downloads, ignore_errors=True)
            whole = self.whole()
            self.install_all([each for each in self.wanted if each.name not in whole])
            self.move_in()
        except InstallError as error:
            self.report(str(error))
            raise
        except OSError as error:
            self.report(words := f"A file cannot be written: {error}.")
            raise InstallError(words) from error

    def check_space(self) -> None:
        """Leave the reserve to databases; raise InstallError before the disk is full."""
        missing_mb = max(0, self.total_mb - self.progress().megabytes)
        free_mb = shutil.disk_usage(self.prefix).free // 10**6
        if free_mb < missing_mb + RESERVE_MB:
            raise InstallError(
                f"The disk has {free_mb:,} MB free. The rest needs {missing_mb:,} MB, and "
                f"{RESERVE_MB:,} MB must stay free for data. Delete what you do not need."
            )

    def install_all(self, packages: Sequence[LockedPackage]) -> None:
        """Install groups side by side; the first failure ends it, once what runs has ended."""
        groups = [packages[at : at + AT_A_TIME] for at in range(0, len(packages), AT_A_TIME)]
        pool = ThreadPoolExecutor(PROCESSES)
        running = [pool.submit(self.install, *group) for group in enumerate(groups)]
        try:
            while True:
                self.report()
                ended, unended = wait(running, LOOK_EVERY_S, FIRST_EXCEPTION)
                for each in ended:
                    each.result()
                if not unended:
                    break
        finally:
            pool.shutdown(cancel_futures=True)

    def install(self, number: int, group: Sequence[LockedPackage]) -> None:
        """Let pip unpack a few packages into the folder beside the environment."""
        self.check_space()
        folder = self.downloads / str(number)
        folder.mkdir(parents=True)
        listed = folder / "requirements.txt"
        listed.write_text("".join(f"{each.line}\n" for each in group))
        pip = subprocess.run(
            [sys.executable, *PIP, "--prefix", str(self.staged), "-r", str(listed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(folder)},
            pass_fds=[self.lock],
            text=True,
            errors="replace",
            check=False,
        )
        if pip.returncode:
            print(pip.stdout, flush=True)
            raise InstallError(reason_of(pip.stdout))

    def progress(self, problem: str = "") -> Installation:
        """How far it is, with what pip has downloaded of the next packages."""
        whole = self.whole()
        files = [
            path
            for path in self.downloads.glob("*/pip-*/*")
            if path.is_file() and canonicalize_name(path.name.partition("-")[0]) not in whole
        ]
        size = sum(map(bytes_of, whole.values())) + sum(path.stat().st_size for path in files)
        megabytes = min(size // 10**6, self.total_mb)
        return Installation(len(whole), len(self.wanted), megabytes, self.total_mb, problem)

    def report(self, problem: str = "") -> None:
        """For the page and the terminal; a file that goes or cannot be written ends nothing."""
        with suppress(OSError):
            now = self.progress(problem)
            write_whole(self.state, json.dumps(vars(now)).encode())
            if problem or time.monotonic() - self.printed_at > PRINT_EVERY_S:
                self.printed_at = time.monotonic()
                print(now.words, flush=True)

    def move_in(self) -> None:
        """Make all packages visible at once; older versions of them are removed first."""
        shutil.rmtree(self.downloads, ignore_errors=True)
        here = installed(site_of(self.prefix))
        for name in installed(site_of(self.staged)):
            if name in here:
                for file in PathDistribution(here[name]).files or ():
                    Path(str(file.locate())).unlink(missing_ok=True)
                shutil.rmtree(here[name])
        if self.staged.exists():
            merge(self.staged, self.prefix)
            shutil.rmtree(self.staged)
        self.state.unlink(missing_ok=True)


def site_of(prefix: Path) -> Path:
    """Where the packages of an environment lie."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(prefix)}))


def merge(source: Path, target: Path) -> None:
    """Move what a folder holds into another; a folder that is new there moves as a whole."""
    for entry in sorted(source.iterdir()):
        place = target / entry.name
        if entry.is_dir() and place.is_dir():
            merge(entry, place)
        else:
            os.replace(entry, place)


def reason_of(said: str) -> str:
    """Why pip failed, and what to do, from what it said."""
    for words, reason, remedy in REASONS:
        if re.search(words, said, re.I):
            return f"{reason}. {remedy}"
    errors = [line for line in said.splitlines() if line.startswith("ERROR: ")]
    return f"pip failed: {errors[-1].removeprefix('ERROR: ')}" if errors else "pip failed."


def main(prefix: Path, lock_file: Path, background: bool) -> int:
    """Return 0 also for a failure in the background: pages say it."""
    os.umask(0o022)  # packages are no data: whoever may run them may read them
    with (prefix / "installation.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another process is installing the packages; waiting for it.", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        packages = locked_packages(lock_file, after=REST)
        try:
            Installer(packages, prefix, handle.fileno()).run()
        except InstallError:
            return 0 if background else 1
        (prefix / "run.stamp").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.prefix), RUN_LOCK, "--background" in sys.argv))
