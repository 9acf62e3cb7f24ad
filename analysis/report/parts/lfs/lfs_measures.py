"""The seven measures of the paper: which scores they are of, and how its tables print them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PAPER = "LFS-Bench"
UP, DOWN = "↑", "↓"
ACOUSTICS, SEMANTICS, EXPRESSIVENESS = "Acoustics", "Semantics", "Expressiveness"


@dataclass(frozen=True)
class Measure:
    """A column: the scores it takes, best first; decimals of mean and sd; the way of the radar.

    ``shift`` is added in the radar; None: mapped from its least and greatest mean to 1 to 5.
    ``aspect`` is the criterion on which the paper held it against raters; empty: on none.
    """

    key: str
    name: str
    scores: tuple[str, ...]  # labels, or outputs with whatever parameters
    decimals: int = 2
    sd_decimals: int = 2
    lowest: bool = False
    shift: float | None = 0.0
    aspect: str = ""
    alignment: str = ""  # the tables of the paper with judges and raters on this aspect

    @property
    def outputs(self) -> frozenset[str]:
        """The keys of the outputs that it takes, without settings."""
        return frozenset(settings_of(each)[0] for each in self.scores)

    @property
    def heading(self) -> str:
        """Its name and which way is better."""
        return f"{self.name} {DOWN if self.lowest else UP}"


CER = Measure("cer", "CER", ("cer[normalisation=lfs_bench]", "cer"), 3, 0, lowest=True, shift=None)
WER = Measure("wer", "WER", ("wer[normalisation=lfs_bench]", "wer"), 3, 0, lowest=True, shift=None)
CONTENT = Measure("content", "Content", (), 3, 0, lowest=True, shift=None)
MEASURES = (
    Measure(
        "timbre",
        "Timbre",
        ("timbre_consistency[embedding=wavlm]", "timbre_consistency"),
        sd_decimals=3,
        shift=None,
        aspect="timbre_stability",
    ),
    Measure("reverb", "Reverb", ("reverb_consistency",), lowest=True, shift=None),
    Measure(
        "fidelity",
        "Fidelity",
        ("squim_pesq[chunk_s=0.0]", "squim_pesq"),
        shift=0.5,
        aspect="sound_fidelity",
    ),
    CER,
    WER,
    CONTENT,
    Measure(
        "prosody",
        "Prosody",
        (
            "judge_prosodic_coherence[rubric=prosodic_coherence.lfs_figure_12]",
            "judge_prosodic_coherence",
        ),
        aspect="prosodic_coherence",
    ),
    Measure(
        "richness",
        "Richness",
        (
            "judge_expressive_richness[rubric=expressive_richness.lfs_figure_14]",
            "judge_expressive_richness",
        ),
        aspect="expressive_richness",
        alignment="Tables 4 and 6",
    ),
    Measure(
        "hierarchy",
        "Hierarchy",
        (
            "judge_expressive_hierarchy[rubric=expressive_hierarchy.lfs_figure_13]",
            "judge_expressive_hierarchy",
        ),
        aspect="expressive_hierarchy",
        alignment="Tables 5 and 6",
    ),
)
WITH_SD = tuple(each for each in MEASURES if each is not CONTENT)  # Tables 2, 3 and 13
ONE_CONTENT = tuple(each for each in MEASURES if each not in (CER, WER))  # 14, 15, radar, length

# The paper's 17 scenarios by the challenge that they are there for; a column `challenge` goes first
SCENARIOS = {
    ACOUSTICS: "customer service, podcast, chat, debate, audiobook, interview",
    SEMANTICS: "lesson, popular science, presentation, seminar, news",
    EXPRESSIVENESS: "drama, talk show, hosting, speech, live streaming, sportscast",
}
_CHALLENGE = {
    scenario: challenge for challenge, names in SCENARIOS.items() for scenario in names.split(", ")
}


def challenge_of(scenario: str) -> str:
    """The challenge that the paper puts a scenario under; empty for others."""
    return _CHALLENGE.get(scenario.casefold().replace("_", " ").replace("-", " "), "")


def chosen_label(measure: Measure, labels: Iterable[str]) -> str:
    """Which of the scores that there are the measure takes; empty where there is none.

    A label fits if it has the settings that the measure asks for, whatever else it names, such as
    the model of a judge.
    """
    known = sorted(labels)
    for wanted in measure.scores:
        output, asked = settings_of(wanted)
        for label in known:
            name, settings = settings_of(label)
            if name == output and settings >= asked:
                return label
    return ""


def rubric_of(label: str) -> str:
    """The rubric of a judge's scores: what their label says, else the judge's usual one."""
    name, settings = settings_of(label)
    said = next((each for each in settings if each.startswith("rubric=")), "")
    return said.removeprefix("rubric=") or f"{name.removeprefix('judge_')}.v1"


def measure_of(criterion: str) -> Measure | None:
    """The measure that the paper held against raters on this criterion; None for others."""
    return next((each for each in MEASURES if each.aspect and each.aspect == criterion), None)


def settings_of(label: str) -> tuple[str, frozenset[str]]:
    """An output's key, and the settings in its label: name=value each."""
    name, _, rest = label.partition("[")
    return name, frozenset(filter(None, rest.removesuffix("]").split(",")))
