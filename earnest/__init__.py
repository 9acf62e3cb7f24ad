"""Earnest for scripts: `Client(url, token)` asks a server through its REST API.

`ppi` estimates means with the help of a metric, where the analysis is installed, too.
"""

from importlib import import_module
from typing import Any

from earnest.client import Client
from earnest.errors import EarnestError
from earnest.tables import Table

__all__ = ["Client", "EarnestError", "Table", "ppi"]


def ppi(ratings: Any, scores: Any, level: float = 0.95) -> list[Any]:
    """Return prediction-powered means and differences: see `analysis.ppi`.

    Raises ImportError where the analysis is not installed.
    """
    try:
        function = import_module("analysis").ppi
    except ImportError as error:
        raise ImportError(
            f"earnest.ppi takes the analysis, and {error.name} is not installed: "
            "pip install 'earnest[analysis]'."
        ) from error
    results: list[Any] = function(ratings, scores, level)
    return results
