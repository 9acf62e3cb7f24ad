"""Ratings and scores as other tools train with them: pairs for reward models, lists of MOS.

- Preferences: one JSON object a line with ``prompt``, ``chosen``, ``rejected`` and ``margin``, the
  columns of TRL's DPOTrainer and RewardTrainer.
- MOS lists: ``sets/*_mos_list.txt`` of SSL-MOS (nii-yamagishilab/mos-finetune-ssl),
  ``sets/TRAINSET`` and ``DEVSET`` of UTMOS (sarulab-speech/UTMOS22), ``nisqa.csv`` of NISQA.
- Metric scores: ``utt_result.txt`` of VERSA, and ``utt2NAME`` of ESPnet's evaluation scripts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from analysis.ratings.breakdowns import Family, families
from analysis.ratings.cells import csv_lines
from analysis.ratings.estimands import Estimand, estimand_of
from analysis.report.writers.datasets import clip_file
from analysis.statistics.pairs.pair_ratings import reach_of
from analysis.statistics.single_clips import clip_scores

if TYPE_CHECKING:
    import pandas as pd

AUDIO, WAV = "audio", "wav"  # as raters heard it; mono at 16 kHz, as SSL-MOS and UTMOS read it
WAV_HZ = 16_000
TRAIN, VALIDATION, TEST = "train", "val", "test"
SPLITS = {"train": TRAIN, "training": TRAIN, "test": TEST, "eval": TEST} | dict.fromkeys(
    ("val", "valid", "validation", "dev", "development"), VALIDATION
)
ONE_IN = 10  # texts that are validation data, where the study names no split
LISTS = {TRAIN: "TRAINSET", VALIDATION: "DEVSET", TEST: "TESTSET"}  # as BVCC and UTMOS call them
NISQA = ("db", "con", "file", "filepath_deg", "lang", "votes", "mos", "mos_std")


@dataclass
class TrainingFiles:
    """Texts by their names; clips of ``audio/`` and of each ``wav/`` folder, by their names."""

    texts: dict[str, str] = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)  # name of the file -> stimulus
    waves: dict[str, str] = field(default_factory=dict)  # name of the file -> stimulus
    notes: list[str] = field(default_factory=list)


def training_files(
    study: str,
    ratings: pd.DataFrame,
    clips: Iterable[Mapping[str, Any]],
    scores: Iterable[Mapping[str, Any]],
    notes: Iterable[str] = (),
) -> TrainingFiles:
    """Return all files of a study; ``notes`` say what is known of its ratings.

    ``ratings`` are those that estimates rest on; answers that what was asked about is absent are
    left out. ``clips`` have ``stimulus`` and ``text``;
    ``scores`` have ``stimulus``, ``metric`` and ``value``.
    """
    texts = {clip["stimulus"]: clip["text"] for clip in clips}
    files = TrainingFiles(notes=list(notes))
    absent = ratings["estimand"].map(lambda key: estimand_of(key).absent)
    for family in families(ratings[ratings["score"] != absent]):
        name = "-".join(_plain(part) for part in family.group.values() if part)
        if estimand_of(family.estimand).prefers and family.in_pairs:
            _add_preferences(files, f"preferences/{name}.jsonl", family, texts)
        elif _is_of_one_clip(estimand_of(family.estimand)):
            _add_mos_lists(files, f"mos/{name}", f"{_plain(study)}_{name}", family)
    files.texts |= score_files(scores)
    files.texts["README.md"] = _readme(study, files)
    return files


def _is_of_one_clip(known: Estimand) -> bool:
    """Whether scores are grades of single clips, the highest the best."""
    others = known.in_pairs or known.among_others or known.maybe_without_score
    return not others and not known.lowest_is_best


# --- Preferences ----------------------------------------------------------------------------------


def _add_preferences(
    files: TrainingFiles, name: str, family: Family, texts: Mapping[str, str]
) -> None:
    pairs = clip_scores(family).frame.to_dict("records")
    rows = list(preferences(family, pairs, texts))
    if ties := len(pairs) - len(rows):
        files.notes.append(f"{name}: {ties:,} pairs without a preferred clip are left out.")
    for row in rows:
        files.heard |= {row[side]: row[f"{side}_stimulus"] for side in ("chosen", "rejected")}
    if rows:
        files.texts[name] = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def preferences(
    family: Family, pairs: Iterable[Mapping[Any, Any]], texts: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the pairs of clips of which raters prefer one, as plain rows.

    ``pairs`` are rows of `clip_scores`, ``texts`` the words of each stimulus. ``margin`` is the
    mean preference as a share of the strongest one, above 0 and at most 1; ``mean`` is on the
    scale of the question, seen from the chosen clip. Ties yield nothing.
    """
    known = estimand_of(family.estimand)
    reach = reach_of(known, family.table["score"].to_numpy(dtype=float))
    for row in pairs:
        value = known.centred(row["mean"])
        if value == 0:
            continue
        prefixes = {"chosen": "", "rejected": "versus_"}
        if value < 0:
            prefixes = {"chosen": "versus_", "rejected": ""}
        stimuli = {side: row[f"{prefix}stimulus"] for side, prefix in prefixes.items()}
        yield {
            "prompt": texts.get(stimuli["chosen"], ""),
            **{side: audio_name(stimulus) for side, stimulus in stimuli.items()},
            "margin": round(abs(value) / reach, 6),
            "mean": round(row["mean"] if value > 0 else known.mirrored(row["mean"]), 6),
            "n_raters": int(row["n_raters"]),
            "n_ratings": int(row["n_ratings"]),
            "item": row.get("item", ""),
            **{f"{side}_condition": row[f"{each}condition"] for side, each in prefixes.items()},
            **{f"{side}_stimulus": stimulus for side, stimulus in stimuli.items()},
            **family.group,
            "estimand": family.estimand,
        }


# --- Lists of MOS ---------------------------------------------------------------------------------


def _add_mos_lists(files: TrainingFiles, folder: str, database: str, family: Family) -> None:
    rows = [row for row in clip_scores(family).frame.to_dict("records") if row["stimulus"]]
    names = wave_names((row["condition"], row["stimulus"]) for row in rows)
    items = {row["stimulus"]: row.get("item") or row["stimulus"] for row in rows}
    split = splits({items[row["stimulus"]]: row.get("split", "") for row in rows})
    of_clip = {stimulus: split[item] for stimulus, item in items.items()}
    means: dict[str, list[str]] = {}
    ratings: dict[str, list[str]] = {}
    nisqa = []
    for row in rows:
        name, part = names[row["stimulus"]], of_clip[row["stimulus"]]
        means.setdefault(part, []).append(f"{name},{row['mean']:.6g}\n")
        nisqa.append(
            {
                "db": f"{database}_{part.upper()}",
                "con": row["condition"],
                "file": row["stimulus"],
                "filepath_deg": audio_name(row["stimulus"]),
                "lang": row.get("language", ""),
                "votes": int(row["n_ratings"]),
                "mos": row["mean"],
                "mos_std": row["sd"],
            }
        )
        files.waves[f"{folder}/{WAV}/{name}"] = row["stimulus"]
        files.heard[audio_name(row["stimulus"])] = row["stimulus"]
    columns = ("stimulus", "condition", "rater", "score")
    for stimulus, condition, rater, score in family.table[list(columns)].itertuples(index=False):
        if stimulus in names:
            listener = _plain(rater).replace("_", "-")
            line = f"{_plain(condition)},{names[stimulus]},{score:.6g},,{{}}_0_{listener}\n"
            ratings.setdefault(of_clip[stimulus], []).append(line)
    for part in means:
        files.texts[f"{folder}/sets/{part}_mos_list.txt"] = "".join(means[part])
        files.texts[f"{folder}/sets/{LISTS[part]}"] = "".join(ratings[part])
    files.texts[f"{folder}/nisqa.csv"] = "".join(csv_lines(nisqa, NISQA))


def splits(named: Mapping[str, str]) -> dict[str, str]:
    """Return ``train``, ``val`` or ``test`` for each text, as the study names it.

    Where it names none that is known, one text in ten is validation data, drawn by its hash: the
    same ones each time, and all systems' clips of a text in the same part.
    """
    known = {item: SPLITS[name.lower()] for item, name in named.items() if name.lower() in SPLITS}
    rest = sorted(named.keys() - known, key=lambda item: hashlib.sha256(item.encode()).hexdigest())
    count = 0 if known or len(rest) < 2 else max(1, len(rest) // ONE_IN)
    return {item: VALIDATION if n < count else TRAIN for n, item in enumerate(rest)} | known


def wave_names(clips: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return ``SYSTEM-CLIP.wav`` by stimulus, of pairs of condition and stimulus.

    UTMOS and SSL-MOS split names at the hyphen, so each name has exactly one.
    """
    names: dict[str, str] = {}
    for condition, stimulus in clips:
        parts = [_plain(part).replace("-", "_") for part in (condition, stimulus)]
        names[stimulus] = f"{'-'.join(parts)}.wav"
    taken = list(names.values())
    return {
        stimulus: f"{name[:-4]}_{_mark(stimulus)}.wav" if taken.count(name) > 1 else name
        for stimulus, name in names.items()
    }


def audio_name(stimulus: str) -> str:
    """Return the place of a clip as raters heard it."""
    return f"{AUDIO}/{clip_file(stimulus)}"


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


# --- Metric scores --------------------------------------------------------------------------------


def score_files(scores: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return ``scores/utt_result.txt`` (VERSA) and ``scores/utt2NAME`` (ESPnet), by their names.

    VERSA: a JSON object for each clip, ``key`` and its scores. ESPnet: a line for each clip, its
    key and the score. Scores without a value are left out.
    """
    by_clip: dict[str, dict[str, Any]] = {}
    by_metric: dict[str, dict[str, float]] = {}
    for row in scores:
        if row["value"] is not None:
            by_clip.setdefault(row["stimulus"], {})[row["metric"]] = row["value"]
            by_metric.setdefault(row["metric"], {})[row["stimulus"]] = row["value"]
    files = {
        f"scores/utt2{_plain(metric)}": "".join(
            f"{stimulus} {value!r}\n"
            for stimulus, value in sorted(values.items())
            if not re.search(r"\s", stimulus)
        )
        for metric, values in by_metric.items()
    }
    if by_clip:
        files["scores/utt_result.txt"] = "".join(
            json.dumps({"key": stimulus, **values}, ensure_ascii=False) + "\n"
            for stimulus, values in sorted(by_clip.items())
        )
    return files


def _readme(study: str, files: TrainingFiles) -> str:
    folders = {PurePosixPath(name).parts[0] for name in files.texts}
    about = {
        "preferences": (
            "`preferences/`: a JSON object for each pair of clips. `prompt` is the text; `chosen` "
            "and `rejected` are files of `audio/`. `margin` is the mean preference as a share of "
            "the strongest answer, above 0 and at most 1. TRL's DPOTrainer and RewardTrainer read "
            "`prompt`, `chosen`, `rejected` and `margin`."
        ),
        "mos": (
            "`mos/`: a folder for each question. `sets/train_mos_list.txt` and `val_mos_list.txt` "
            "are lists of SSL-MOS, `sets/TRAINSET` and `DEVSET` of UTMOS (one line for each "
            "rating), `nisqa.csv` is a table of NISQA. `wav/` has the clips at 16 kHz, mono. All "
            "clips of a text are in the same list. Scores are on the scale of the question."
        ),
        "scores": (
            "`scores/`: metric scores. `utt_result.txt` is a result file of VERSA, `utt2NAME` are "
            "files of ESPnet's evaluation scripts."
        ),
    }
    parts: Sequence[str] = [words for name, words in about.items() if name in folders]
    if files.heard:
        parts = [*parts, "`audio/`: the clips as raters heard them."]
    listing = "\n".join(f"- {part}" for part in (*parts, *files.notes))
    return f"# Training files of the study {study}\n\n{listing}\n"
