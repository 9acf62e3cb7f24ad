"""Every clip with its seven measures and what is known of it: what tables and figures are of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from analysis.formatting import counted, enumerated
from analysis.ratings.cells import FACTS
from analysis.report.part import PartInput

if TYPE_CHECKING:
    import pandas as pd


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


BESIDE = ("reference", "anchor")  # roles of what stands below the systems and has no place
LINE, TRAP = "line", "trap"  # of what is no clip of a system (`listening.selectors.ClipFacts`)


class Cell(NamedTuple):
    """One measure of some clips; None where there is none."""

    mean: float | None = None
    sd: float | None = None  # n - 1
    n: int = 0


Cells = dict[tuple[str, ...], dict[str, Cell]]  # by what they are split by; then by the measure


def cells_of(frame: pd.DataFrame, *by: str) -> Cells:
    """All measures of the clips, split by these columns."""
    groups = frame.groupby(list(by), observed=True)[[each.key for each in MEASURES]]
    made: Cells = {}
    means, sds = groups.mean().to_dict("index"), groups.std(ddof=1).to_dict("index")
    for key, counts in groups.count().to_dict("index").items():
        made[key if isinstance(key, tuple) else (str(key),)] = {
            str(name): Cell(_known(means[key][name]), _known(sds[key][name]), int(n))
            for name, n in counts.items()
        }
    return made


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


@dataclass(frozen=True)
class Clips:
    """The clips (a row each, with `FACTS` and the measures), and the order of names."""

    frame: pd.DataFrame
    inputs: PartInput
    taken: str  # in words: which scores the columns are of
    left: str  # in words: what is not counted; may be empty

    def conditions(self, frame: pd.DataFrame) -> list[str]:
        """The systems of these clips: under their groups in the study's order, references last."""
        named = self.inputs.ordered("condition", frame["condition"].unique())
        group, beside = self.groups(), self.beside()
        order = list(dict.fromkeys(group[name] for name in named))
        return sorted(named, key=lambda name: (name in beside, order.index(group[name])))

    def heads(self, column: str, frame: pd.DataFrame) -> list[str]:
        """The challenges (in the paper's order) or the scenarios (in the study's) of clips."""
        named = self.inputs.ordered(column, set(frame[column]) - {""})
        first = list(SCENARIOS)
        return sorted(named, key=lambda name: first.index(name) if name in first else len(first))

    def groups(self) -> dict[str, str]:
        """The group of each condition."""
        return dict(zip(self.frame["condition"], self.frame["group"], strict=True))

    def beside(self) -> set[str]:
        """The conditions that are no systems: references and anchors."""
        return set(self.frame["condition"][self.frame["role"].isin(BESIDE)])

    def panels(self, frame: pd.DataFrame) -> list[tuple[str, list[str]]]:
        """The conditions group by group, references with each: what one drawing holds."""
        named, group, beside = self.conditions(frame), self.groups(), self.beside()
        inside = [name for name in named if name not in beside]
        outside = [name for name in named if name in beside]
        heads = list(dict.fromkeys(group[name] for name in inside))
        return [(head, [n for n in inside if group[n] == head] + outside) for head in heads]


def clips_of(inputs: PartInput) -> Clips | None:
    """The clips that have scores; None where no score is one of the paper's measures."""
    scores = inputs.scores
    if scores is None or not len(scores):
        return None
    labels = scores["metric"].unique()
    taken = {each.key: chosen_label(each, labels) for each in MEASURES}
    if not any(taken.values()):
        return None
    frame = _with_facts(scores, inputs)
    wide = scores.sort_values("version").pivot_table(
        index="stimulus", columns="metric", values="value", aggfunc="last", observed=True
    )
    for key, label in taken.items():
        frame[key] = wide[label].reindex(frame.index) if label in wide else float("nan")
    _split_content(frame)
    whole = len(frame)
    frame = frame[~frame["role"].isin((LINE, TRAP))]
    unknown = frame["condition"] == ""
    left = _left_out(whole - len(frame), int(unknown.sum()))
    frame = frame[~unknown]
    if not len(frame):
        return None
    return Clips(frame, inputs, _taken(taken, labels), left)


def _with_facts(scores: pd.DataFrame, inputs: PartInput) -> pd.DataFrame:
    """A row per clip with `FACTS` as text: from the scores, else from the ratings."""
    once = scores.drop_duplicates("stimulus").set_index("stimulus")
    frame = once.reindex(columns=list(FACTS)).astype(object)
    frame = frame.where(frame.notna(), "").astype(str)
    table = inputs.table[inputs.table["stimulus"] != ""]
    rated = table.drop_duplicates("stimulus").set_index("stimulus")
    for name in ("condition", "role", "language", "dimension"):
        if name not in once and name in rated:
            known = rated[name].astype(str).to_dict()
            frame[name] = [known.get(stimulus, "") for stimulus in frame.index]
    if "role" not in once:
        traps = set(rated.index[rated[TRAP].astype(str) != ""])
        frame.loc[[stimulus in traps for stimulus in frame.index], "role"] = TRAP
    without = frame["challenge"] == ""
    frame.loc[without, "challenge"] = frame.loc[without, "dimension"].map(challenge_of)
    return frame


def _split_content(frame: pd.DataFrame) -> None:
    """CER counts for Chinese clips, WER for the others; content is whichever counts."""
    chinese = frame["language"].str.startswith("zh")
    frame[CONTENT.key] = frame[WER.key].where(~chinese, frame[CER.key])
    frame[CER.key] = frame[CER.key].where(chinese)
    frame[WER.key] = frame[WER.key].where(~chinese)


def _taken(taken: dict[str, str], labels: Iterable[str]) -> str:
    names = {each.key: each.name for each in MEASURES}
    told = [f"{names[key]}: {label}" for key, label in taken.items() if label]
    absent = [names[key] for key, label in taken.items() if not label and key != CONTENT.key]
    text = f"Scores: {'; '.join(told)}."
    outputs = {label.partition("[")[0] for label in taken.values() if label}
    others = [each for each in sorted(labels) if each.partition("[")[0] in outputs]
    others = [each for each in others if each not in taken.values()]
    if others:
        text += f" Not taken: {enumerated(others)}."
    if absent:
        text += f" Without scores: {enumerated(absent)}."
    return text


def _left_out(not_systems: int, unknown: int) -> str:
    said: Sequence[str] = [
        f"{counted(not_systems, 'clip')} that are traps, or lines of joined clips"
        * (not_systems > 0),
        f"{counted(unknown, 'clip')} of which no condition is known" * (unknown > 0),
    ]
    told = [each for each in said if each]
    return f"Not counted: {enumerated(told)}." if told else ""
