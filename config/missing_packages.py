"""What a light installation leaves out: which package is missing, what brings it, and the command.

Pages, jobs and commands all say it in these words. `requirements-*.txt` list the packages.
"""

from __future__ import annotations

import json
import logging
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path
from shlex import quote
from urllib.parse import unquote, urlsplit

from listening.common.ages import age_s
from listening.common.command_name import IN_A_CLONE, START
from listening.common.plugins import MissingClass
from listening.common.whole_files import write_whole

EXTRAS = {  # the names that code imports, by the extra that brings them
    "analysis": (
        *("arviz_stats", "fontpkg_noto_sans_devanagari", "fontpkg_noto_sans_thai", "fsspec"),
        *("matplotlib", "noto_cjk_sans_otc", "pandas", "pyarrow", "scipy", "threadpoolctl"),
    ),
    "bayes": ("arviz", "nutpie", "pymc"),
    "metrics": (
        *("accelerate", "distillmos", "faster_whisper", "google", "jiwer", "librosa"),
        *("onnxruntime", "openai", "peft", "pystoi", "pyworld", "safetensors", "silero_vad"),
        *("torch", "torchaudio", "tqdm", "transformers", "zhon"),
    ),
    "paired": ("pesq", "visqol", "ai_edge_litert"),
    "phonemes": ("espeakng_loader",),
    "mcp": ("mcp",),
    "ray": ("ray",),
}
NEEDED_FOR = {
    "analysis": "results, plans and exports",
    "bayes": "models that are fitted by sampling",
    "metrics": "scores of audio",
    "paired": "PESQ and ViSQOL, which are built here by a C and a C++ compiler",
    "phonemes": "transcriptions that are scored in phonemes",
    "ray": "scores of datasets on many machines",
    "mcp": "the server for agents",
}
IN_THE_REST = ("bayes", "metrics", "mcp")  # what `make run` installs while its pages are open
INSTALLATION = Path(sys.prefix) / "installation.json"  # of the rest: is there until all is
STALE_S = 30.0
NO_GPU = "Without a GPU, first read how to avoid 4 GB of CUDA: docs/running.md, Install less."


@dataclass(frozen=True)
class Installation:
    """How far the rest of the packages is: counts of packages and MB on the disk."""

    done: int
    packages: int
    megabytes: int
    of_megabytes: int
    problem: str = ""  # why it ended
    interrupted: bool = False

    @property
    def works(self) -> bool:
        """Whether packages are being installed now."""
        return not self.problem and not self.interrupted

    @property
    def words(self) -> str:
        """For pages and the terminal."""
        far = (
            f"{self.done} of {self.packages} packages, "
            f"{self.megabytes:,} of {self.of_megabytes:,} MB"
        )
        if self.problem:
            return f"Speech metrics and models could not be installed ({far}). {self.problem}"
        if self.interrupted:
            return f"The installation of speech metrics and models was interrupted ({far})."
        return f"Installing speech metrics and models: {far}."


def installation() -> Installation | None:
    """How far the rest is; None where nothing is left to install, or was never to be."""
    with suppress(OSError, ValueError, TypeError):
        now = Installation(**json.loads(INSTALLATION.read_bytes()))
        stale = age_s(INSTALLATION.stat().st_mtime) > STALE_S
        return replace(now, interrupted=stale and not now.problem)
    return None


def forget_failure() -> None:
    """Let the supervisor try again at once; what was installed stays."""
    if (rest := installation()) and rest.problem:
        write_whole(INSTALLATION, json.dumps(vars(replace(rest, problem=""))).encode())


def extra_of(package: str) -> str | None:
    """The extra that brings a package which code imports by this name."""
    top = package.partition(".")[0]
    return next((extra for extra, names in EXTRAS.items() if top in names), None)


def remedy(error: BaseException | None) -> str:
    """What to install for a package or plug-in that is not here; empty for other errors."""
    for each in chain_of(error):
        if isinstance(each, MissingClass):
            return each.words
        if isinstance(each, ModuleNotFoundError) and (words := sentence(each.name or "")):
            return words
    return ""


def sentence(package: str) -> str:
    """The same of a package by the name that code imports; empty where no extra brings it."""
    extra = extra_of(package)
    if extra is None:
        return ""
    needed = f"It is needed for {NEEDED_FOR[extra]}"
    if extra in IN_THE_REST and (rest := installation()):
        then = "Try again when this is done." if rest.works else f"Run {START} to continue."
        return f"The package {package} is not installed yet. {needed}. {rest.words} {then}"
    how = f"{installing(f'earnest[{extra}]')}; then start Earnest again."
    cuda = extra == "metrics" and (sys.platform, platform.machine()) == ("linux", "x86_64")
    return (
        f"The package {package} is not installed here. {needed}: {how}"
        f"{f' {NO_GPU}' if cuda else ''}"
    )


def failure(error: Exception, queue: str, log: logging.Logger, what: str) -> str:
    """Why a job failed, for its page: what its worker lacks, or that it broke, with the log."""
    if words := remedy(error):
        return f"The worker of queue {queue} cannot do it. {words}"
    log.exception("%s broke", what)
    return f"it broke ({type(error).__name__}: {error}); see the worker's log"


def installing(requirement: str) -> str:
    """The command that brings `earnest[metrics]` or another package into this very environment."""
    if IN_A_CLONE:
        extra = requirement.removeprefix("earnest[").removesuffix("]")
        listed = f"-r requirements-{extra}.txt" if extra != requirement else quote(requirement)
        return f".venv/bin/pip install {listed}"
    return installing_beside_a_wheel(requirement, Path(sys.prefix), sys.executable, _wheel())


def installing_beside_a_wheel(requirement: str, prefix: Path, python: str, wheel: str) -> str:
    """By what made the environment: pipx, uvx, or whoever made one for pip or uv."""
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx runpip {prefix.name} install {quote(requirement)}"
    if "archive-v0" in prefix.parts:  # what uvx made, and forgets
        if requirement.startswith("earnest["):
            return f"uvx --from {quote(wheel + requirement.removeprefix('earnest'))} earnest"
        return f"uvx --with {quote(requirement)} --from {quote(wheel)} earnest"
    if any(distributions(name="pip")):
        return f"{quote(python)} -m pip install {quote(requirement)}"
    return f"uv pip install --python {quote(python)} {quote(requirement)}"


def _wheel() -> str:
    """The file that Earnest was installed from, where the installer has noted it (PEP 610)."""
    try:
        noted = distribution("earnest").read_text("direct_url.json")
        return unquote(urlsplit(json.loads(noted or "{}")["url"]).path)
    except (PackageNotFoundError, KeyError, ValueError):
        return "earnest"


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those that led to it, each once."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
