"""Models of how good raters are, beside the rules: whom each doubts, and whom the rules take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.arrays import Floats
from analysis.citations import citation
from analysis.formatting import counted, listed, number, percent
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import Family, coded_column, families
from analysis.report.content import Content, Table, column, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.statistics.agreement.rating_units import Rated, rated_units
from analysis.statistics.rater_models import dawid_skene, severity
from analysis.statistics.screening.screened import STRUCTURAL

MOST_LABELS, LEAST_STEPS = 11, 5
PSEUDO = 0.5
MOST_OF = 0.5  # of a rater's ratings that a rule takes, to say that it takes the rater
FEW = 3  # raters on a side, to compare them
DOUBT = 0.5  # informedness below it: nearer to guessing than to always right
NOTE = (
    "Informedness (Dawid and Skene): mean recall over the labels, 0 as by guessing, 1 always "
    "right. Severity and noise: the Bayesian model's posterior means, on the scale of the scores. "
    "All measure agreement with others: they cannot distinguish a rater who hears more than anyone "
    "else from a careless one."
)
METHOD = (
    f"Raters were judged by the model of Dawid and Skene ({citation('dawid1979')}, with 0.5 added "
    "to every count) and a hierarchical normal model with a severity and a noise variance of each "
    "rater (Gibbs sampling)."
)


@table_row
class RaterRow:
    """One rater by each model, and the rules in force that take most of what the rater gave."""

    rater: str = column("Rater")
    n_ratings: int = column("Ratings", "count")
    informedness: float | None = column("Informedness", "number", 2)
    severity: float | None = column("Severity", "number", 2, sign=True)
    severity_low: float | None = column("Severity, interval", "interval", 2, key="severity")
    severity_high: float | None = None
    noise: float | None = column("Noise", "number", 2, default=None)
    noise_low: float | None = column("Noise, interval", "interval", 2, key="noise", default=None)
    noise_high: float | None = None
    taken_by: str = column("Taken by", default="")


@table_row
class RuleRow:
    """How often a rater whom a rule leaves in is better by a model than one whom it takes."""

    rule: str = column("Rule")
    taken: int = column("Raters taken", "count")
    kept: int = column("Raters left in", "count")
    informedness: float | None = column("Informedness", "number", 2)
    noise: float | None = column("Noise", "number", 2)


@dataclass(frozen=True)
class RaterEstimates:
    """The raters of a family in the order of their codes, by each model that applies."""

    names: Sequence[str]
    counts: Sequence[int]
    values: dict[str, Floats]
    taken: dict[str, Floats]  # by rule: the share of each rater's ratings


class RaterModels(FamilyPart):
    """Dawid and Skene, and a Bayesian model of severity and noise, against the rules."""

    key = "rater_models"
    version = "1"
    title = "Models of rater quality"
    order = 73
    sampled = True
    always = False
    cost = "seconds; half a minute for a million ratings"
    nothing = "no ratings with scores: collect some, or name the column of scores"

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.ratings) > 0

    def families(self, inputs: PartInput) -> Iterable[Family]:
        """All ratings, whatever the rules leave out: they are what is judged."""
        return families(inputs.screened.kept(()))

    def of_family(self, each: FamilyInput) -> Content:
        judged = _estimate_raters(each)
        if not judged.values:
            return Content(
                [f"{family_prefix(each.title)}no model of raters fits answers of this kind."]
            )
        return Content(
            sentences=[f"{family_prefix(each.title)}{' '.join(_sentences(judged))}"],
            tables=[*_rules_table(judged, each), _raters_table(judged, each)],
            methods=[METHOD],
        )


def _estimate_raters(each: FamilyInput) -> RaterEstimates:
    units = rated_units(each.family)
    rater, names = coded_column(each.family.table["rater"])
    counts = np.bincount(rater, minlength=len(names))
    values = dict(_by_labels(each, units, rater))
    each.progress(0.5)
    values |= dict(_by_scores(each, units, rater))
    shares = {}
    for rule, reasons in each.inputs.screened.reasons.items():
        if rule not in STRUCTURAL:
            shares[rule.key] = _share_taken(each, reasons, rater, counts)
    return RaterEstimates(names, counts.tolist(), values, shares)


def _by_labels(each: FamilyInput, units: Rated, rater: np.ndarray) -> Iterator[tuple[str, Floats]]:
    label, labels = coded_column(each.family.table["label"])
    ordered = len(np.unique(units.score)) >= LEAST_STEPS  # near misses are no mistakes
    if units.compared or ordered or not 2 <= len(labels) <= MOST_LABELS:
        return
    unit = np.unique(units.unit.astype(str), return_inverse=True)[1]
    model = dawid_skene(unit, rater, label, len(labels), pseudo=PSEUDO)
    yield "informedness", model.informedness


def _by_scores(each: FamilyInput, units: Rated, rater: np.ndarray) -> Iterator[tuple[str, Floats]]:
    if len(np.unique(units.score)) < LEAST_STEPS or units.sides_by_name:
        return
    unit = np.unique(units.unit.astype(str), return_inverse=True)[1]
    model = severity(unit, rater, units.score, level=each.level, seed=each.inputs.options.seed)
    yield "severity", model.bias
    yield "severity_low", model.bias_low
    yield "severity_high", model.bias_high
    yield "noise", model.noise
    yield "noise_low", model.noise_low
    yield "noise_high", model.noise_high


def _share_taken(
    each: FamilyInput, reasons: np.ndarray, rater: np.ndarray, counts: np.ndarray
) -> Floats:
    rows = each.inputs.table.index.get_indexer(each.family.table.index)
    hit = (reasons[rows] != "").astype(np.float64)
    return np.asarray(np.bincount(rater, hit, len(counts)) / np.maximum(counts, 1))


def _sentences(judged: RaterEstimates) -> Iterator[str]:
    informedness = judged.values.get("informedness")
    if informedness is not None:
        low = informedness < DOUBT
        doubted = [name for name, is_low in zip(judged.names, low, strict=True) if is_low]
        yield f"{counted(len(doubted), 'rater')} of {len(low)} have an informedness below {DOUBT}"
        taken = np.zeros(len(low), dtype=bool)
        for shares in judged.taken.values():
            taken |= shares > MOST_OF
        both = int((taken & low).sum())
        yield f"(the rules take {both} of these, and {int(taken.sum())} in all)."
    noise = judged.values.get("noise")
    if noise is not None:
        middle = float(np.median(noise))
        loud = [
            n
            for n, low in zip(judged.names, judged.values["noise_low"], strict=True)
            if low > middle
        ]
        yield (
            f"Noise of single raters: median {number(middle, False, 2)}; clearly above it: "
            f"{counted(len(loud), 'rater')} ({percent(len(loud) / len(noise))})"
            + (f", such as {listed(loud, 3)}." if loud else ".")
        )


def _rules_table(judged: RaterEstimates, each: FamilyInput) -> Iterator[Table]:
    rows = []
    for rule, shares in judged.taken.items():
        is_taken = shares > MOST_OF
        if min(int(is_taken.sum()), int((~is_taken).sum())) < FEW:
            continue
        areas = {
            name: _better(sign * judged.values[name], is_taken) if name in judged.values else None
            for name, sign in (("informedness", 1.0), ("noise", -1.0))
        }
        rows.append(RuleRow(rule, int(is_taken.sum()), int((~is_taken).sum()), **areas))
    if rows:
        title = "Rules against models: how often a rater left in is the better one"
        note = (
            "0.5: the model sees no difference between those taken and those left in; 1: every "
            f"rater left in is better. Taken: over {percent(MOST_OF)} of a rater's ratings."
        )
        yield each.table(RuleRow, "rater_models_rules", title, rows, note=note)


def _better(value: Floats, is_taken: np.ndarray) -> float:
    """How often one who is left in has the higher value than one who is gone; ties a half."""
    ranks, n = stats.rankdata(value), int((~is_taken).sum())
    return float((ranks[~is_taken].sum() - n * (n + 1) / 2) / (n * int(is_taken.sum())))


def _raters_table(judged: RaterEstimates, each: FamilyInput) -> Table:
    def value_of(name: str, code: int) -> float | None:
        return float(judged.values[name][code]) if name in judged.values else None

    rows = [
        RaterRow(
            rater=name,
            n_ratings=judged.counts[code],
            taken_by=", ".join(r for r, shares in judged.taken.items() if shares[code] > MOST_OF),
            **{field: value_of(field, code) for field in _MEASURES},
        )
        for code, name in enumerate(judged.names)
    ]
    rows.sort(key=lambda row: (row.informedness or 0.0, -(row.noise or 0.0), row.rater))
    title = "Each rater by the models, those most in doubt first"
    return each.table(RaterRow, "rater_models_raters", title, rows, note=NOTE, folded=True)


_MEASURES = (
    *("informedness", "severity", "severity_low", "severity_high"),
    *("noise", "noise_low", "noise_high"),
)
