"""Variance components: from a pilot by moments, from a fitted model, or of known studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from analysis.arrays import Codes, Floats
from analysis.citations import cite_author
from analysis.name_spans import resolve
from analysis.statistics.mixed.crossed import indicators
from analysis.statistics.planning.study_design import PlanningError

TERMS = ("rater", "rater_condition", "item", "stimulus")
_NAMES = {
    "rater": "rater",
    "rater:system": "rater_condition",
    "rater:condition": "rater_condition",
    "rater_condition": "rater_condition",
    "rater_system": "rater_condition",
    "text": "item",
    "item": "item",
    "stimulus": "stimulus",
    "residual": "residual",
    "sigma": "residual",
}
_CONFOUNDED = 1e-8


@dataclass(frozen=True)
class Components:
    """Standard deviations in score units, 0 where a term is absent; ``source`` says whence.

    rater: level of a rater; rater_condition: a rater's own liking of a condition; item: a text,
    shared by conditions; stimulus: a clip, beyond text and condition; residual: the rest.
    ``degrees`` holds rough degrees of freedom per term (for assurance); ``note`` what could not be
    told apart.
    """

    rater: float
    rater_condition: float
    item: float
    stimulus: float
    residual: float
    source: str = ""
    degrees: Mapping[str, float] | None = None
    note: str = ""

    def __post_init__(self) -> None:
        for name in (*TERMS, "residual"):
            value = getattr(self, name)
            if not value >= 0 or not np.isfinite(value):
                raise PlanningError(f"the SD of {name} is {value}; give 0 or more")

    def row(self) -> dict[str, Any]:
        """The components as one flat row of plain values."""
        row = asdict(self)
        row.pop("degrees")
        return row

    def scaled(self, factor: float) -> Components:
        """The same on a scale ``factor`` times as wide."""
        sds = {name: getattr(self, name) * factor for name in (*TERMS, "residual")}
        return replace(self, **sds)


def components_from_model(sds: Mapping[str, float], source: str = "fitted model") -> Components:
    """Components from a fitted mixed model's SDs by group (score units).

    Known names are rater, rater:system or rater:condition, text or item, stimulus, residual (any
    case). Raises PlanningError on another name or without a residual.
    """
    by_term: dict[str, float] = {}
    for name, value in sds.items():
        term = _NAMES.get(name.lower().strip())
        if term is None:
            raise PlanningError(f"no component {name}; known are {', '.join(sorted(_NAMES))}")
        by_term[term] = float(value)
    if "residual" not in by_term:
        raise PlanningError("the model has no residual SD; give it as residual")
    return _of_terms(by_term, source, None, "")


def components_from_pilot(
    score: Floats | Sequence[float],
    condition: Codes | Sequence[int],
    rater: Codes | Sequence[int],
    item: Codes | Sequence[int],
    source: str = "pilot",
) -> Components:
    """Components of a pilot (n,) with conditions fixed, by the method of moments.

    Codes are integers from 0; any crossed, unbalanced design. The sums of squared group sums of
    the ratings around their condition's mean, divided by the group's size, are set equal to their
    expectations (Searle, Casella and McCulloch 1992, Variance Components, sect. 5.3: Henderson's
    method 1 on residuals from the fixed effects) and solved; a negative variance becomes 0 and
    the rest are solved again. Terms that the design cannot tell apart are left out and told in
    ``note``. Raises PlanningError for fewer than two raters or three ratings.
    """
    y = np.asarray(score, dtype=np.float64)
    c, r, t = (np.asarray(x, dtype=np.int64) for x in (condition, rater, item))
    if not len(y) == len(c) == len(r) == len(t):
        raise PlanningError("give one condition, rater and item per score")
    known = np.isfinite(y)
    y, c, r, t = y[known], c[known], r[known], t[known]
    if len(y) < 3 or len(np.unique(r)) < 2:
        raise PlanningError("a pilot needs two raters or more, and three ratings or more")
    groups, notes = _groups(c, r, t)
    centred, names = _centre_scores(y, c), [*groups, "residual"]
    codes = [*groups.values(), np.arange(len(y))]
    matrices = [_scaled_indicators(code) for code in codes]
    fixed = indicators(np.unique(c, return_inverse=True)[1])
    traces = _expectations(matrices, [indicators(code) for code in codes], fixed)
    sums = np.array([float(((m.T @ centred) ** 2).sum()) for m in matrices])
    variances, dropped = _solve_moments(traces, sums, names)
    notes += dropped
    degrees = {n: float(len(np.unique(g)) - 1) for n, g in groups.items()}
    degrees["residual"] = float(max(1, len(y) - sum(degrees.values()) - len(np.unique(c))))
    sds = {n: float(v) ** 0.5 for n, v in zip(names, variances, strict=True)}
    return _of_terms(sds, source, degrees, "; ".join(notes))


def _of_terms(
    sds: Mapping[str, float], source: str, degrees: Mapping[str, float] | None, note: str
) -> Components:
    return Components(
        sds.get("rater", 0.0),
        sds.get("rater_condition", 0.0),
        sds.get("item", 0.0),
        sds.get("stimulus", 0.0),
        sds.get("residual", 0.0),
        source,
        degrees,
        note,
    )


def _groups(c: Codes, r: Codes, t: Codes) -> tuple[dict[str, Codes], list[str]]:
    """The codes of each term that this design can tell from the others."""
    wide = int(c.max()) + 1
    all_terms = {"rater": r, "rater_condition": r * wide + c, "item": t, "stimulus": t * wide + c}
    groups: dict[str, Codes] = {}
    notes: list[str] = []
    for name, raw in all_terms.items():
        code = np.unique(raw, return_inverse=True)[1].astype(np.int64)
        size = int(code.max()) + 1
        same = [other for other, held in groups.items() if _same_partition(code, held)]
        if size == len(c):
            notes.append(f"{name} cannot be told from the residual: no group has two ratings")
        elif size < 2:
            notes.append(f"{name} has one group only")
        elif same:
            notes.append(f"{name} cannot be told from {same[0]}")
        else:
            groups[name] = code
    return groups, notes


def _same_partition(a: Codes, b: Codes) -> bool:
    groups = int(a.max()) + 1
    pairs = np.unique(a * (int(b.max()) + 1) + b)
    return groups == int(b.max()) + 1 == len(pairs)


def _centre_scores(y: Floats, condition: Codes) -> Floats:
    code = np.unique(condition, return_inverse=True)[1]
    return np.asarray(y - (np.bincount(code, weights=y) / np.bincount(code))[code])


def _scaled_indicators(code: Codes) -> Any:
    """Group indicators (n, G), each column divided by the root of its group's size."""
    n, size = len(code), np.bincount(code)
    weights = 1 / np.sqrt(size[code])
    return sparse.csr_array((weights, (np.arange(n), code)), shape=(n, len(size)))


def _expectations(matrices: list[Any], plain: list[Any], fixed: Any) -> Floats:
    """E of each sum of squares per unit of each variance: ||D_k' M Z_l||^2 (K, K).

    D_k is term k scaled by its groups' sizes, Z_l the plain indicators of term l (its columns
    times the root of the size), M the projection that takes the condition means away.
    """
    sizes = np.asarray(fixed.sum(axis=0)).reshape(-1)
    traces = np.empty((len(matrices), len(matrices)))
    for k, left in enumerate(matrices):
        through = (left.T @ fixed).toarray() / sizes  # (G_k, C)
        for j, right in enumerate(plain):
            direct = left.T @ right
            means = (fixed.T @ right).toarray()  # (C, G_j)
            cross = (direct @ means.T) * through  # (G_k, C)
            both = (through.T @ through) * (means @ means.T)
            traces[k, j] = float((direct.data**2).sum() - 2 * cross.sum() + both.sum())
    return traces


def _solve_moments(traces: Floats, sums: Floats, names: list[str]) -> tuple[Floats, list[str]]:
    """Variances (K,), none below 0; and what was left out."""
    use = list(range(len(names)))
    notes: list[str] = []
    variances = np.zeros(len(names))
    while use:
        block = traces[np.ix_(use, use)]
        scale = np.sqrt(np.outer(np.diag(block), np.diag(block)))
        if np.linalg.svd(block / scale, compute_uv=False)[-1] < _CONFOUNDED:
            dropped = use[-2] if len(use) > 1 else use[-1]
            notes.append(f"{names[dropped]} cannot be told from the other terms")
            use.remove(dropped)
            continue
        solved = np.linalg.solve(block, sums[use])
        if solved.min() >= 0 or len(use) == 1:
            variances[use] = np.maximum(solved, 0.0)
            break
        worst = int(np.argmin(solved[:-1])) if solved[:-1].size else 0
        if solved[worst] >= 0:  # only the residual is below 0
            variances[use] = np.maximum(solved, 0.0)
            break
        notes.append(f"{names[use[worst]]} is estimated as 0")
        use.pop(worst)
    return variances, notes


PRESETS: dict[str, Components] = {
    # Audio Turing Test, section 4.1.1: random-intercept SD .234, slope SD .108 on scores 0/.5/1.
    # The residual .333 is not printed there: it is that of an lmer fit to ratings simulated at the
    # paper's size (19,992 labels, 857 raters). The paper's model has no text and no clip effect.
    "att": Components(
        0.234, 0.108, 0.0, 0.0, 0.333, "Audio Turing Test, 4.1.1; residual simulated"
    ),
    # Clark et al. (2019) print no components. Simulated realistic raters on 1..5 in half steps:
    # rater .42, rater x system .20, text .16, stimulus .22; residual: noise .55 x log-normal(.25)
    # inconsistency (.55^2 e^(2 x .25^2)) and rounding to half steps (.5^2 / 12): SD .603.
    "long_form": Components(
        0.42, 0.20, 0.16, 0.22, 0.603, f"simulated, after {resolve(cite_author('clark2019'))}"
    ),
    # LFS-Bench, Table 6: ten raters, integers 1..5, each against the mean of the others: PLCC
    # .71-.92, MAE .33-.58. Components of ratings simulated with that table's form (200 clips x 10
    # raters, REML): clip .85, rater .21, residual .62. What clips differ by holds what systems
    # differ by, and a rater x system part cannot be told: a cautious preset for means.
    "lfs": Components(0.21, 0.0, 0.0, 0.85, 0.62, "simulated, after LFS-Bench, Table 6"),
    # NVV-SuperBench, Table 4: mean +- naive 95 % half width .08 on 450 clips. With about one
    # rating per clip, SD = .08 x sqrt(450) / 1.96 = .87 in all. The split over the terms is that
    # of the long-form preset (SD .81 in all), scaled.
    "nvv": Components(0.45, 0.21, 0.17, 0.24, 0.65, "NVV-SuperBench, Table 4; split simulated"),
}


def assumed_components(estimand: str, low: float, high: float, answers: int) -> Components:
    """Components for a first idea of a study without a pilot, for a scale from ``low`` to ``high``.

    Those of a known study on this scale, else the long-form preset stretched to it. Of two answers
    the rest varies most where both are as frequent: by half the range.
    """
    if estimand == "hls":
        return PRESETS["att"]
    known, factor = PRESETS["long_form"], (high - low) / 4
    if not factor > 0:
        raise PlanningError("a scale without a range has no interval")
    source = known.source if factor == 1 else f"{known.source}, stretched to {low:g} to {high:g}"
    residual = known.residual * factor
    if answers == 2:
        residual, source = (high - low) / 2, f"{source}; two answers, as varied as they can be"
    return Components(
        known.rater * factor,
        known.rater_condition * factor,
        known.item * factor,
        known.stimulus * factor,
        residual,
        source,
    )


def preset(name: str) -> Components:
    """The components of a known study: att (0..1 scores), long_form, lfs or nvv (1..5).

    Raises PlanningError that names the known ones.
    """
    if name not in PRESETS:
        raise PlanningError(f"no preset {name}; known are {', '.join(PRESETS)}")
    return PRESETS[name]
