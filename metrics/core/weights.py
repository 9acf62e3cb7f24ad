"""Where the weights of models lie, and what to report when they are missing."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from config.missing_packages import installing, sentence
from listening.common.command_name import command
from metrics.core import model_downloads
from metrics.core.model_hosts import DownloadError, hub_cache
from metrics.core.published_models import PublishedModel, read_sums, recorded_sums

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
    """The folder of models (setting EARNEST_MODELS)."""
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
    expected = read_sums((BUNDLED / "SHA256SUMS").read_text())[name]
    if (actual := sha256_of(path)) != expected:
        raise Unavailable(f"no weights: {path} has the SHA-256 {actual}, not {expected}; {again}")
    return path


def find(model: PublishedModel) -> Path | None:
    """Where a model lies on this machine; None when it is not there, or not whole.

    Looked for in this order: ``name`` as a path; `folder()`/name; the hub's cache; the cache of
    another package. Asks nothing of the network.
    """
    own = Path(model.name)
    if own.is_dir() if model.files else own.is_file():
        return own
    places = (folder() / model.name, *_caches(model))
    return next((place for place in places if not model.lacking(place)), None)


def locate(model: PublishedModel) -> Path:
    """The folder or file of a model; unless offline, it is fetched when it is not there.

    Raises Unavailable with the places that were tried and where to put the files, and where a
    file is not the one that was fetched.
    """
    if place := find(model):
        if lacking := model.lacking(place):
            raise Unavailable(f"no weights: {place} is incomplete: {lacking[0]} is missing")
        check_recorded(place)
        return place
    if offline() and model.is_fetched:
        raise _missing(model, ", and it may not be fetched (offline)")
    if not model.is_fetched:
        raise _missing(model)
    if not model.commercial:
        how = f"`{command('fetch_models')}` with the metric and --non-commercial fetches it"
        raise _missing(model, f", and its licence forbids commercial use ({model.licence}): {how}")
    try:
        return model_downloads.fetch(model, folder())
    except DownloadError as error:
        raise _missing(model, f", and fetching failed ({error})") from error


def _missing(model: PublishedModel, trouble: str = "") -> Unavailable:
    place = folder() / model.name
    what = "it" if not model.files else ", ".join(each.replace("|", " or ") for each in model.files)
    source = f", from {model.origin}" if model.origin else ""
    where = f"{model.name} is not in {folder()}"
    if model.files and place.is_dir():
        where = f"{place} is incomplete: {model.lacking(place)[0]} is missing"
    return Unavailable(f"no weights: {where}{trouble}; put {what} there{source}")


def _caches(model: PublishedModel) -> Iterator[Path]:
    """Where other packages keep a model that they fetched."""
    if model.hub_name:
        repository = hub_cache() / f"models--{model.hub_name.replace('/', '--')}"
        with contextlib.suppress(OSError):
            commit = (repository / "refs/main").read_text(encoding="utf-8").strip()
            yield repository / "snapshots" / commit / model.inside
    if model.cached:
        yield Path(model.cached).expanduser()


def check_recorded(place: Path) -> None:
    """Raise Unavailable when a file is not the one that was fetched; silent without a record."""
    try:
        record = recorded_sums(place).read_text(encoding="utf-8")
    except OSError:
        return
    for name, expected in read_sums(record).items():
        path = place / name if place.is_dir() else place
        if path.is_file() and (actual := sha256_of(path)) != expected:
            raise Unavailable(
                f"no weights: {path} has the SHA-256 {actual}, not {expected}; delete {place} and "
                "fetch it again"
            )


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
