"""Files made from a finished run: for a paper, of everything, draws of posteriors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from analysis.models import AnalysisRun, RunFile
from analysis.report.report_schema import Report
from analysis.web.combining import combined_rows, combined_state
from analysis.web.study_tables import study_tables, study_training_files

MOST_BYTES = 256 * 1024**2
PAPER = "paper.zip"
QUICK_RATINGS = 5_000  # of so many a page makes the paper files at once, in under a second


@dataclass(frozen=True)
class Kind:
    """A file that can be asked for: its name, what it is, and the function that makes its bytes."""

    name: str
    title: str
    about: str
    make: Callable[[AnalysisRun], bytes]


def kinds(report: Report) -> dict[str, Kind]:
    """The files that can be made of this report, by their names."""
    return {kind.name: kind for kind in (*KINDS, *_draws_kinds(report))}


def offered_files(run: AnalysisRun, report: Report) -> list[dict[str, Any]]:
    """Each file that can be made, and how far it is."""
    stored = {each.name: each for each in RunFile.objects.filter(run=run).defer("content")}
    return [
        {"kind": kind, "file": stored.get(name), "at_once": name == PAPER and is_quick(run)}
        for name, kind in kinds(report).items()
    ]


def is_quick(run: AnalysisRun) -> bool:
    """Whether the paper files are made while somebody waits, without a worker."""
    return (run.ratings or 0) <= QUICK_RATINGS


def paper_zip(run: AnalysisRun) -> bytes:
    """The paper files, with the ratings where they are still those of the run."""
    from analysis.report.exclusions import judged_csv
    from analysis.report.writers.bundle import date_by_ratings, zip_files
    from analysis.report.writers.paper_bundle import paper_bundle
    from listening.selectors import covariate_values

    key, versions, report = run.study.key, run.versions, run.report()
    ratings, why = None, "the ratings have changed since"
    if combined_state(key, versions)["mark"] == run.ratings_mark:
        rows = combined_rows(key, versions)
        # With covariates of clips alone: paper files are published, and answers are the raters'.
        ratings = "".join(judged_csv(rows, report, covariate_values(key)))
    return zip_files(paper_bundle(date_by_ratings(report), ratings, why).items())


def _bundle(run: AnalysisRun) -> bytes:
    from analysis.report.writers.bundle import BundleChoice, bundle_files, zip_files
    from analysis.report.writers.report_card import card_files
    from analysis.statistics.options import options_from
    from listening.selectors import method_facts

    report, key = run.report(), run.study.key
    facts = method_facts(key)
    wanted = BundleChoice(extra=card_files(report, facts), covariates=facts.get("covariates", {}))
    tables = study_tables(key, options_from(run.parameters))
    return zip_files(bundle_files(report, *tables, wanted))


def _training(run: AnalysisRun) -> bytes:
    from analysis.report.writers.bundle import zip_files
    from analysis.statistics.options import options_from

    files = study_training_files(run.study.key, options_from(run.parameters))
    return zip_files((name, text.encode()) for name, text in files.texts.items())


KINDS: tuple[Kind, ...] = (
    Kind(
        PAPER,
        "Paper files",
        "Plot (PDF, SVG), main table and differences (LaTeX, CSV), methods and a README. "
        "Includes the pseudonymous ratings if they have not changed since this analysis.",
        paper_zip,
    ),
    Kind(
        "bundle.zip",
        "All files",
        "Paper files, report, all tables (LaTeX, Markdown, CSV) and figures (PDF, SVG, PNG), and "
        "all numbers with their sources. Takes up to a minute.",
        _bundle,
    ),
    Kind(
        "training.zip",
        "Training files",
        "Pairs for DPO and reward models, lists for MOS predictors (SSL-MOS, UTMOS, NISQA) and "
        "score files of VERSA and ESPnet. The command export_training also writes the clips.",
        _training,
    ),
)


def _draws_kinds(report: Report) -> Iterator[Kind]:
    """The posterior draws of each model of the report and each family."""
    from analysis.report.figures.all_figures import slug
    from analysis.report.writers.captions import Families

    families = Families(report)
    for part in report.get("parts", ()):
        if part["key"] not in WITH_DRAWS or part["problem"]:
            continue
        abouts = dict.fromkeys(table["about"] for table in part["tables"] if table["about"])
        for title in abouts:
            yield Kind(
                f"draws-{part['key']}-{slug(title)}.nc",
                f"Draws: {part['title']}, {families.of_title(title)}",
                "Posterior draws as netCDF. ArviZ reads them as InferenceData. "
                f"{WITH_DRAWS[part['key']]}",
                partial(_draws, part["key"], title),
            )


def _draws(part: str, title: str, run: AnalysisRun) -> bytes:
    """The draws again from the ratings, which must be those of the run."""
    from analysis.ratings.table import table_hash
    from analysis.report.draws_file import draws_of
    from analysis.statistics.options import options_from

    options = options_from(run.parameters)
    table, _ = study_tables(run.study.key, options)
    if table_hash(table) != run.table_hash:
        raise ValueError("the ratings have changed; re-run the analysis, then create this file")
    return draws_of(table, options, part, title)


WITH_DRAWS = {  # the parts that have draws, and what making their file costs
    "models": "Takes seconds.",
    "ordinal": "Takes seconds.",
    "general_model": "Takes minutes.",
    "general_gaussian": "Takes minutes.",
}
