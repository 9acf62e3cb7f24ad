"""A simulated study of the design of Clark et al. (2019), seeded; `python -m` writes its files.

News: 103 paragraphs (46 of two sentences, 31 of three, 15 of four, 11 longer), one reader and one
synthetic voice, alone (Ri, Ti), whole (Rp, Tp) and after context (R1R1, R1T1, T1T1, Text1T1, T2T1,
T1T2). Conversations of two pairs of speakers (42 and 71), their first two turns alone and the
second one after the first. Eight ratings per stimulus in half steps, blocks of 10 (paragraphs: 5),
raters assigned at random. The mean scores aimed at are TRUTH's; no number here is the paper's own.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from scipy import stats

FOLDER = Path(__file__).resolve().parents[1] / "data" / "longform"
RATINGS, WORDS, TRUTH_FILE = "clark.csv.gz", "clark.words.csv", "clark.truth.json"
PER_STIMULUS = 8
TRUTH = {
    "seed": 2019,
    "mos": {
        "Ri": 4.5, "Rp": 4.58, "R1R1": 4.66, "Ti": 3.9, "Tp": 3.75, "R1T1": 3.55,
        "T1T1": 4.2, "Text1T1": 4.08, "T2T1": 4.2, "T1T2": 4.05,
        "F1M1 Ri": 4.6, "F1M1 Ti": 3.9, "F1M1 R1R1": 4.62, "F1M1 R1T1": 4.05, "F1M1 T1T1": 4.35,
        "M2F2 Ri": 4.6, "M2F2 Ti": 3.9, "M2F2 R1R1": 4.62, "M2F2 R1T1": 4.05, "M2F2 T1T1": 4.35,
    },
    "sd": {
        "sentence": 0.25, "paragraph": 0.28, "stimulus": 0.12, "rater": 0.3, "rater_voice": 0.12,
        "rating": 0.5,
    },
    "paragraph_weights": {"first": 0.35, "last": 0.3, "others": 0.15},
    "lengths": {2: 46, 3: 31, 4: 15, 5: 5, 6: 3, 7: 1, 8: 1, 9: 1},
    "conversations": {"F1M1": 42, "M2F2": 71},
    "raters": {"isolation": 110, "paragraphs": 70, "context": 100, "turns": 80, "replies": 60},
}  # fmt: skip
BLOCK = {"paragraphs": 5}
COLUMNS = (
    "task", "method", "estimand", "criterion", "session", "block", "rater", "position", "item",
    "paragraph", "condition", "system", "voice", "stimulus", "context", "label", "score",
)  # fmt: skip


@dataclass(frozen=True)
class Clip:
    """One stimulus: its condition, paragraph, lines, what is heard before, and its quality."""

    task: str
    condition: str
    paragraph: str
    first: int
    last: int
    context: str
    opinion: float

    @property
    def item(self) -> str:
        to = f"-{self.last}" if self.last > self.first else ""
        return f"{self.paragraph}.{self.first}{to}"

    @property
    def stimulus(self) -> str:
        return f"{self.condition}:{self.item}".replace(" ", "_")

    @property
    def voice(self) -> str:
        """R or T: whose speech is rated."""
        form = self.condition.rpartition(" ")[2]
        return form[0] if form[1] in "ip" else form[-2]


@dataclass
class Material:
    """Paragraphs with the qualities of their sentences, for both voices, and their words."""

    rng: np.random.Generator
    lengths: dict[str, int] = field(default_factory=dict)
    words: dict[tuple[str, int], int] = field(default_factory=dict)
    deviation: dict[tuple[str, str, int], float] = field(default_factory=dict)
    whole: dict[tuple[str, str], float] = field(default_factory=dict)

    def add(self, name: str, length: int) -> None:
        sd, weights = TRUTH["sd"], TRUTH["paragraph_weights"]
        self.lengths[name] = length
        for place in range(1, length + 1):
            self.words[name, place] = int(self.rng.integers(6, 30))
        for voice in "RT":
            scale = 0.5 if voice == "R" else 1.0
            made = self.rng.normal(0, sd["sentence"] * scale, length)
            for place, value in enumerate(made, start=1):
                self.deviation[voice, name, place] = float(value)
            others = float(made[1:-1].mean()) if length > 2 else 0.0
            parts = (weights["first"] * made[0], weights["last"] * made[-1])
            own = self.rng.normal(0, sd["paragraph"] * scale)
            self.whole[voice, name] = float(sum(parts) + weights["others"] * others + own)


@cache
def latent(mos: float, sd: float) -> float:
    """The mean opinion of which the mean score is `mos`: half steps, cut off at 1 and 5."""
    steps = np.arange(1, 5.5, 0.5)
    cuts = (steps[:-1] + steps[1:]) / 2

    def score(at: float) -> float:
        below = np.concatenate([[0.0], stats.norm.cdf((cuts - at) / sd), [1.0]])
        return float(np.diff(below) @ steps)

    low, high = 0.0, 7.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) < mos else (low, middle)
    return low


def clips(rng: np.random.Generator) -> tuple[list[Clip], Material]:
    """Every stimulus of the study, in order."""
    material, made = Material(rng), []
    lengths = [n for n, count in TRUTH["lengths"].items() for _ in range(count)]
    for number, length in enumerate(rng.permutation(lengths), start=1):
        name = f"n{number:03d}"
        material.add(name, int(length))
        made += list(_news(material, name, int(length)))
    for key, count in TRUTH["conversations"].items():
        for number in range(1, count + 1):
            name = f"{key.lower()}_{number:02d}"
            material.add(name, 2)
            made += list(_talk(material, key, name))
    return made, material


def _news(material: Material, name: str, length: int) -> Iterator[Clip]:
    for voice in "RT":
        for place in range(1, length + 1):
            yield _clip(material, "isolation", f"{voice}i", name, place, place)
        yield _clip(material, "paragraphs", f"{voice}p", name, 1, length, whole=True)
    for form in ("R1R1", "R1T1", "T1T1", "Text1T1"):
        yield _clip(material, "context", form, name, 2, 2)
    if length > 2:
        yield _clip(material, "context", "T2T1", name, 3, 3)
        yield _clip(material, "context", "T1T2", name, 2, 3)


def _talk(material: Material, key: str, name: str) -> Iterator[Clip]:
    for voice in "RT":
        for turn in (1, 2):
            yield _clip(material, "turns", f"{key} {voice}i", name, turn, turn)
    for form in ("R1R1", "R1T1", "T1T1"):
        yield _clip(material, "replies", f"{key} {form}", name, 2, 2)


def _clip(
    material: Material,
    task: str,
    condition: str,
    name: str,
    first: int,
    last: int,
    whole: bool = False,
) -> Clip:
    sd = TRUTH["sd"]
    form = condition.rpartition(" ")[2]
    voice = form[0] if form[1] in "ip" else form[-2]
    lines = [material.deviation[voice, name, place] for place in range(first, last + 1)]
    quality = material.whole[voice, name] if whole else float(np.mean(lines))
    own = float(material.rng.normal(0, sd["stimulus"]))
    parts = (sd["paragraph" if whole else "sentence"], sd["stimulus"], sd["rater"])
    spread = float(np.sqrt(sum(s**2 for s in (*parts, sd["rater_voice"], sd["rating"]))))
    opinion = latent(TRUTH["mos"][condition], spread) + quality + own
    before = [f"{name}.{at}" for at in _before(form, first)]
    kind = "text:" if form.startswith("Text") else {"R": "human_", "T": "tts_"}[form[0]]
    return Clip(task, condition, name, first, last, " ".join(f"{kind}{x}" for x in before), opinion)


def _before(form: str, first: int) -> range:
    if form[1] in "ip":
        return range(0)
    lines = int(form.removeprefix("Text").lstrip("RT")[0])
    return range(first - lines, first)


@cache
def rows() -> tuple[dict[str, str], ...]:
    """All ratings as rows of text, the same at every call."""
    rng = np.random.default_rng(TRUTH["seed"])
    made, _ = clips(rng)
    found: list[dict[str, str]] = []
    for task in TRUTH["raters"]:
        found += _rated([clip for clip in made if clip.task == task], task, rng)
    return tuple(found)


def _rated(stimuli: list[Clip], task: str, rng: np.random.Generator) -> list[dict[str, str]]:
    """Eight rounds over shuffled blocks; each block goes to a rater who has none of its clips."""
    sd, n_raters, size = TRUTH["sd"], TRUTH["raters"][task], BLOCK.get(task, 10)
    bias = rng.normal(0, sd["rater"], n_raters)
    by_voice = {voice: rng.normal(0, sd["rater_voice"], n_raters) for voice in "RT"}
    heard: list[set[int]] = [set() for _ in range(n_raters)]
    position, block, found = [0] * n_raters, 0, []
    for _ in range(PER_STIMULUS):
        order = rng.permutation(len(stimuli))
        for start in range(0, len(order), size):
            mine = order[start : start + size].tolist()
            willing = rng.permutation(n_raters)
            least = sorted(willing.tolist(), key=lambda r: len(heard[r]))
            rater = next(r for r in least if not heard[r].intersection(mine))
            heard[rater].update(mine)
            block += 1
            for at in mine:
                clip = stimuli[at]
                leaning = bias[rater] + by_voice[clip.voice][rater]
                opinion = clip.opinion + leaning + rng.normal(0, sd["rating"])
                score = float(np.clip(np.round(opinion * 2) / 2, 1, 5))
                position[rater] += 1
                found.append(_row(clip, task, rater, block, position[rater], score))
    return found


def _row(
    clip: Clip, task: str, rater: int, block: int, position: int, score: float
) -> dict[str, str]:
    after = bool(clip.context)
    who = f"{task}{rater + 1:03d}"
    method = "context_mos" if after else "mos"
    return {
        "task": task,
        "method": method,
        "estimand": method,
        "criterion": "appropriateness" if after else "naturalness",
        "session": who,
        "block": f"b{block}",
        "rater": who,
        "position": str(position),
        "item": clip.item,
        "paragraph": clip.paragraph,
        "condition": clip.condition,
        "system": "human" if clip.voice == "R" else "tts",
        "voice": "",
        "stimulus": clip.stimulus,
        "context": clip.context,
        "label": f"{score:g}",
        "score": f"{score:g}",
    }


def words() -> list[tuple[str, int]]:
    """The number of words of every sentence that is rated alone, by stimulus."""
    made, material = clips(np.random.default_rng(TRUTH["seed"]))
    return [
        (clip.stimulus, material.words[clip.paragraph, clip.first])
        for clip in made
        if clip.task == "isolation"
    ]


def csv_text() -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows())
    return buffer.getvalue()


def words_text() -> str:
    lines = [f"{stimulus},n_words,1,{count}" for stimulus, count in words()]
    return "\n".join(["stimulus,metric,version,value", *lines]) + "\n"


def truth_text() -> str:
    return json.dumps(TRUTH, indent=1) + "\n"


def write(folder: Path = FOLDER) -> None:
    """The three files, the same bytes at every call."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / RATINGS).open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(csv_text().encode())
    (folder / WORDS).write_text(words_text(), "utf-8")
    (folder / TRUTH_FILE).write_text(truth_text(), "utf-8")


if __name__ == "__main__":
    write()
