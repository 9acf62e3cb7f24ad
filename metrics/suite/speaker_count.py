"""How many speakers are heard in a clip: clustered speaker embeddings of its speech."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.core.metric import Material, Parameters, Score, Take, check_bounds, undefined
from metrics.networks.voices import VoiceMetric, VoiceParameters, Voices, VoiceWindows
from metrics.signal import turns

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST_WINDOWS = 2  # of a speaker


@dataclass(frozen=True)
class SpeakerCountParameters(Parameters):
    """The windows; when two voices are one; and how much of the speech a speaker must have."""

    window_s: float = 1.6
    hop_s: float = 0.4
    max_distance: float = 0.36  # 1 - cosine, mean over the pairs of windows of two clusters
    least_share: float = 0.08  # of the windows with speech

    def __post_init__(self) -> None:
        self.of_voices()
        check_bounds(self, "max_distance", 0, 1)
        check_bounds(self, "least_share", 0, 1)

    def of_voices(self) -> VoiceParameters:
        """Return the windows with their embedding: Resemblyzer, for which the distances hold."""
        return VoiceParameters(
            window_s=self.window_s, hop_s=self.hop_s, speech_only=True, max_non_speech=0.2
        )


class SpeakerCount(VoiceMetric):
    """Clusters of the windows with speech, by average linkage of their cosine distances.

    A clip that declares another number, by its turns or the column ``speakers``, gets a warning.
    Small clusters are windows in which two speakers meet, and do not count.
    """

    key = "speaker_count"
    version = "1"
    cpu_s_per_s = 0.02
    description = "Number of speakers heard, by clustered speaker embeddings"
    title = "Speakers found"
    source = (
        "Resemblyzer's embeddings in 1.6 s windows of silero-vad's speech; SciPy's average linkage"
    )
    low = 1.0
    needs = ("attributes.speakers", "turns")
    parameters_type = SpeakerCountParameters
    parameters: SpeakerCountParameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.voices = Voices(self.parameters.of_voices())
        self.packages = (*self.voices.packages, "scipy")

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One count per take; the windows of all takes are batched."""
        every = self.voices.windows([take.wave for take in takes])
        return [
            with_declared(self.count(windows), take.material)
            for windows, take in zip(every, takes, strict=True)
        ]

    def count(self, windows: VoiceWindows) -> Score:
        """The number of speakers, with each window's speaker (0: of none) beside it."""
        details = windows.details(self.sample_rate_hz)
        if len(windows.starts) < FEWEST_WINDOWS:
            return undefined(
                f"too little speech: {len(windows.starts)} of {windows.n_windows} windows",
                **details,
            )
        labels = speaker_labels(
            windows.vectors, self.parameters.max_distance, self.parameters.least_share
        )
        shares = (np.bincount(labels)[1:] / len(labels)).tolist()
        return Score(
            float(labels.max()), "", {**details, "speakers": labels.tolist(), "shares": shares}
        )


def speaker_labels(
    vectors: NDArray[np.float64], max_distance: float, least_share: float
) -> NDArray[np.int64]:
    """The speaker of each window, (windows,): 1 for the one heard most, 0 for a small cluster.

    ``vectors``: unit vectors, (windows, dimensions), two windows or more. Clusters are joined while
    the mean of 1 - cosine over their pairs is ``max_distance`` or less. One that holds less than
    ``least_share`` of the windows, or only one of them, is small; the largest one always counts.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    clusters = fcluster(linkage(vectors, "average", "cosine"), max_distance, "distance")
    names, sizes = np.unique(clusters, return_counts=True)
    order = names[np.argsort(-sizes, kind="stable")]
    least = min(max(FEWEST_WINDOWS, least_share * len(clusters)), sizes.max())
    labels = np.zeros(len(clusters), dtype=np.int64)
    for place, name in enumerate(order[np.sort(sizes)[::-1] >= least], start=1):
        labels[clusters == name] = place
    return labels


def declared_speakers(material: Material) -> int | None:
    """The number that the turns name, else the column ``speakers``; None of neither."""
    try:
        if named := turns.speakers_of(turns.known_turns(material)):
            return len(named)
    except ValueError:
        pass  # metrics that need the turns say so
    text = material.attribute("speakers")
    return int(text) if text.isdigit() and int(text) else None


def with_declared(score: Score, material: Material) -> Score:
    """The score with the declared number, and with a warning where it is another one."""
    declared = declared_speakers(material)
    if declared is None or score.value is None:
        return score
    details = {**score.details, "declared": declared}
    if score.value == declared:
        return replace(score, details=details)
    words = f"speakers: {score.value:.0f} found, {declared} declared; listen to the clip"
    return replace(score, details=details, warnings={**score.warnings, "speakers": words})
