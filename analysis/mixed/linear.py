"""The Gaussian mixed model by REML, with those random effects that the design allows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.mixed.crossed import Crossed
from analysis.mixed.errors import NotEstimable
from analysis.mixed.nested import Nested
from analysis.mixed.reml import RemlFit, reml
from analysis.mixed.sufficient import Codes, Floats, Sums

_MOST_DENSE = 6000
RATER, RATER_CONDITION, ITEM, STIMULUS = "rater", "rater:condition", "item", "stimulus"


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
    free = [not refused[name] for name in refused]
    return reml(
        Nested(sums).at,
        sums.centre,
        sums.n,
        list(refused),
        free=free,
        notes=tuple(f"{name} was left out: {why}" for name, why in refused.items() if why),
    )


def crossed_reml(
    y: Floats,
    design: Floats,
    condition: Codes,
    inside: Mapping[str, Codes],
    across: Mapping[str, Codes],
) -> RemlFit:
    """REML of y (N,) = design (N, C) beta + effects inside conditions + effects across them (M2).

    ``condition`` (N,) codes; ``inside`` and ``across`` name the codes (N,) of each random effect,
    from 0 without gaps: rater by condition and stimulus inside, rater and item across. Every
    effect must repeat: one with as many levels as ratings raises NotEstimable, as do a design
    without full column rank and designs too large for dense algebra.
    """
    for name, codes in {**inside, **across}.items():
        if codes.max(initial=0) == 0:
            raise NotEstimable(
                f"there is one {name}, so that the variance between them is unknown",
                f"collect ratings with more than one, or leave {name} out",
            )
        if len(np.unique(codes)) == len(y):
            raise NotEstimable(f"every rating has its own {name}", f"leave {name} out")
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise NotEstimable("some means are combinations of others", "compare fewer things")
    if sum(int(codes.max()) + 1 for codes in across.values()) > _MOST_DENSE:
        raise NotEstimable("too many raters and items for this method", "leave the items out")
    model = Crossed(y, design, condition, list(inside.values()), list(across.values()))
    return reml(model.at, model.centre, len(y), [*inside, *across])


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
