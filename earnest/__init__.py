"""Earnest for scripts: `Client(url, token)` asks a server through its REST API.

`score` computes metrics of audio, and `ppi` estimates means with the help of a metric, both
without a server, where the packages for it are installed.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from earnest.client import Client
from earnest.errors import EarnestError
from earnest.tables import Table

__all__ = ["Client", "EarnestError", "Table", "ppi", "score"]


def ppi(ratings: Any, scores: Any, level: float = 0.95) -> list[Any]:
    """Return prediction-powered means and differences: see `analysis.ppi`.

    Raises ImportError where the analysis is not installed.
    """
    results: list[Any] = _from("analysis", "ppi")(ratings, scores, level)
    return results


def score(
    rows: Iterable[Mapping[str, Any]], metrics: Any = "fast", **options: Any
) -> Iterator[dict[str, Any]]:
    """Score each row's audio; yield each row with its scores: see `metrics.scoring.scored_rows`.

    Raises ImportError where the metrics are not installed.
    """
    function = _from("metrics.scoring.scored_rows", "score")
    scored: Iterator[dict[str, Any]] = function(rows, metrics, **options)
    return scored


def _from(module: str, name: str) -> Any:
    """What a package of the server has, by name."""
    package = module.partition(".")[0]
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise ImportError(
            f"earnest.{name} takes the {package}, and {error.name} is not installed: "
            f"pip install 'earnest[{package}]'."
        ) from error
