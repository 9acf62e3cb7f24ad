"""A place for what libraries keep between runs, for an account without a home of its own."""

import tempfile
from collections.abc import MutableMapping
from pathlib import Path


def find_a_place_for_caches(variables: MutableMapping[str, str], folder: Path) -> None:
    """Where home or cache cannot be written, e.g. of a service, libraries get `folder`.

    ArviZ and PyTensor (and so PyMC) could not be imported otherwise; Matplotlib and those that
    fetch models would start anew each time.
    """
    cache = Path(variables.get("XDG_CACHE_HOME") or "~/.cache")
    if _can_be_written(Path("~")) and _can_be_written(cache):
        return
    variables["XDG_CACHE_HOME"] = str(folder)
    variables.setdefault("MPLCONFIGDIR", str(folder / "matplotlib"))
    flags = variables.get("PYTENSOR_FLAGS", "")
    if "compiledir" not in flags:
        own = f"base_compiledir={folder / 'pytensor'}"
        variables["PYTENSOR_FLAGS"] = f"{flags},{own}" if flags else own


def _can_be_written(folder: Path) -> bool:
    """Whether files can be made in the folder, which is made if it is not there."""
    try:
        place = folder.expanduser()
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return True
    except (OSError, RuntimeError):  # RuntimeError: nobody knows a home
        return False
