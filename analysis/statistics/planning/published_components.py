"""Variance components of known studies, published or simulated, to plan the next one with."""

from __future__ import annotations

from analysis.statistics.planning.study_design import PlanningError
from analysis.statistics.planning.variance_components import Components

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
    "long_form": Components(0.42, 0.20, 0.16, 0.22, 0.603, "simulated, after Clark et al. (2019)"),
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


def assumed(estimand: str, low: float, high: float, answers: int) -> Components:
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
