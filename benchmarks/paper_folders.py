"""The four papers' studies at their own size: a preset's folder, filled with short made-up clips.

What a paper does not print (how many clips of a kind, how often each was rated) is chosen so that
all that it prints holds; `benchmarks/README.md` says which is which.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "tests" / "data" / "analysis" / "published"
RATE_HZ = 16_000
Row = dict[str, str]
Top = dict[str, Any]


@dataclass(frozen=True)
class Paper:
    """A preset at the size of its paper; `share` of it in a quick run."""

    preset: str
    raters: int
    fill: Callable[[Top, float], list[Row]]  # changes study.toml, returns the rows of stimuli.csv
    seconds: float = 0.8  # of a clip
    scores: Callable[[Sequence[Row]], Iterator[Row]] | None = None


def published(name: str) -> list[Row]:
    with (PUBLISHED / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fill_folder(paper: Paper, folder: Path, share: float) -> list[Row]:
    """The folder that `new_study` wrote becomes the paper's; the rows of its stimuli.csv."""
    toml = folder / "study.toml"
    top = tomllib.loads(toml.read_text("utf-8"))
    rows = paper.fill(top, share)
    for task in top["tasks"]:
        task.pop("examples", None)
        if paper.preset != "lfs":  # whose ten raters hear every text from every system
            task.pop("repeat_items", None)
    toml.write_text(tomli_w.dumps(top, multiline_strings=True), "utf-8")
    for old in (folder / "audio").iterdir():
        old.unlink()
    for number, row in enumerate(rows):
        row["file"] = f"audio/{row['stimulus']}.flac"
        write_clip(folder / row["file"], number, paper.seconds)
    heads = list(dict.fromkeys(name for row in rows for name in row))
    with (folder / "stimuli.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, heads, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return rows


def write_clip(path: Path, number: int, seconds: float) -> None:
    """A vowel-like tone with a tremolo, no two alike: as short as a check of levels bears."""
    import soundfile

    rng = np.random.default_rng(number)
    t = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    pitch = rng.uniform(90, 250)
    tone = sum(np.sin(2 * np.pi * pitch * k * t) / k for k in range(1, 6))
    swell = 0.6 + 0.4 * np.sin(2 * np.pi * rng.uniform(2, 5) * t)
    edge = np.minimum(1, np.minimum(t, t[::-1]) / 0.02)
    soundfile.write(path, 0.1 * tone * swell * edge, RATE_HZ, subtype="PCM_16", format="FLAC")


def share_of(count: int, share: float) -> int:
    return max(1, round(count * share))


def condition(key: str, **more: Any) -> Top:
    return {"key": slug(key), "label": key, "system": key, **more}


def slug(words: str) -> str:
    return words.replace(" ", "-").replace(".", "-")


# --- Audio Turing Test --------------------------------------------------------------------------


def att(top: Top, share: float) -> list[Row]:
    """20 voices of 5 systems, 5 dimensions of 12 texts, half of them black-box; 17 labels a clip.

    24 clips a rater are two sets of twelve, three traps beside each: 850 raters for 20,400 labels.
    """
    cells = published("att_table6_hls_by_voice.csv")
    voices = list(dict.fromkeys((cell["system"], cell["voice"]) for cell in cells))
    dimensions = list(dict.fromkeys(cell["dimension"] for cell in cells))
    top["conditions"] = [
        {"key": voice, "label": f"{system}, {voice}", "system": system, "voice": voice}
        for system, voice in voices
    ]
    top["conditions"] += [
        {"key": "human", "system": "human", "role": "reference"},
        {"key": "flawed", "system": "flawed", "role": "trap"},
    ]
    (task,) = top["tasks"]
    task |= {"conditions": [voice for _, voice in voices], "block_size": 12}
    task |= {"blocks_per_session": 2, "ratings_per_stimulus": max(2, round(17 * share))}
    task["traps"]["per"] = 12
    rows = [
        {
            "stimulus": f"{voice}-d{place}-t{n}",
            "condition": voice,
            "item": f"d{place}-t{n}",
            "text": f"第{n}句，{dimension}",
            "dimension": dimension,
            "split": "black-box" if n % 2 else "white-box",
        }
        for _, voice in voices
        for place, dimension in enumerate(dimensions)
        for n in range(12)
    ]
    for kind, count in (("flawed", 20), ("human", 40)):
        rows += [
            {"stimulus": f"{kind}-{n}", "condition": kind, "item": f"{kind}-{n}", "trap": kind}
            for n in range(count)
        ]
    return rows


# --- Long form ----------------------------------------------------------------------------------

PARAGRAPHS = {2: 46, 3: 31, 4: 15, 5: 11}  # Table 2; the 11 longer ones have five sentences here
DIALOGUES = 113  # 42 and 71 of two pairs of speakers
NEWS = ["Ri", "Ti", "Rp", "Tp", "R1R1", "R1T1", "T1T1", "Text1T1", "T2T1", "T1T2"]
TALK = ["Ri", "Ti", "R1R1", "R1T1", "T1T1"]


def long_form(top: Top, share: float) -> list[Row]:
    """103 paragraphs in ten conditions, dialogues of two pairs of speakers in five, 8 ratings.

    A session has four blocks of ten, eight of five paragraphs: over 35 raters in each task.
    """
    top["conditions"] = [
        condition("human", role="reference"),
        condition("synthetic"),
        condition("human duo", role="reference"),
        condition("synthetic duo"),
    ]
    news, talk = top["settings"]
    news |= {"real": "human", "synthetic": ["synthetic"], "conditions": NEWS}
    talk |= {"real": "human-duo", "synthetic": ["synthetic-duo"], "conditions": TALK}
    blocks = {
        "isolation": (["Ri", "Ti"], 10, 4),
        "paragraphs": (["Rp", "Tp"], 5, 8),
        "context": (NEWS[4:], 10, 4),
        "turns": (["talk Ri", "talk Ti"], 10, 4),
        "replies": (["talk R1R1", "talk R1T1", "talk T1T1"], 10, 4),
    }
    for task in top["tasks"]:
        conditions, size, often = blocks[task["key"]]
        task |= {"conditions": conditions, "block_size": size, "blocks_per_session": often}
        if share < 1:
            task["blocks_per_session"] = 1
    return list(lines_of(share))


def lines_of(share: float) -> Iterator[Row]:
    lengths = [n for n, count in PARAGRAPHS.items() for _ in range(share_of(count, share))]
    for p, length in enumerate(lengths):
        for place in range(1, length + 1):
            for name in ("human", "synthetic"):
                yield line(name, f"p{p}", place, "reading", "narrator")
    for d in range(share_of(DIALOGUES, share)):
        for place, speaker in ((1, "A"), (2, "B")):
            for name in ("human-duo", "synthetic-duo"):
                yield line(name, f"d{d}", place, "talk", speaker)


def line(name: str, paragraph: str, place: int, dimension: str, speaker: str) -> Row:
    item = f"{paragraph}s{place}"
    row = {"stimulus": f"{name}-{item}", "condition": name, "item": item, "dimension": dimension}
    row |= {"text": f"Sentence {place} of {paragraph} says one thing more.", "speaker": speaker}
    return row | {"paragraph": paragraph, "position": str(place)}


# --- LFS-Bench ----------------------------------------------------------------------------------

SCENARIOS = ("audiobook", "podcast", "news", "talk_show", "popular_science")
SAMPLES, FEW = 200, 50


def lfs(top: Top, share: float) -> list[Row]:
    """200 samples of ten systems: all for richness and hierarchy, 50 each for the other tests."""
    names = [row["system"] for row in published("lfs_systems.csv") if row["table"] == "table2"]
    systems = [name for name in names if name != "Average" and not name.startswith("Real")][:10]
    top.pop("settings")
    top["conditions"] = [condition(name, attributes={"group": "Systems"}) for name in systems]
    texts = share_of(SAMPLES, share) // len(systems)
    for task in top["tasks"]:
        task["conditions"] = [slug(name) for name in systems]
        task |= {"ratings_per_stimulus": 10, "block_size": 10}
        rated = texts * len(systems)
        if task["key"] == "prosody":
            task["options"]["pairs"] = [[slug(a), slug(b)] for a, b in pairs_of(systems)]
            rated = texts * len(systems) // 2
        elif task["key"] in ("timbre", "fidelity") and share == 1:
            task["draw"] = {"number": FEW // len(systems)}
            rated = FEW
        task["blocks_per_session"] = -(-rated // 10)
    return [
        {
            "stimulus": f"{slug(name)}-t{n}",
            "condition": slug(name),
            "item": f"t{n}",
            "text": f"A long text, number {n}. " * 20,
            "dimension": SCENARIOS[n % len(SCENARIOS)],
            "language": "zh-Hans" if n % 2 else "en",
            "speakers": "1",
            "sentences": str(4 + n % 6),
        }
        for name in systems
        for n in range(texts)
    ]


def pairs_of(systems: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(systems[::2], systems[1::2], strict=True))


LFS_SCORES = {  # metric: mean, SD
    "timbre_consistency": (0.92, 0.02),
    "reverb_consistency": (2.1, 0.6),
    "squim_pesq[chunk_s=0.0]": (3.7, 0.3),
    "wer": (0.12, 0.05),
    "judge_prosodic_coherence": (3.4, 0.9),
    "judge_expressive_richness": (2.9, 0.7),
    "judge_expressive_hierarchy": (2.7, 0.8),
    "utmos": (3.2, 0.6),
}


def lfs_scores(rows: Sequence[Row]) -> Iterator[Row]:
    yield from drawn(rows, LFS_SCORES)


def drawn(rows: Sequence[Row], metrics: dict[str, tuple[float, float]]) -> Iterator[Row]:
    """Simulated scores of each clip that is no trap."""
    rng = np.random.default_rng(1)
    for row in rows:
        if not row.get("trap"):
            for metric, (mean, sd) in metrics.items():
                value = f"{rng.normal(mean, sd):.4f}"
                yield {"stimulus": row["stimulus"], "metric": metric, "value": value}


# --- NVV-SuperBench -----------------------------------------------------------------------------

PER_TYPE, PAIRS = 10, 50
LANGUAGES = {"EN": "en", "ZH": "zh-Hans"}
COMPARED = {"tag": "ElevenLabs", "prompt": "Gemini 2.5 Pro"}
RUNS = 3


def nvv(top: Top, share: float) -> list[Row]:
    """450 clips a language of each of 15 systems, three syntheses each; 50 pairs of two of them.

    Each clip of the first run is rated once: that gives intervals as wide as the paper's.
    """
    cells = published("nvv_table4_subjective.csv")
    served = list(dict.fromkeys((c["control"], c["system"], c["language"]) for c in cells))
    types = [row["nvv_type"] for row in published("nvv_taxonomy.csv")]
    words = {"nvv_types": "; ".join(types)}
    names = {kind: keys_of(served, kind) for kind in ("tag", "prompt")}
    top["conditions"] = [
        condition(f"{kind} {name}", attributes=words if kind == "tag" else {})
        for kind in names
        for name in names[kind]
    ]
    top["conditions"] += [condition(f"without {kind}") for kind in COMPARED]
    top["conditions"].append(condition("checks", role="trap"))
    tags, captions, pairs = top["tasks"]
    tags |= {"conditions": [slug(f"tag {n}") for n in names["tag"]], "block_size": 35}
    captions |= {"conditions": [slug(f"prompt {n}") for n in names["prompt"]], "block_size": 26}
    compared = [[slug(f"{k} {n}"), slug(f"without {k}")] for k, n in COMPARED.items()]
    pairs |= {"conditions": [key for pair in compared for key in pair]}
    pairs["block_size"] = min(20, len(LANGUAGES) * share_of(PAIRS, share))
    pairs["options"] = {"reach": 3, "pairs": compared}
    for task in (tags, captions, pairs):
        task |= {"ratings_per_stimulus": 1, "allow_missing": True}
        task["blocks_per_session"] = 1 if task is pairs or share < 1 else 2
        if "traps" in task:
            task["traps"]["per"] = task["block_size"]
    pairs["ratings_per_stimulus"] = 8
    return list(nvv_rows(served, types, share))


def keys_of(served: Sequence[tuple[str, str, str]], kind: str) -> list[str]:
    return list(dict.fromkeys(name for control, name, _ in served if control == kind))


def nvv_rows(
    served: Sequence[tuple[str, str, str]], types: Sequence[str], share: float
) -> Iterator[Row]:
    each = share_of(PER_TYPE, share)
    pairs = share_of(PAIRS, share)
    for kind, name, language in served:
        cells = [(each_type, n) for n in range(each) for each_type in types]
        for run in range(1, RUNS + 1):
            for place, n in cells:
                yield nvv_row(kind, name, language, place, n, run)
        if COMPARED[kind] == name:
            for place, n in cells[:pairs]:
                yield nvv_row("without", kind, language, place, n, 1)
    for kind in ("instructed-tag", "instructed-caption"):
        for n in range(5):
            row = {"stimulus": f"{kind}-{n}", "condition": "checks", "item": f"{kind}-{n}"}
            yield row | {"trap": kind, "expected": str(n + 1), "text": f"Choose {n + 1}."}


def nvv_row(kind: str, name: str, language: str, place: str, n: int, run: int) -> Row:
    text = f"A line about a {place}, number {n}."
    asked = name if kind == "without" else kind  # a pair is of one text
    item = f"{asked}-{language}-{slug(place)}-{n}"
    key = slug(f"{kind} {name}")
    return {
        "stimulus": f"{key}-{item}-{run}",
        "condition": key,
        "item": item,
        "text": f"[{place}] {text}" if asked == "tag" else text,
        "transcript": text,
        "caption": f"A voice that does a {place}." if asked == "prompt" else "",
        "dimension": place,
        "language": LANGUAGES[language],
        "run": str(run),
    }


NVV_SCORES = {
    "wer": (0.1, 0.05),
    "dnsmos_sig": (3.5, 0.2),
    "dnsmos_bak": (4.0, 0.2),
    "dnsmos": (3.2, 0.2),
    "clap": (0.4, 0.1),
    "nvv_precision": (0.5, 0.2),
    "nvv_recall": (0.5, 0.2),
}


def nvv_scores(rows: Sequence[Row]) -> Iterator[Row]:
    """Words are wrong in English, characters in Chinese, as in the paper's Table 3."""
    chinese = {row["stimulus"] for row in rows if row.get("language") == LANGUAGES["ZH"]}
    for score in drawn(rows, NVV_SCORES):
        by_character = score["metric"] == "wer" and score["stimulus"] in chinese
        yield score | {"metric": "cer"} if by_character else score


PAPERS = {
    "att": Paper("att", 857, att),
    "long_form": Paper("long_form", 220, long_form),
    "lfs": Paper("lfs", 10, lfs, seconds=20.0, scores=lfs_scores),
    "nvv": Paper("nvv", 97, nvv, seconds=0.6, scores=nvv_scores),
}
