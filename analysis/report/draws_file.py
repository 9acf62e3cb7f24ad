"""The draws behind a part's ranking, made again from a table and options, as a netCDF file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.ratings.grouping import Breakdown
from analysis.ratings.table import table_hash
from analysis.report.parts.general_model import fit_general_model
from analysis.report.report_schema import Report
from analysis.statistics.mixed.family_model import (
    Modelled,
    family_by_title,
    family_posterior,
    modelled,
    ordinal_draws,
    ordinal_labels,
)
from analysis.statistics.mixed.nuts import inference_data, netcdf
from analysis.statistics.mixed.posterior import Posterior
from analysis.statistics.mixed.sufficient_statistics import Floats
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("models", "ordinal", "general_model", "general_gaussian")


def draws_of(
    table: pd.DataFrame,
    options: Options,
    part: str,
    title: str,
    *,
    tell: Callable[[str], None] = lambda words: None,
) -> bytes:
    """The posterior draws that ``part`` used for the family ``title``, as netCDF.

    The same table, options and versions give the same draws as the report, and the same bytes.
    Seconds for ``models`` and ``ordinal``; minutes for the general ones (``tell`` is told what is
    being done, and may raise to stop). Raises ValueError for a part without draws, `NotEstimable`
    for a title that is not there or ratings that allow no model.
    """
    if part not in PARTS:
        raise ValueError(f"part {part} keeps no draws; choose {', '.join(PARTS)}")
    each = family_by_title(screen(table, options.rules).kept(options.rules), title)
    posterior, labels = _posterior(each, options, part, tell)
    attributes = {
        "part": part,
        "family": title,
        "table_hash": table_hash(table),
        "seed": str(each.seed(options)),
    }
    return netcdf(inference_data(posterior, each.names, labels=labels, attributes=attributes))


def with_draws(table: pd.DataFrame, options: Options, part: str) -> list[str]:
    """The titles of the families that ``part`` has draws of; quick to answer."""
    ratings = screen(table, options.rules).kept(options.rules)
    return [each.title for each in modelled(ratings)] if part in PARTS else []


def write_draws(table: pd.DataFrame, options: Options, report: Report, folder: Path) -> list[Path]:
    """The draws behind every ranking that a report shows, as ``draws-PART-N.nc`` in the folder.

    Parts whose draws were refused, or that showed nothing, have no file.
    """
    written = []
    for part in report["parts"]:
        if part["key"] not in PARTS or part["problem"]:
            continue
        ranked = {each["about"] for each in part["tables"] if each["key"].endswith("-ranks")}
        for number, title in enumerate(with_draws(table, options, part["key"]), start=1):
            if title in ranked:
                path = folder / f"draws-{part['key']}-{number}.nc"
                path.write_bytes(draws_of(table, options, part["key"], title))
                written.append(path)
    return written


def _posterior(
    each: Modelled, options: Options, part: str, tell: Callable[[str], None]
) -> tuple[Posterior, Floats | None]:
    if part == "models":
        return family_posterior(each, options), None
    if part == "ordinal":
        return ordinal_draws(each, options), ordinal_labels(each)[1]
    fit = fit_general_model(each, Breakdown(), options, part == "general_gaussian", tell)
    return fit.posterior, ordinal_labels(each)[1] if fit.ordinal else None
