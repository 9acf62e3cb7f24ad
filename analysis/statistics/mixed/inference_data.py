"""Posterior draws as an ArviZ InferenceData, and as the bytes of a netCDF file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analysis.statistics.mixed.posterior import Posterior
from analysis.statistics.mixed.pymc_import import load
from analysis.statistics.mixed.sufficient_statistics import Floats

BY_CONDITION = frozenset({"condition", "score", "spread"})


def inference_data(
    posterior: Posterior,
    conditions: Sequence[str],
    *,
    labels: Floats | None = None,
    about: Mapping[str, str] | None = None,
) -> Any:
    """An `arviz.InferenceData` with the group ``posterior``, named and without time stamps.

    ``conditions`` names the means; ``labels`` (K,) are the scores that the K - 1 cut points lie
    between. ``about`` becomes attributes, beside the prior. ArviZ is imported here.
    """
    arviz = load("arviz")
    coords: dict[str, Any] = {"condition_name": list(conditions)}
    dims = {name: ["condition_name"] for name in BY_CONDITION if name in posterior.draws}
    if "cut" in posterior.draws and labels is not None:
        pairs = zip(labels[:-1].tolist(), labels[1:].tolist(), strict=True)
        coords["between"] = [f"{low:g} and {high:g}" for low, high in pairs]
        dims["cut"] = ["between"]
    draws = {name: np.asarray(values) for name, values in posterior.draws.items()}
    data = arviz.from_dict(posterior=draws, coords=coords, dims=dims)
    data.posterior.attrs = {"prior": posterior.prior, "ratings": posterior.n, **(about or {})}
    data.attrs = {}
    return data


def netcdf(data: Any) -> bytes:
    """An InferenceData as a netCDF file (HDF5): the same draws give the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draws.nc"
        data.to_netcdf(str(path), engine="h5netcdf")
        return path.read_bytes()
