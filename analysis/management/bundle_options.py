"""The command-line options of a bundle of files, and how it is written."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.ratings.covariate_columns import Covariates
from analysis.report.report_schema import Report
from listening.common.counted import counted
from listening.common.whole_files import write_whole

WIDTHS = {"auto": None, "none": None, "single": 3.35, "double": 7.0}


def add_bundle_options(parser: ArgumentParser) -> None:
    """The options that `write_bundle` reads, but for --out."""
    parser.add_argument(
        "--everything",
        action="store_true",
        help=(
            "Write all files: every table and figure, all numbers with their provenance, and the "
            "whole report. Default: the paper files, at most ten."
        ),
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="Print only the paths of the files, for scripts.",
    )
    parser.add_argument(
        "--zip", action="store_true", help="Write one zip file instead of many files."
    )
    parser.add_argument("--no-ratings", action="store_true", help="Leave out ratings and sessions.")
    parser.add_argument(
        "--figures",
        choices=sorted(WIDTHS),
        default="auto",
        help=(
            "Width of the figures of --everything: single column (3.35 in), double column (7 "
            "in), or what fits (auto, the default); none writes no figures."
        ),
    )


def written_lines(paths: Iterable[Path], arguments: Mapping[str, Any]) -> Iterator[str]:
    """The files that were written: each, or for people those of a folder inside as a number."""
    inside: Counter[Path] = Counter()
    for path in paths:
        if arguments["quiet"] or path.parent == arguments["out"]:
            yield str(path)
        else:
            inside[path.parent] += 1
    yield from (f"{folder}: {counted(count, 'file')}" for folder, count in inside.items())


def write_bundle(
    arguments: Mapping[str, Any],
    name: str,
    report: Report,
    table: Any,
    scores: Any,
    extra: Mapping[str, str] | None = None,
    covariates: Covariates | None = None,
) -> Iterator[Path]:
    """Write the bundle into the folder ``out``, or as ``name``.zip there; each path written."""
    from analysis.report.writers.bundle import BundleChoice, bundle, bundle_files, zip_files

    ratings = None if arguments["no_ratings"] else table
    wanted = BundleChoice(
        everything=arguments["everything"],
        extra=extra or {},
        width_in=WIDTHS[arguments["figures"]],
        figures=arguments["figures"] != "none",
        covariates=covariates or {},
    )
    folder: Path = arguments["out"]
    if not arguments["zip"]:
        yield from bundle(report, ratings, scores, folder, wanted)
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.zip"
    write_whole(path, zip_files(bundle_files(report, ratings, scores, wanted)))
    yield path


def note_export(study: str, target: Path) -> None:
    """A line in the study's log: who withdraws later is still in these files."""
    from analysis.models import AnalysisRun
    from listening.common.signals import acted

    studies = AnalysisRun._meta.get_field("study").related_model
    pk = studies._default_manager.values_list("pk", flat=True).get(key=study)
    acted.send(__name__, study_id=pk, by="", what="exported", details={"file": str(target)})
