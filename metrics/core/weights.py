"""Where the weights of models lie, and what to report when they are missing."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from config.missing_packages import installing, sentence

GITHUB = "https://github.com"
PUBLISHED = {  # where files come from that no hub has, by how their names begin
    "dnsmos_pro/": f"{GITHUB}/fcumlin/DNSMOSPro (runs/CORPUS/model_best.pt)",
    "nisqa/": f"{GITHUB}/gabrielmittag/NISQA (weights)",
    "scoreq/": "https://zenodo.org/records/15739280",
    "sigmos/": f"{GITHUB}/microsoft/SIG-Challenge (ICASSP2024/sigmos)",
    "squim_": "https://download.pytorch.org/torchaudio/models",
    "wavlm_large_finetune.pth": (
        f"{GITHUB}/microsoft/UniSpeech (a link in downstreams/speaker_verification/README.md)"
    ),
}
BUNDLED = Path(__file__).parents[1] / "bundled"
SHORT = 12  # hexadecimal digits that tell one file of weights from another


class Unavailable(RuntimeError):
    """A model cannot be loaded here; the message names what is missing and the remedy."""


class _Place:
    """Where weights lie on this machine; set once, when a process starts."""

    folder = Path("var/models")
    offline = False


def configure(folder: Path | str, offline: bool) -> None:
    """Say where model files lie, and whether nothing may be fetched from the network."""
    _Place.folder = Path(folder)
    _Place.offline = offline


def offline() -> bool:
    """Whether nothing may be fetched from the network."""
    return _Place.offline


def folder() -> Path:
    """The folder of model files that people put there (setting EARNEST_MODELS)."""
    return _Place.folder


def need_package(package: str, install: str) -> None:
    """Unavailable, with what to install, when a Python package is not there."""
    if importlib.util.find_spec(package) is None:
        words = sentence(package)
        cause = f"{words[:1].lower()}{words[1:]}" or f"{package} is missing; {installing(install)}"
        raise Unavailable(f"no package: {cause}")


def package_file(package: str, inside: str) -> Path:
    """A file that an installed Python package carries; Unavailable when it is not there."""
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = Path(place) / inside
        if path.is_file():
            return path
    raise Unavailable(f"no weights: {inside} of the package {package} is missing; install it again")


def bundled_file(name: str) -> Path:
    """Return a file of weights that Earnest carries (metrics/bundled/NOTICE.txt).

    Raises Unavailable when it is missing, or not the file that SHA256SUMS names.
    """
    path = BUNDLED / name
    again = "install Earnest again"
    if not path.is_file():
        raise Unavailable(f"no weights: {path} is missing; {again}")
    listed = (line.split() for line in (BUNDLED / "SHA256SUMS").read_text().splitlines())
    expected = next(sha256 for sha256, file in listed if file == name)
    if (actual := sha256_of(path)) != expected:
        raise Unavailable(f"no weights: {path} has the SHA-256 {actual}, not {expected}; {again}")
    return path


def model_files(name: str, wanted: tuple[str, ...], why: str = "") -> Path:
    """The folder of a model called by ``name``: a path, a folder of `folder()`, or one fetched.

    ``name`` is a path, or a name as model hubs spell it ("microsoft/wavlm-base-plus-sv").
    Looked for in this order: the path itself; `folder()`/name; the hub's cache on this machine;
    and, unless offline, the hub. ``wanted`` are the files to fetch (patterns: "*.safetensors").
    Raises Unavailable with the places that were tried and where to put the files.
    """
    for place in (Path(name), folder() / name):
        if place.is_dir():
            return place
    try:
        from huggingface_hub import snapshot_download

        path = snapshot_download(
            name, allow_patterns=list(wanted), local_files_only=offline(), max_workers=2
        )
    except Exception as error:
        reason = str(error).partition("\n")[0]
        fetch = "it may not be fetched (offline)" if offline() else f"fetching failed ({reason})"
        raise Unavailable(
            f"no weights: {name} is not in {folder() / name}, and {fetch}; "
            f"put {', '.join(wanted)} of that model there{'; ' + why if why else ''}"
        ) from error
    return Path(path)


def model_file(
    name: str, cached: Path | None = None, fetch: Callable[[], object] | None = None
) -> Path:
    """One file of weights: a path, in `folder()`, or at ``cached``, where ``fetch`` puts it.

    Raises Unavailable with the place that was tried and where the file is published; ``fetch`` is
    not called when offline.
    """
    for place in (Path(name), folder() / name, cached):
        if place and place.is_file():
            return place
    trouble = ""
    if fetch and not offline():
        try:
            fetch()
        except Exception as error:
            trouble = f", and fetching failed ({error})"
        if cached and cached.is_file():
            return cached
    elif fetch:
        trouble = ", and it may not be fetched (offline)"
    published = next((at for begin, at in PUBLISHED.items() if name.startswith(begin)), "")
    source = f", from {published}" if published else ""
    raise Unavailable(f"no weights: {name} is not in {folder()}{trouble}; put it there{source}")


def sha256_of(path: Path | str) -> str:
    """SHA-256 (hex) of a file of weights, computed once per process and change of the file."""
    stat = Path(path).stat()
    return _sha256(str(path), stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _sha256(path: str, size: int, changed_ns: int) -> str:
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def short_sha256(path: Path | str) -> str:
    """How the SHA-256 (hex) of a file begins: enough to tell one training from another."""
    return sha256_of(path)[:SHORT]


def check_mark(path: Path, mark: str) -> str:
    """The SHA-256 (hex) of a file; Unavailable when it does not begin with the mark."""
    sha256 = sha256_of(path)
    if not sha256.startswith(mark):
        raise Unavailable(f"{path} has the SHA-256 {sha256}, not {mark}")
    return sha256


def hashes(paths: list[Path]) -> dict[str, str]:
    """File name -> SHA-256 of each file, for a metric's ``weights``."""
    return {path.name: sha256_of(path) for path in sorted(paths)}


def model_hashes(folder: Path, patterns: Sequence[str]) -> dict[str, str]:
    """SHA-256 of a folder's files of weights; Unavailable when no file fits a pattern."""
    files = {path for pattern in patterns for path in folder.glob(pattern)}
    if not files:
        raise Unavailable(f"no weights: {folder} holds no {' or '.join(patterns)}")
    return hashes(list(files))


@contextlib.contextmanager
def silent_transformers() -> Iterator[None]:
    """No progress bars of transformers on the terminal, where the runner shows its own."""
    from transformers import utils

    logging: Any = utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def rename_weight(name: str, names: Iterable[tuple[str, str]]) -> str:
    """What we call a weight: each pattern, in turn, becomes what stands beside it."""
    for pattern, ours in names:
        name = re.sub(pattern, ours, name)
    return name
