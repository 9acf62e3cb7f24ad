"""A study of the site as an analysis takes it: its ratings, its metric scores, its rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from analysis.report.report_schema import InterimRow, Report
from analysis.statistics.comparisons.hypothesis_sentences import can_be_tested
from analysis.statistics.options import Options
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import as_it_is_here
from analysis.statistics.screening.screened import Spared
from analysis.statistics.screening.screened import study_rules as rules_of
from analysis.statistics.screening.single_ratings import LeftOut, Review
from analysis.web.combining import combined_table, notes_of

if TYPE_CHECKING:
    import pandas as pd

    from analysis.report.part import PartInput
    from analysis.report.writers.training_files import TrainingFiles
    from listening.selectors import RuleFacts, StudyFacts


class StudyLabels(TypedDict):
    """What a study calls its conditions and tasks, by their keys."""

    labels: dict[str, str]
    task_titles: dict[str, str]


def study_rules(study_key: str) -> tuple[Rule, ...]:
    """The rules of a study unless others are asked for.

    Its trap plans, a review of reasons that is in use, what it leaves out by name, and the rules
    of its page *Validity*.
    """
    own = (as_it_is_here(each["rule"]) for each in rules_in_force(study_key))
    return tuple(dict.fromkeys((*standing_rules(study_key), *own)))


def standing_rules(study_key: str) -> tuple[Rule, ...]:
    """The rules that follow from the study itself, and from what was reviewed and left out."""
    from listening.selectors import excluded_names, has_review_in_use, trap_plans

    reviewed = (Review(),) if has_review_in_use(study_key) else ()
    named = excluded_names(study_key)
    out = (LeftOut(named["condition"], named["stimulus"]),) if any(named.values()) else ()
    return (*rules_of(trap_plans(study_key)), *reviewed, *out)


def rules_in_force(study_key: str) -> list[RuleFacts]:
    """The rules that the study declared or added, and did not end, in their order."""
    from listening.selectors import analysis_rules

    return [each for each in analysis_rules(study_key) if not each["ended_on"]]


def study_spared(study_key: str) -> tuple[Spared, ...]:
    """Exclusions that were undone: the key of a rule, and a rater's code."""
    from listening.selectors import spared_raters

    return tuple((each["rule"], each["rater"]) for each in spared_raters(study_key))


def study_hypotheses(study_key: str) -> tuple[str, ...]:
    """The hypotheses in force that are in a form that can be tested; others are in words only."""
    from listening.selectors import hypotheses

    texts = [each["text"] for each in hypotheses(study_key) if not each["ended_on"]]
    return tuple(text for text in texts if can_be_tested(text))


def study_covariates(study_key: str) -> tuple[str, ...]:
    """The covariates of clips that the study declared."""
    from listening.selectors import declared_covariates

    return tuple(declared_covariates(study_key))


def study_report(study_key: str, options: Options) -> tuple[pd.DataFrame, Report]:
    """A study's ratings table and its report, with the metric scores that are stored."""
    from analysis.report.build import report_of

    table, scores = study_tables(study_key, options)
    looking = interim_of(study_key, options)
    report = report_of(table, scores, options, looking=looking, **told_of(study_key))
    report = with_version_notes(report, study_key, options)
    return table, with_labels(report, study_labels(study_key))


def interim_of(study_key: str, options: Options) -> Callable[[PartInput], list[InterimRow]] | None:
    """What bounds the results of a study while recruiting is open; None once it is not.

    Versions that are combined have no sequential intervals: nothing is claimed of them meanwhile.
    """
    from analysis.report.interim import interim_families
    from listening.selectors import interim_questions, still_open

    if not still_open(study_key):
        return None
    questions = [] if options.versions else interim_questions(study_key)
    return partial(interim_families, questions=questions)


def study_tables(study_key: str, options: Options) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A study's ratings, with those of the versions that are asked for; and its metric scores.

    Scores are those of the study's own clips: an earlier version may have others.
    """
    from analysis.ratings.metric_scores import scores_from_rows
    from analysis.ratings.study_scores import study_scores

    return combined_table(study_key, options), scores_from_rows(study_scores(study_key))


def study_training_files(
    study_key: str, options: Options | None = None, *, with_simulated: bool = False
) -> TrainingFiles:
    """A study's files for training, of the ratings that its report rests on.

    Those of simulated raters are left out, or marked as such in a note.
    """
    from analysis.ratings.study_scores import study_scores
    from analysis.report.build import are_scripted
    from analysis.report.writers.training_files import training_files
    from analysis.statistics.screening.screened import screen
    from listening.selectors import study_clips

    options = options or Options(rules=study_rules(study_key), spared=study_spared(study_key))
    table = combined_table(study_key, options)
    ratings = screen(table, options.rules, options.spared).kept(options.rules)
    simulated = are_scripted(ratings["rater"])
    notes = []
    if count := int(simulated.sum()):
        notes = [f"{count:,} ratings are of simulated raters, no people."]
        if not with_simulated:
            notes = [f"{count:,} ratings of simulated raters are left out."]
            ratings = ratings[~simulated]
    clips, scores = study_clips(study_key), study_scores(study_key)
    return training_files(study_key, ratings, clips, scores, notes)


class StudyTables(TypedDict):
    """What a study tells its report beside the ratings; see `analysis.report.part.PartInput`."""

    order: dict[str, list[str]]
    facts: StudyFacts


def told_of(study: str) -> StudyTables:
    """The order of its names, and what it was."""
    from listening.selectors import method_facts, names_in_order

    return StudyTables(order=names_in_order(study), facts=method_facts(study))


def study_labels(study: str) -> StudyLabels:
    """What a report of the study calls its conditions and tasks."""
    from listening.selectors import condition_labels, task_titles

    labels = {key: label for key, label in condition_labels(study).items() if label}
    return {"labels": labels, "task_titles": task_titles(study)}


def with_version_notes(report: Report, study_key: str, options: Options) -> Report:
    """The report with what is to be known of the versions that it combines."""
    return {**report, "warnings": [*notes_of(study_key, options), *report["warnings"]]}


def with_labels(report: Report, labels: StudyLabels) -> Report:
    """The report with what its study calls things, where it calls them anything."""
    named: Report = {**report}
    if labels["labels"]:
        named["labels"] = labels["labels"]
    if labels["task_titles"]:
        named["task_titles"] = labels["task_titles"]
    return named
