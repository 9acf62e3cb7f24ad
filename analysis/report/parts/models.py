"""Mixed models of every task: means, what varies, differences, and the ranking by a posterior."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.arrays import Bools
from analysis.formatting import enumerated, listed
from analysis.name_spans import condition_span, family_prefix, family_span
from analysis.ratings.breakdowns import families
from analysis.ratings.estimands import estimand_of, family_title
from analysis.ratings.grouping import Breakdown
from analysis.ratings.large_tables import LARGE
from analysis.report.content import Column, Content, Figure, Table, together
from analysis.report.part import Part, PartInput
from analysis.statistics.comparisons.simultaneous import ranking_draws
from analysis.statistics.comparisons.systems_under_test import Candidates, candidates
from analysis.statistics.intervals import clustered
from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.family_model import (
    MOST_CELLS,
    NO_DRAWS,
    Modelled,
    comparable,
    family_posterior,
    has_own_spreads,
    model_effects,
    modelled,
)
from analysis.statistics.mixed.large_fit import BY_MOMENTS
from analysis.statistics.mixed.linear_model import PATIENT, QUICK, Effects, affordable
from analysis.statistics.mixed.model_contrasts import Means, Pairs, means, pair_matrix, pairs
from analysis.statistics.mixed.model_errors import NotEstimable, Refusal
from analysis.statistics.mixed.nuts import RESIDUAL, SD_NAMES
from analysis.statistics.mixed.posterior import Comparison, Posterior, Ranks, Summary, ranks_of
from analysis.statistics.mixed.reml import RemlFit
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, sums
from analysis.statistics.mixed.table_model import Arrays, allowed_effects, arrays_of, reml_of
from analysis.statistics.options import Options

ALONE = (
    "The model holds the systems alone, because it assumes equal variances. The reference and the "
    "anchors at the ends of the scale vary less"
)


@dataclass(frozen=True)
class RemlInput:
    """What REML is made of: ``arrays``, and the codes of their conditions among all ``size``."""

    arrays: Arrays
    codes: Codes
    size: int

    def means(self, fit: RemlFit, level: float) -> Means:
        """The means of all conditions; NaN for those that are not in the fit."""
        estimates = means(fit, level=level)
        return replace(estimates, **_spread_out(vars(estimates), self.codes, self.size))

    def pairs(self, fit: RemlFit, level: float) -> Pairs:
        """The differences of all pairs of conditions; NaN for those that are not in the fit."""
        contrasts = pairs(fit, level=level)
        first, second, _ = pair_matrix(self.size)
        place = np.zeros((self.size, self.size), dtype=np.int64)
        place[first, second] = np.arange(len(first))
        where = place[self.codes[contrasts.first], self.codes[contrasts.second]]
        wide = _spread_out(vars(contrasts), where, len(first)) | {"first": first, "second": second}
        return replace(contrasts, **wide)


def reml_input(modelled: Modelled, options: Options) -> tuple[Candidates, RemlInput]:
    """Who is a candidate, and what REML compares: all, on a large scale the systems alone."""
    among = candidates(modelled.table, modelled.names, options.reference)
    every = np.arange(len(modelled.names))
    if not (has_own_spreads(modelled) and among.exclusions_text and any(among.ranked)):
        return among, RemlInput(modelled.arrays, every, len(every))
    systems = [name for name, ranked in zip(modelled.names, among.ranked, strict=True) if ranked]
    table = modelled.table[modelled.table["condition"].isin(systems)]
    return among, RemlInput(arrays_of(table), every[np.array(among.ranked)], len(every))


def _spread_out(
    values: dict[str, object], where: Codes | Sequence[int], size: int
) -> dict[str, Any]:
    wide: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray) and name not in ("first", "second"):
            wide[name] = np.full(size, np.nan)
            wide[name][where] = value
    return wide


MANY = 40  # conditions; draws of more are made when asked for by name

TOO_NARROW = (
    "the mixed model leaves out how texts or clips differ, because this design is too large for "
    "that: its intervals are too narrow, and its tests find too much. The two-way clustered "
    "intervals hold for other texts too"
)


@dataclass(frozen=True)
class Fits:
    """What was fitted to one family; None where it could not be, with the reason in ``notes``.

    ``comparison`` is a Refusal where the draws are not to be trusted. ``ranks`` are by variances of
    the answer's own intervals. ``too_large`` names effects that are in neither model, because
    this design makes them too much work.
    """

    modelled: Modelled
    reml: RemlFit | None
    means: Means | None
    pairs: Pairs | None
    posterior: Posterior | None
    comparison: Comparison | Refusal | None
    ranks: Ranks | None
    notes: tuple[str, ...]
    among: Candidates
    too_large: tuple[str, ...] = ()

    @property
    def falling(self) -> list[int]:
        """The codes of the conditions, the highest mean first."""
        value = np.full(len(self.modelled.names), np.nan)
        if self.means is not None:
            value = self.means.value
        if self.posterior is not None and np.isnan(value).any():
            value = self.posterior.draws["condition"].mean(axis=(0, 1))
        if np.isnan(value).all():
            return []
        return [int(i) for i in np.lexsort((np.arange(len(value)), -value))]

    @property
    def compared(self) -> Comparison | None:
        """The comparison by draws, where one may be shown."""
        return self.comparison if isinstance(self.comparison, Comparison) else None


def family_effects(inputs: PartInput) -> Iterable[tuple[Modelled, Effects]]:
    """The families that a mixed model compares, and the effects that it takes in, by their size.

    Made once a report, for the answer and the models; of millions of ratings one family at a time.
    """
    most = _most(inputs.options)
    models = ((each, model_effects(each, most)) for each in modelled(inputs.ratings))
    if len(inputs.ratings) > LARGE:
        return models
    return inputs.once("mixed models: families and effects", lambda: list(models))


def _most(options: Options) -> float:
    return PATIENT if MODELS in options.parts else QUICK


MODELS = "models"  # the part that shows them


def fits_of(modelled: Modelled, effects: Effects, options: Options) -> Fits:
    """REML and posterior of one family; asked for by name, larger designs are fitted too."""
    notes: list[str] = [
        f"{condition_span(name)} has one rating: no model" for name in modelled.alone
    ]
    fit = posterior = comparison = None
    among, compared = reml_input(modelled, options)
    own = compared.arrays is modelled.arrays
    of_reml = effects
    if not own:
        of_reml = affordable(
            allowed_effects(compared.arrays), compared.arrays.condition, _most(options)
        )
    try:
        fit = reml_of(compared.arrays, of_reml)
    except NotEstimable as error:
        notes.append(f"no mixed model: {error}")
    try:
        posterior = _posterior(modelled, options, effects, fit if own else None)
        rope = modelled.rope(options)
        comparison = posterior.comparison(rope=rope, level=options.level, ranked=among.ranked)
        notes += [] if effects.of_texts else _weak(modelled)
    except NotEstimable as error:
        notes.append(f"no posterior: {error}")
    return Fits(
        modelled=modelled,
        reml=fit,
        means=compared.means(fit, options.level) if fit else None,
        pairs=compared.pairs(fit, options.level) if fit else None,
        posterior=posterior,
        comparison=comparison,
        ranks=standing_of(modelled, among, options)[0],
        notes=tuple(dict.fromkeys(notes)),
        too_large=effects.too_large,
        among=among,
    )


def standing_of(
    modelled: Modelled, among: Candidates, options: Options
) -> tuple[Ranks | None, Bools]:
    """Ranks of the candidates by the answer's own variances, and which differences are claimed.

    None with fewer than two candidates that have two ratings, raters and items.
    """
    arrays, names = modelled.arrays, modelled.names
    codes = arrays.condition, arrays.rater, arrays.item
    means = clustered(arrays.y, *codes, len(names), ends=modelled.family.ends)
    draws, claimed = ranking_draws(
        means, np.flatnonzero(among.ranked).tolist(), level=options.level
    )
    drawn = np.isfinite(draws[0, 0])
    if drawn.sum() < 2:
        return None, claimed
    ranks = ranks_of(draws, drawn.tolist())
    return ranks.limited(claimed, (1 + options.level) / 2), claimed


def _posterior(
    modelled: Modelled, options: Options, effects: Effects, fit: RemlFit | None
) -> Posterior:
    if effects.by_moments:
        raise NotEstimable(*NO_DRAWS)
    arrays = modelled.arrays
    size = (int(arrays.rater.max()) + 1) * len(arrays.names)
    large = size > MOST_CELLS and (has_own_spreads(modelled) or not effects.of_texts)
    if (large or len(arrays.names) > MANY) and MODELS not in options.parts:
        raise NotEstimable(
            "so many raters and conditions take too long for every report",
            "ask for it by name: --part models",
        )
    return family_posterior(modelled, options, effects, fit)


def _weak(modelled: Modelled) -> list[str]:
    arrays = modelled.arrays
    refused = linear_model.refused_effects(sums(arrays.y, arrays.rater, arrays.cell))
    return [
        f"how much {_PLURAL[name]} is mostly assumed in the posterior (by its prior): {why}"
        for name, why in refused.items()
        if why
    ]


_PLURAL = {
    linear_model.RATER: "raters differ in leniency",
    linear_model.RATER_CONDITION: "raters differ in what they like",
}


@dataclass(frozen=True)
class CellModel:
    """The means of conditions by cells of a crossing: ``names`` (condition, values), and averages.

    ``average`` has one row per condition in ``averaged``: the mean of its cells, each weighing the
    same, for conditions that have all cells.
    """

    breakdown: Breakdown
    names: tuple[tuple[str, ...], ...]
    counts: list[int]
    means: Means
    averaged: Sequence[str]
    average: Means
    notes: tuple[str, ...]


def cell_model(modelled: Modelled, breakdown: Breakdown, level: float) -> CellModel:
    """REML of means per cell with rater and rater by condition (M3); raises NotEstimable."""
    arrays = arrays_of(modelled.table, breakdown.compare, breakdown.by)
    fit = linear_model.nested_reml(sums(arrays.y, arrays.rater, arrays.cell, arrays.cell_condition))
    weights, averaged = _averages(arrays.names)
    return CellModel(
        breakdown,
        arrays.names,
        np.bincount(arrays.cell).tolist(),
        means(fit, level=level),
        averaged,
        means(_AveragedFit(fit, weights), level=level),
        fit.notes,
    )


@dataclass(frozen=True)
class _AveragedFit:
    """A fit seen through fixed combinations (A, C) of its means."""

    fit: RemlFit
    weights: Floats

    @property
    def estimate(self) -> Floats:
        return np.asarray(self.weights @ self.fit.estimate, dtype=np.float64)

    def variances(self, contrasts: Floats) -> Floats:
        return self.fit.variances(contrasts @ self.weights)

    def degrees(self, contrasts: Floats) -> Floats:
        return self.fit.degrees(contrasts @ self.weights)


def _averages(names: Sequence[tuple[str, ...]]) -> tuple[Floats, list[str]]:
    values = {name[1:] for name in names}
    owners = sorted({name[0] for name in names})
    whole = [owner for owner in owners if sum(name[0] == owner for name in names) == len(values)]
    weights = [[(name[0] == owner) / len(values) for name in names] for owner in whole]
    return np.array(weights, dtype=np.float64).reshape(len(whole), len(names)), whole


MOST_DRAWN = 30  # conditions in a heatmap
_SMALL = 0.005
_SAME_RANK = 0.005  # expected ranks that two decimals do not tell apart
_OF_CONDITIONS = {"condition": "mean", "score": "mean score", "spread": "spread"}
_WRITTEN = 20  # most conditions whose probabilities are written into their squares


def by_chance(probability: float) -> str:
    """A probability in percent; near 0 and 1 as a bound."""
    if probability > 0.999:
        return "over 99.9 %"
    return "under 0.1 %" if probability < 0.001 else f"{probability * 100:.1f} %"


def best_sentence(
    prefix: str,
    names: Sequence[str],
    comparison: Ranks | Refusal | None,
    among: Candidates | None = None,
) -> list[str]:
    """Who is the best with which probability, or why no ranking is shown; and who is not ranked.

    ``prefix`` says what they are about (`family_prefix`).
    """
    names = list(map(condition_span, names))
    if isinstance(comparison, Refusal):
        return [f"{prefix}no ranking is shown, because {comparison}."]
    if comparison is None or len(names) < 2:
        return []
    left = (
        [f"{prefix}not ranked: {among.exclusions_text}."] if among and among.exclusions_text else []
    )
    order = [i for i in by_expected_rank(names, comparison) if comparison.expected_rank[i] > 0]
    if len(order) < 2:
        return left
    falling = sorted(order, key=lambda i: (-comparison.p_best[i], order.index(i)))
    chance = [by_chance(comparison.p_best[i]) for i in falling]
    alike = [names[i] for i, share in zip(falling, chance, strict=True) if share == chance[0]]
    if len(alike) > 1:
        share = f"{listed(alike)} are each the best with a probability of {chance[0]}"
    else:
        share = f"{names[falling[0]]} is the best with a probability of {chance[0]}"
        share += _next(names, comparison, [i for i in order if i != falling[0]], falling[0])
    return [f"{prefix}{share}.", *left]


def _next(names: Sequence[str], comparison: Ranks, others: list[int], best: int) -> str:
    """Who follows, by expected rank: probabilities of being the best are often 0 for several."""
    rank = comparison.expected_rank
    if rank[others[0]] < rank[best] - _SAME_RANK:
        better = f"{rank[others[0]]:.2f} against {rank[best]:.2f}"
        return f", but {names[others[0]]} has the better expected rank ({better})"
    level = [i for i in others if rank[i] < rank[others[0]] + _SAME_RANK]
    chance = [by_chance(comparison.p_best[i]) for i in level]
    if len(level) > 1:
        each = f" ({listed(chance)} to be the best)"
        return f"; {listed([names[i] for i in level])} share the next expected rank{each}"
    return f"; next by expected rank is {names[level[0]]}, the best with {chance[0]}"


def rank_heatmap(
    key: str, title: str, names: Sequence[str], comparison: Ranks, about: str
) -> list[Figure]:
    """The probability of each rank; nothing for one condition or too many to read."""
    ranked = [i for i in by_expected_rank(names, comparison) if comparison.expected_rank[i] > 0]
    if not 1 < len(ranked) <= MOST_DRAWN:
        return []
    rows = []
    for i in ranked:
        for rank, share in enumerate(comparison.rank_probability[i].tolist(), start=1):
            text = _share_words(share) if len(ranked) <= _WRITTEN else " "
            rows.append({"row": names[i], "column": str(rank), "value": share, "text": text})
    return [
        Figure(
            key=key,
            title=title,
            drawing="heatmap",
            rows=rows,
            x="Rank, 1 is the best",
            y="Condition",
            ends=(0.0, 1.0),
            note="Probability of each rank in percent; blank below half a percent.",
            about=about,
        )
    ]


def _share_words(share: float) -> str:
    if share < _SMALL:
        return " "
    return ">99" if share >= 1 - _SMALL else f"{share * 100:.0f}"


def by_expected_rank(names: Sequence[str], comparison: Ranks) -> list[int]:
    """Codes of conditions by expected rank, the best first, and then those that are not ranked."""
    rank = np.nan_to_num(comparison.expected_rank, nan=np.inf)
    return sorted(range(len(names)), key=lambda i: (rank[i], names[i]))


def role_column(among: Candidates | None) -> list[Column]:
    """A column that tells references and anchors from what is ranked, where there are any."""
    return [Column("role", "Role")] if among and among.exclusions_text else []


def role_cell(among: Candidates | None, i: int) -> dict[str, str]:
    """The role of condition i, where some are not ranked."""
    return {"role": among.roles[i]} if among and among.exclusions_text else {}


def summary_cells(key: str, summary: Summary, i: int) -> dict[str, float]:
    """Mean, SD and interval of the i-th posterior summary, under names that begin with ``key``."""
    return {
        key: float(summary.mean[i]),
        f"{key}_sd": float(summary.sd[i]),
        f"{key}_low": float(summary.low[i]),
        f"{key}_high": float(summary.high[i]),
    }


def rank_table(
    key: str,
    title: str,
    names: Sequence[str],
    comparison: Ranks,
    about: str,
    among: Candidates | None = None,
    note: str = "",
) -> Table:
    """P(best), expected rank and each rank's probability, of many ranks in the CSV alone."""
    rows: list[dict[str, Any]] = []
    for i in by_expected_rank(names, comparison):
        row: dict[str, Any] = {"condition": names[i], **role_cell(among, i)}
        if comparison.expected_rank[i] > 0:
            row["p_best"] = float(comparison.p_best[i])
            row["expected_rank"] = float(comparison.expected_rank[i])
            ranks = enumerate(comparison.rank_probability[i].tolist(), start=1)
            row |= {f"rank_{rank}": share for rank, share in ranks}
        rows.append(row)
    count = comparison.rank_probability.shape[1]
    shown = range(1, count + 1 if count <= 8 else 4)
    columns = [
        Column("condition", "Condition"),
        *role_column(among),
        Column("p_best", "P(best)", "percent"),
        Column("expected_rank", "Expected rank", "number", 2),
        *(Column(f"rank_{rank}", f"Rank {rank}", "percent") for rank in shown),
    ]
    return Table(key, title, columns, rows, note, about=about, folded=True)


def contrast_table(
    key: str,
    title: str,
    names: Sequence[str],
    order: Sequence[int],
    pairs: Pairs | None,
    comparison: Comparison | None,
    about: str,
) -> Table:
    """All differences, the higher condition first: REML's test beside the posterior's."""
    contrasts = pairs or comparison
    assert contrasts is not None
    place = {code: i for i, code in enumerate(order)}
    rows = []
    for m, (a, b) in enumerate(
        zip(contrasts.first.tolist(), contrasts.second.tolist(), strict=True)
    ):
        sign = 1.0 if place[a] < place[b] else -1.0
        upper, lower = (a, b) if sign > 0 else (b, a)
        row: dict[str, Any] = {"condition": names[upper], "versus": names[lower]}
        row |= _test_cells(pairs, m, sign) if pairs is not None else {}
        row |= _posterior_cells(comparison, m, sign) if comparison is not None else {}
        rows.append((place[upper], place[lower], row))
    rows.sort(key=lambda each: each[:2])
    columns = [Column("condition", "Higher"), Column("versus", "Lower")]
    if pairs is not None:
        columns += [
            Column("difference", "Difference", "number", sign=True),
            Column("difference", _level(pairs.level, "interval"), "interval"),
            Column("p", "p", "p"),
            Column("p_holm", "p (Holm)", "p"),
        ]
    if comparison is not None:
        if pairs is None:
            columns.append(Column("bayes", "Difference", "number", sign=True))
        columns += [
            Column("bayes", _level(comparison.difference.level, "HDI"), "interval"),
            Column("p_superior", "P(higher)", "percent", 3),
            Column("p_equivalent", f"P(within ±{comparison.rope:g})", "percent", 3),
        ]
    note = OTHER_TEST if pairs is not None else ""
    return Table(key, title, columns, [row for *_, row in rows], note, about, folded=True)


def diagnostics_table(
    key: str,
    title: str,
    names: Sequence[str],
    posterior: Posterior,
    about: str,
    folded: bool = True,
) -> Table:
    """R-hat and effective sample sizes of every quantity; Pareto k or NUTS's own in the note."""
    diagnostics = posterior.diagnostics
    rows = [
        {
            "quantity": quantity_name(label, names),
            "r_hat": value,
            "ess_bulk": diagnostics.ess_bulk[label],
            "ess_tail": diagnostics.ess_tail[label],
        }
        for label, value in diagnostics.r_hat.items()
    ]
    columns = [
        Column("quantity", "Quantity"),
        Column("r_hat", "R-hat", "number", 4),
        Column("ess_bulk", "ESS, bulk", "count"),
        Column("ess_tail", "ESS, tail", "count"),
    ]
    notes = [f"{drawn_words(posterior)}. Wanted: R-hat below 1.01, ESS above 400"]
    if diagnostics.pareto_k is not None:
        notes.append(f"Pareto k at most 0.7: {diagnostics.pareto_k:.2f}")
    if diagnostics.acceptance is not None:
        notes.append(f"{diagnostics.acceptance * 100:.0f} % of the proposals were accepted")
    if diagnostics.divergences is not None:
        notes.append(f"divergences 0: {diagnostics.divergences}")
    if diagnostics.bfmi is not None:
        notes.append(f"BFMI at least 0.3: {diagnostics.bfmi:.2f}")
    return Table(key, title, columns, rows, "; ".join(notes) + ".", about, folded)


def drawn_words(posterior: Posterior) -> str:
    """How many draws there are, and of how many that were taken."""
    chains, length = next(iter(posterior.draws.values())).shape[:2]
    taken, thin = posterior.diagnostics.taken, posterior.diagnostics.thin
    words = f"{chains} chains of {length:,} draws"
    if thin > 1:
        words += f", 1 in {thin} of {taken:,} that were taken, as fewer did not suffice"
    return words


def quantity_name(label: str, names: Sequence[str]) -> str:
    """``condition[2]`` and ``score[2]`` by the condition's name; others as they are, in words."""
    head, _, rest = label.partition("[")
    if head in _OF_CONDITIONS and rest:
        what = _OF_CONDITIONS[head]
        return f"{what} of {names[int(rest.rstrip(']'))]}"
    return label.replace("sd_", "SD of ").replace("_condition", " by condition")


def _test_cells(pairs: Pairs, m: int, sign: float) -> dict[str, Any]:
    ends = sorted((sign * float(pairs.low[m]), sign * float(pairs.high[m])))
    return {
        "difference": sign * float(pairs.value[m]),
        "difference_low": ends[0],
        "difference_high": ends[1],
        "se": float(pairs.se[m]),
        "df": float(pairs.degrees[m]),
        "t": sign * float(pairs.t[m]),
        **{name: float(getattr(pairs, name)[m]) for name in ("p", "p_holm", "p_tukey")},
    }


def _posterior_cells(comparison: Comparison, m: int, sign: float) -> Mapping[str, Any]:
    summary = comparison.difference
    ends = sorted((sign * float(summary.low[m]), sign * float(summary.high[m])))
    greater = float(comparison.p_greater[m])
    return {
        "bayes": sign * float(summary.mean[m]),
        "bayes_sd": float(summary.sd[m]),
        "bayes_low": ends[0],
        "bayes_high": ends[1],
        "p_superior": greater if sign > 0 else 1.0 - greater,
        "p_equivalent": float(comparison.p_equivalent[m]),
        "rope": comparison.rope,
    }


def _level(level: float, word: str) -> str:
    return f"{level * 100:g} % {word}"


BY_THE_ANSWER = (
    "Ranks are drawn from the variances of the clustered intervals, widened for all comparisons "
    "at once. So no condition is the best with more than 97.5 % unless its difference from every "
    "other one is claimed (at a level of 95 %)."
)
NOTHING = "No condition has two ratings yet: there is nothing to model."


class Models(Part):
    """The Gaussian mixed model by REML, and its exact posterior, for every task and criterion."""

    key = "models"  # as MODELS
    version = "2"
    title = "Mixed models and ranking"
    order = 30
    late = True

    def applies(self, inputs: PartInput) -> bool:
        return any(comparable(family) for family in families(inputs.ratings))

    def make(self, inputs: PartInput) -> Content:
        """Fit each family; what a family's ratings do not allow is said among the warnings."""
        n_families = max(1, sum(1 for _ in families(inputs.ratings)))
        contents = []
        for place, (each, effects) in enumerate(family_effects(inputs)):
            inputs.progress(place / n_families, f"mixed model of {each.title}")
            contents.append(_fitted(fits_of(each, effects, inputs.options), inputs))
        if not contents:
            raise ValueError(NOTHING)
        return together(contents)


def modelled_or_refused(inputs: PartInput) -> list[Modelled]:
    """The families that a mixed model can be made of; ValueError where there are none."""
    families = list(modelled(inputs.ratings))
    if not families:
        raise ValueError(NOTHING)
    return families


def _fitted(fits: Fits, inputs: PartInput) -> Content:
    """One family's figures and tables, or the reasons why there are none."""
    each, title = fits.modelled, fits.modelled.title
    prefix, stem = family_prefix(title), f"models-{each.number}"
    warnings = [f"{prefix}{note}." for note in fits.notes]
    if fits.reml is None and fits.posterior is None:
        return Content(warnings=warnings)
    if isinstance(fits.comparison, Refusal):
        warnings.append(f"{prefix}no posterior is shown, because {fits.comparison}.")
    tables = []
    if fits.reml is not None or fits.compared is not None:
        plain = clustered_of(inputs.report, title)
        tables = [means_table(f"{stem}-means", fits, plain)]
        tables.append(variation_table(f"{stem}-variation", fits))
    figures: list[Figure] = []
    if fits.ranks is not None:
        heading = f"Probability of each rank, {family_span(title)}"
        figures = rank_heatmap(f"{stem}-ranks", heading, each.names, fits.ranks, title)
    tables += _ranking_tables(stem, fits)
    for breakdown in _crossings(each, inputs.options):
        try:
            model = cell_model(each, breakdown, inputs.options.level)
        except NotEstimable as error:
            warnings.append(f"{prefix}no model by {' and '.join(breakdown.by)}: {error}.")
            continue
        key = f"{stem}-by-{'-'.join(breakdown.by)}"
        tables.append(cell_table(key, title, model, estimand_of(each.family.estimand).decimals))
    warnings += [f"{prefix}{TOO_NARROW}."] * bool(fits.too_large)
    sentences = best_sentence(prefix, each.names, fits.ranks, fits.among)
    sentences += variation_sentence(fits)
    return Content(sentences, figures, tables, warnings, list(_methods(fits)))


def _ranking_tables(stem: str, fits: Fits) -> Iterator[Table]:
    """Differences, ranks and diagnostics, as far as there are any."""
    names, title = fits.modelled.names, fits.modelled.title
    if len(names) > 1 and (fits.pairs is not None or fits.compared is not None):
        heading = f"Differences by the mixed model, {family_span(title)}"
        pairs, key = (fits.pairs, fits.compared), f"{stem}-contrasts"
        yield contrast_table(key, heading, names, fits.falling, *pairs, title)
    if fits.ranks is not None:
        heading, key = f"Probability of each rank, {family_span(title)}", f"{stem}-ranks"
        yield rank_table(key, heading, names, fits.ranks, title, fits.among, BY_THE_ANSWER)
    if fits.posterior is not None:
        heading, key = f"Convergence of the draws, {family_span(title)}", f"{stem}-diagnostics"
        shown = not isinstance(fits.comparison, Refusal)
        yield diagnostics_table(key, heading, names, fits.posterior, title, shown)


def _crossings(each: Modelled, options: Options) -> Iterator[Breakdown]:
    """The crossings that were asked for; if nothing was, that by dimension where there are some."""
    breakdowns = [b for b in options.breakdowns if b.by and b.compare == "condition"]
    table = each.table
    if not options.breakdowns and table["dimension"].nunique() > 1:
        breakdowns = [Breakdown(by=("dimension",))]
    for breakdown in breakdowns:
        if table.groupby(list(breakdown.by)).ngroups > 1:
            yield breakdown


def _methods(fits: Fits) -> Iterator[str]:
    prefix = family_prefix(fits.modelled.title)
    if fits.reml is not None:
        effects = [IN_WORDS[name] for name in IN_WORDS if name in fits.reml.sds]
        how = BY_MOMENTS if BY_MOMENTS in fits.reml.notes else "by REML"
        yield (
            f"{prefix}a linear mixed model with a mean per condition and random effects of "
            f"{listed(effects[:-1]) or 'nothing'} was fitted {how}; t intervals and tests use "
            "Satterthwaite's degrees of freedom, and p values are adjusted over all pairs by "
            "Holm's method."
        )
    if fits.compared is not None:
        yield _posterior_methods(fits)
    if fits.ranks is not None:
        yield f"{prefix}{BY_THE_ANSWER}"


def _posterior_methods(fits: Fits) -> str:
    assert fits.posterior is not None
    drawn = fits.posterior.draws
    effects = [IN_WORDS[name] for name, key in SD_NAMES.items() if key in drawn]
    more = ", and a spread of each condition" if "spread" in drawn else ""
    how = fits.posterior.approximation
    return (
        f"{family_prefix(fits.modelled.title)}the posterior is that of the Bayesian form of that "
        f"model with effects of {listed(effects)}{more} ({fits.posterior.prior}); means and "
        "effects were integrated out in closed form, "
        + (f"the likelihood was interpolated {how}, " if how else "")
        + f"and draws ({drawn_words(fits.posterior)}) were taken by independence Metropolis "
        "(all R-hat below 1.01, all effective sample sizes above 400, Pareto k at most 0.7)."
    )


IN_WORDS = {
    linear_model.RATER: "rater",
    linear_model.RATER_CONDITION: "rater × condition",
    linear_model.ITEM: "item (text)",
    linear_model.STIMULUS: "stimulus (clip)",
    "residual": "residual (rating to rating)",
}
OTHER_TEST = (
    "These p values are of the mixed model. The answer at the top of the report uses the two-way "
    "clustered test, which assumes less. If they differ, trust the clustered test."
)
_DRAWS = {**SD_NAMES, "residual": RESIDUAL}
CLUSTERED = "two-way clustered"
SPREAD = (
    "Spread, in the posterior: how much the ratings of a condition vary, 1 on average; those near "
    "an end of the scale vary less."
)


def means_table(key: str, fits: Fits, clustered: Mapping[str, Mapping[str, Any]]) -> Table:
    """The model's means, the posterior's, and the plain mean of the ratings, the highest first.

    ``clustered`` gives the report's own estimate of each condition.
    """
    names, model_means = fits.modelled.names, fits.means
    drawn = fits.posterior.summaries() if fits.posterior and fits.compared else None
    rows = []
    for i in fits.falling:
        plain = clustered.get(names[i], {})
        row: dict[str, Any] = {"condition": names[i], **_mean_cells(model_means, i)}
        row |= {"role": fits.among.roles[i]} if fits.among.exclusions_text else {}
        row |= {} if fits.ranks is None else {"p_best": float(fits.ranks.p_best[i])}
        if drawn is not None:
            row |= summary_cells("bayes", drawn["condition"], i)
            row |= {"spread": float(drawn["spread"].mean[i])} if "spread" in drawn else {}
        row |= {"plain": plain.get("value"), "ratings": plain.get("n_ratings")}
        row |= {"plain_low": plain.get("low"), "plain_high": plain.get("high")}
        rows.append(row)
    level = _percent(model_means.level if model_means else None)
    columns = [Column("condition", "Condition")] + [Column("role", "Role")] * bool(
        fits.among.exclusions_text
    )
    partly = model_means is None or bool(np.isnan(model_means.value).any())
    decimals = estimand_of(fits.modelled.family.estimand).decimals
    if model_means is not None:
        columns.append(Column("mean", "Mean (model)", "number", decimals))
        columns.append(Column("mean", f"{level} interval", "interval", decimals))
    if drawn is not None:
        columns += [Column("bayes", "Posterior mean", "number", decimals)] * partly
        columns.append(Column("bayes", "Posterior HDI", "interval", decimals))
        columns += [Column("spread", "Spread", "number", 2)] * ("spread" in drawn)
    columns += [Column("p_best", "P(best)", "percent", 3)] * (fits.ranks is not None)
    columns += [
        Column("plain", "Mean of ratings", "number", decimals),
        Column("plain", "Clustered interval", "interval", decimals),
        Column("ratings", "Ratings", "count"),
    ]
    note = (
        "The model's mean is that of a rater drawn at random; the mean of the ratings counts busy "
        "raters more. HDI: the narrowest interval that holds that much of the posterior."
    )
    if model_means is not None and partly:
        note += f" {ALONE}."
    if drawn is not None and "spread" in drawn:
        note += f" {SPREAD}"
    heading = f"Means by the mixed model, {family_span(fits.modelled.title)}"
    return Table(key, heading, columns, rows, note, fits.modelled.title)


def clustered_of(report: Mapping[str, Any], title: str) -> dict[str, Mapping[str, Any]]:
    """The report's overall two-way clustered estimates of a family, by condition."""
    return {
        row["condition"]: row
        for row in report.get("estimates", [])
        if row["breakdown"] == "condition:"
        and row["weighting"] == "ratings"
        and row["interval"].startswith(CLUSTERED)
        and family_title(row) == title
    }


def variation_table(key: str, fits: Fits) -> Table:
    """The standard deviation of every random effect, its share of the variance, its posterior."""
    drawn = fits.posterior.summaries() if fits.posterior and fits.compared else {}
    known = {name: None for name, draws in _DRAWS.items() if draws in drawn}
    sds: Mapping[str, float | None] = fits.reml.sds if fits.reml else known
    total = sum(sd**2 for sd in sds.values() if sd is not None)
    rows = []
    for name in sorted(sds, key=list(IN_WORDS).index):
        sd = sds[name]
        row: dict[str, Any] = {"effect": IN_WORDS[name], "sd": sd}
        row["share"] = sd**2 / total if sd is not None and total else None
        if _DRAWS.get(name) in drawn:
            row |= summary_cells("bayes", drawn[_DRAWS[name]], 0)
        rows.append(row)
    columns = [
        Column("effect", "What varies"),
        Column("sd", "SD", "number"),
        Column("share", "Share of variance", "percent"),
    ]
    if drawn:
        columns.append(Column("bayes", "Posterior mean", "number"))
        columns.append(Column("bayes", "Posterior HDI", "interval"))
    note = " ".join(f"{_capital(note)}." for note in (fits.reml.notes if fits.reml else ()))
    heading = f"What varies, {family_span(fits.modelled.title)}"
    return Table(key, heading, columns, rows, note, fits.modelled.title)


def cell_table(key: str, title: str, model: CellModel, decimals: int) -> Table:
    """The mean of each cell, then each condition's average of its cells."""
    by = model.breakdown.by
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(model.names):
        place = {column: value or "(none)" for column, value in zip(by, name[1:], strict=True)}
        rows.append({"condition": name[0], **place, **_mean_cells(model.means, i)})
        rows[-1]["ratings"] = model.counts[i]
    for i, owner in enumerate(model.averaged):
        every = dict.fromkeys(by, "all, weighing the same")
        rows.append({"condition": owner, **every, **_mean_cells(model.average, i)})
    columns = [
        Column("condition", model.breakdown.compare.capitalize()),
        *(Column(name, name.capitalize()) for name in by),
        Column("mean", "Mean (model)", "number", decimals),
        Column("mean", f"{_percent(model.means.level)} interval", "interval", decimals),
        Column("ratings", "Ratings", "count"),
    ]
    note = " ".join(_capital(f"{text}.") for text in model.notes)
    heading = f"Means by {' and '.join(by)} in one model, {family_span(title)}"
    return Table(key, heading, columns, rows, note, title, folded=True)


def variation_sentence(fits: Fits) -> list[str]:
    """How much raters differ, in words."""
    if fits.reml is None:
        return []
    sds = fits.reml.sds
    total = sum(sd**2 for sd in sds.values())
    parts = [
        f"{sds[name] ** 2 / total * 100:.0f} % {_THINGS[name]} (SD {sds[name]:.2f})"
        for name in IN_WORDS
        if name != "residual" and sds.get(name)
    ]
    if not parts:
        return []
    return [
        f"{family_span(fits.modelled.title)}, of the variance within conditions: "
        f"{enumerated(parts)}."
    ]


_THINGS = {
    linear_model.RATER: "between lenient and harsh raters",
    linear_model.RATER_CONDITION: "between raters in what they like",
    linear_model.ITEM: "between texts",
    linear_model.STIMULUS: "between clips",
}


def _mean_cells(model_means: Means | None, i: int) -> dict[str, float]:
    if model_means is None:
        return {}
    return {
        "mean": float(model_means.value[i]),
        "mean_low": float(model_means.low[i]),
        "mean_high": float(model_means.high[i]),
        "se": float(model_means.se[i]),
        "df": float(model_means.degrees[i]),
    }


def _percent(level: float | None) -> str:
    return "" if level is None else f"{level * 100:g} %"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
