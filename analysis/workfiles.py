"""Files that a worker makes from a finished run: the bundle of everything, draws of posteriors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.models import AnalysisRun, RunFile

MOST_BYTES = 256 * 1024**2


@dataclass(frozen=True)
class Kind:
    """A file that can be asked for: its name, what it is, and the function that makes its bytes."""

    name: str
    title: str
    about: str
    make: Callable[[AnalysisRun], bytes]


def kinds(report: Mapping[str, Any]) -> dict[str, Kind]:
    """The files that can be made of this report, by their names."""
    return {kind.name: kind for kind in KINDS}


def offered_files(run: AnalysisRun, report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each file that can be made, and how far it is."""
    stored = {each.name: each for each in RunFile.objects.filter(run=run).defer("content")}
    return [{"kind": kind, "file": stored.get(name)} for name, kind in kinds(report).items()]


def _bundle(run: AnalysisRun) -> bytes:
    from analysis.jobs import study_tables
    from analysis.report.bundle import bundle_zip

    return bundle_zip(run.report(), *study_tables(run.study.key))


KINDS: tuple[Kind, ...] = (
    Kind(
        "bundle.zip",
        "Everything in one file",
        "Report, tables for papers (LaTeX, Markdown, CSV), figures (PDF, SVG, PNG), methods in "
        "words, all numbers with where they are from, and the pseudonymous ratings where they are "
        "still those of this analysis. Making it takes up to a minute.",
        _bundle,
    ),
)
