"""Mel-cepstral distortion and how F0 and voicing differ, beside a recording of the same words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core.metric import Output, ParameterError, Parameters, Score, check_bounds, undefined
from metrics.core.paired_metric import PairedMetric, Wave
from metrics.signal.world import Voice, voice_of

DB = 10 / math.log(10) * math.sqrt(2)  # of a Euclidean distance of mel-cepstra
LEAST_FRAMES = 10  # of a mean; 50 ms
LONGEST_S = 120.0
Frames = NDArray[np.intp]


@dataclass(frozen=True)
class McdParameters(Parameters):
    """How clips are aligned and analysed; a stored value stands for all of them.

    `align`: "dtw", or "none": frame by frame, for copies and codecs. `level`: the level of frames
    counts, as in the numbers of ESPnet. `threshold_db`: frames this far below the clip's mean power
    are left out; 0 keeps all.
    """

    align: str = "dtw"
    order: int = 24
    alpha: float = 0.42
    level: bool = False
    threshold_db: float = -20.0
    f0_low_hz: float = 40.0
    f0_high_hz: float = 800.0

    def __post_init__(self) -> None:
        for name in ("alpha", "threshold_db", "f0_low_hz", "f0_high_hz"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.align not in ("dtw", "none"):
            raise ParameterError(f"align is {self.align!r}; choose dtw or none")
        check_bounds(self, "order", 1, 60)
        if not 0 <= self.alpha < 1:
            raise ParameterError(f"alpha is {self.alpha}; it must be in 0..1")
        if self.threshold_db > 0:
            raise ParameterError(f"threshold_db is {self.threshold_db}; it must be 0 (off) or less")
        if not 20 <= self.f0_low_hz < self.f0_high_hz <= 2000:
            raise ParameterError(
                "f0_low_hz and f0_high_hz must be in 20..2000, the first one lower"
            )


class Mcd(PairedMetric):
    """Distance of mel-cepstra over a warping path, with log-F0, its correlation, and voicing."""

    key = "mcd"
    version = "1"
    cpu_s_per_s = 0.5
    description = "Mel-cepstral distortion against the reference audio (warped in time), in dB"
    title = "MCD"
    source = "Kubichek (1993), MCD; WORLD's analysis (pyworld); Sakoe and Chiba (1978), DTW"
    unit = "dB"
    low = 0.0
    higher_is_better = False
    more_outputs = (
        Output(
            "log_f0_rmse",
            "RMSE of ln F0 where both are voiced",
            "",
            0.0,
            None,
            False,
            title="log-F0 RMSE",
        ),
        Output(
            "f0_rmse", "RMSE of F0 where both are voiced", "Hz", 0.0, None, False, title="F0 RMSE"
        ),
        Output(
            "f0_correlation",
            "Correlation of F0 where both are voiced",
            "",
            -1.0,
            1.0,
            True,
            title="F0 correlation",
        ),
        Output(
            "vuv_error",
            "Share of frames that only one voices",
            "",
            0.0,
            1.0,
            False,
            title="Voicing error",
        ),
    )
    packages = ("pyworld-prebuilt", "numpy")
    parameters_type = McdParameters
    parameters: McdParameters

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """The distances of two waves, (samples,) at 16 kHz."""
        longest_s = max(len(wave), len(reference)) / self.sample_rate_hz
        if longest_s > LONGEST_S:
            return undefined(f"too long: {longest_s:.0f} s of at most {LONGEST_S:g} s to warp")
        parameters = self.parameters
        voice, model = (
            voice_of(
                each, self.sample_rate_hz, parameters.f0_low_hz, parameters.f0_high_hz,
                parameters.order, parameters.alpha,
            )
            for each in (wave, reference)
        )  # fmt: skip
        pairs = self._pairs(voice, model)
        details: dict[str, Any] = {
            "pairs": len(pairs),
            "length_ratio": len(voice.f0_hz) / len(model.f0_hz),
        }
        if len(pairs) < LEAST_FRAMES:
            return undefined("too few frames that both have in common", **details)
        ours, theirs = voice.mel_cepstra[pairs[:, 0]], model.mel_cepstra[pairs[:, 1]]
        apart = np.linalg.norm((ours - theirs)[:, self._first :], axis=1)
        f0 = f0_differences(voice.f0_hz[pairs[:, 0]], model.f0_hz[pairs[:, 1]])
        return Score(DB * float(apart.mean()), "", details, also=f0)

    def by_output(self, score: Score) -> dict[str, Score]:
        """A clip's score by output; outputs of F0 that lack a value have a reason."""
        named = super().by_output(score)
        for name, each in named.items():
            if score.value is not None and each.value is None:
                named[name] = undefined("too few frames that both voice, or F0 that never changes")
        return named

    @property
    def _first(self) -> int:
        """The first mel-cepstral coefficient that counts: number 0 is the level."""
        return 0 if self.parameters.level else 1

    def _pairs(self, voice: Voice, model: Voice) -> Frames:
        """The frames, (pairs, 2), that are compared."""
        loud, model_loud = self._loud(voice), self._loud(model)
        if self.parameters.align == "none":
            both = min(len(voice.f0_hz), len(model.f0_hz))
            common = np.intersect1d(loud, model_loud)
            common = common[common < both]
            return np.stack([common, common], axis=1)
        if not len(loud) or not len(model_loud):
            return np.empty((0, 2), np.intp)
        path = warping_path(
            voice.mel_cepstra[loud, self._first :], model.mel_cepstra[model_loud, self._first :]
        )
        return np.stack([loud[path[:, 0]], model_loud[path[:, 1]]], axis=1)

    def _loud(self, voice: Voice) -> Frames:
        threshold_db = self.parameters.threshold_db
        return np.flatnonzero(voice.power_db > (threshold_db or -math.inf))


def f0_differences(f0_hz: Wave, model_hz: Wave) -> dict[str, float | None]:
    """How F0, (pairs,) in Hz and 0 where unvoiced, differs; None where too little is voiced."""
    both = (f0_hz > 0) & (model_hz > 0)
    differences: dict[str, float | None] = {
        "vuv_error": float(((f0_hz > 0) != (model_hz > 0)).mean()),
        "log_f0_rmse": None,
        "f0_rmse": None,
        "f0_correlation": None,
    }
    if both.sum() < LEAST_FRAMES:
        return differences
    ours, theirs = f0_hz[both], model_hz[both]
    differences["log_f0_rmse"] = float(np.sqrt(np.mean(np.log(ours / theirs) ** 2)))
    differences["f0_rmse"] = float(np.sqrt(np.mean((ours - theirs) ** 2)))
    if ours.std() > 0 and theirs.std() > 0:
        differences["f0_correlation"] = float(np.corrcoef(ours, theirs)[0, 1])
    return differences


Array = NDArray[np.float64]
BOTH, FIRST, SECOND = 0, 1, 2  # which series goes on to reach a pair


def warping_path(first: Array, second: Array) -> NDArray[np.intp]:
    """The pairs, (steps, 2), from (0, 0) to the last frames, whose distances add up to the least.

    ``first``: (n, dimensions), ``second``: (m, dimensions); a step moves one series or both by a
    frame. Distances are Euclidean. Computed diagonal by diagonal: it stores n m bytes. Source:
    Sakoe and Chiba (1978), symmetric form without weights or slope limits.
    """
    n, m = len(first), len(second)
    moves = np.zeros((n, m), np.uint8)
    before_last, last = np.full(n, np.inf), np.full(n, np.inf)  # costs by frame of the first
    for diagonal in range(n + m - 1):
        i = np.arange(max(0, diagonal - m + 1), min(n, diagonal + 1))
        cost = np.full(n, np.inf)
        step = np.linalg.norm(first[i] - second[diagonal - i], axis=1)
        if diagonal == 0:
            cost[0] = step[0]
        else:
            up = np.where(i > 0, i - 1, 0)
            options = np.stack(
                [
                    np.where(i > 0, before_last[up], np.inf),
                    np.where(i > 0, last[up], np.inf),
                    last[i],
                ]
            )
            best = options.argmin(axis=0)
            moves[i, diagonal - i] = best
            cost[i] = step + options[best, np.arange(len(i))]
        before_last, last = last, cost
    return _trace_path(moves)


def _trace_path(moves: NDArray[np.uint8]) -> NDArray[np.intp]:
    i, j = moves.shape[0] - 1, moves.shape[1] - 1
    pairs = [(i, j)]
    while i or j:
        move = moves[i, j]
        i, j = i - (move != SECOND), j - (move != FIRST)
        pairs.append((i, j))
    return np.array(pairs[::-1], np.intp)
