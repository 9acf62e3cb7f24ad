"""The Gaussian mixed model by REML, with those random effects that the design allows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.statistics.mixed.crossed import Crossed, Side, least
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.nested import Nested
from analysis.statistics.mixed.reml import REST, RemlFit, reml
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, Sums

RATER, RATER_CONDITION, ITEM, STIMULUS = "rater", "rater:condition", "item", "stimulus"
ORDER = (RATER, RATER_CONDITION, ITEM, STIMULUS)


def nested_reml(sums: Sums) -> RemlFit:
    """REML of score = mean[cell] + rater + rater:condition + error (ATT's model, M1).

    An effect that the design cannot tell from another is left out, and ``notes`` says so. Raises
    NotEstimable for a single rater, or where nothing varies.
    """
    if len(sums.count) < 2:
        raise NotEstimable(
            "there is one rater, so that the variance between raters is unknown",
            "collect ratings from more raters",
        )
    refused = refused_effects(sums)
    cells = int((sums.by_condition(sums.count) > 0).sum())
    return reml(
        Nested(sums).at,
        sums.centre,
        sums.n,
        {RATER: len(sums.count), RATER_CONDITION: cells},
        free=[not refused[name] for name in (RATER, RATER_CONDITION)],
        notes=tuple(f"{name} was left out: {why}" for name, why in refused.items() if why),
    )


def crossed_reml(
    y: Floats, design: Floats, condition: Codes, effects: Mapping[str, Codes]
) -> RemlFit:
    """REML of y (N,) = design (N, C) beta + effects of raters and of texts (M2).

    ``condition`` (N,) codes; ``effects`` names the codes (N,) of each random effect, from 0 without
    gaps: `RATER` and `ITEM`, and, nested in them and inside conditions, `RATER_CONDITION` and
    `STIMULUS`. Every effect must repeat: one with as many levels as ratings raises NotEstimable,
    as do a design without full column rank and designs that do not fit into memory.
    """
    for name, codes in effects.items():
        if codes.max(initial=0) == 0:
            raise NotEstimable(
                f"there is one {name}, so that the variance between them is unknown",
                f"collect ratings with more than one, or leave {name} out",
            )
        if len(np.unique(codes)) == len(y):
            raise NotEstimable(f"every rating has its own {name}", f"leave {name} out")
    plan = least(sides_of(effects), condition)
    if not np.isfinite(plan.work):
        raise NotEstimable("so many raters and texts do not fit into memory", "leave texts out")
    model = Crossed(y, design, condition, sides_of(effects), plan)
    if model.rank < design.shape[1]:
        raise NotEstimable("some means are combinations of others", "compare fewer things")
    levels = {name: int(effects[name].max()) + 1 for name in ORDER if name in effects}
    rest = _NEAR if plan.work > _MUCH else REST
    return reml(model.at, model.centre, len(y), levels, rest=rest)


_MUCH = 1e9  # operations of one evaluation of the likelihood
_NEAR = 0.001  # a last step of that size leaves an error of some 1e-5 in the log of a ratio


def sides_of(effects: Mapping[str, Codes]) -> list[Side]:
    """The sides that have effects: raters, then texts."""
    pairs = ((RATER, RATER_CONDITION), (ITEM, STIMULUS))
    sides = [(effects.get(coarse), effects.get(fine)) for coarse, fine in pairs]
    return [Side(*pair) for pair in sides if any(codes is not None for codes in pair)]


def refused_effects(sums: Sums) -> dict[str, str]:
    """Why rater and rater:condition cannot be estimated from ratings; empty where they can."""
    return refused_by(sums.by_condition(sums.count))


def refused_by(count: Floats) -> dict[str, str]:
    """As `refused_effects`, from the numbers of ratings by rater and condition (R, S)."""
    return {RATER: _rater_refused(count), RATER_CONDITION: _interaction_refused(count)}


def _rater_refused(count: Floats) -> str:
    if (count.sum(axis=1) <= 1).all():
        return "no rater rated twice, so that it cannot be told from the error"
    return ""


def _interaction_refused(count: Floats) -> str:
    if (count <= 1).all():
        return "no rater rated a condition twice, so that it cannot be told from the error"
    if ((count > 0).sum(axis=1) <= 1).all() and not _rater_refused(count):
        return "no rater rated two conditions, so that it cannot be told from the rater"
    return ""
