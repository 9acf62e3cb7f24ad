"""The training data of Auto-ATT: labelled clips with splits, made from ratings, kept as JSONL."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from listening.common.command_name import command
from listening.common.spreadsheets import TableError, located, read_table
from listening.methods.att import SCORES
from metrics.auto_att.model import LABELS, final_label, mean_score
from metrics.core import decoding

NEEDED = ("stimulus", "rater", "label")
TRAINING = "training"  # stands in the column trap of training trials


class DatasetError(ValueError):
    """Ratings or files from which no dataset can be made; the message says what to change."""


@dataclass(frozen=True)
class Rating:
    """One label that one rater gave to one clip."""

    clip: str
    rater: str
    label: str
    method: str = ""
    criterion: str = ""
    set: str = ""  # session and block: the clips that a rater's traps answer for
    trap: str = ""
    trap_passed: bool | None = None
    review: str = ""


@dataclass(frozen=True)
class Source:
    """One audio file and what it is."""

    clip: str
    path: str
    sha256: str
    system: str = ""
    voice: str = ""
    item: str = ""
    dimension: str = ""
    trap: str = ""  # "human" or "flawed" for the clips with a known answer


def from_study(study: str) -> tuple[list[Rating], list[Source]]:
    """A study's ratings and clips, traps included. Needs the database."""
    from listening.selectors import bring_audio, rating_rows, stimulus_rows

    rows = list(rating_rows(study))
    by_stimulus = {row["stimulus"]: row for row in rows if row["trap"] != TRAINING}
    sources = []
    for row in stimulus_rows(study):
        rated = by_stimulus.get(row["stimulus"])
        kind = (rated["trap"] if rated else "not played yet") if row["role"] == "trap" else ""
        sources.append(
            Source(
                clip=row["stimulus"],
                path=row["path"],
                sha256=row["sha256"],
                system=row["system"] or row["condition"],
                voice=row["voice"] or row["condition"],
                item=row["item"],
                dimension=rated["dimension"] if rated else "",
                trap=kind,
            )
        )
    bring_audio(source.path for source in sources)
    return [parse_rating(row) for row in rows], sources


def from_csv(ratings: Path | str, manifest: Path | str) -> tuple[list[Rating], list[Source]]:
    """Ratings and clips of two CSV files (UTF-8, header; gzip when the name ends in .gz).

    ``ratings`` has the columns of a study's ratings.csv; needed are stimulus, rater and label.
    ``manifest`` has one line per clip: stimulus and path (or file; from the manifest's folder),
    and, where the ratings do not tell them: system, voice, dimension, trap. Raises DatasetError.
    """
    rows = list(_table(Path(ratings), NEEDED))
    by_stimulus = {row["stimulus"]: row for row in rows if row.get("trap", "") != TRAINING}
    sources = []
    for row in _table(Path(manifest), ("stimulus",)):
        known = {**by_stimulus.get(row["stimulus"], {}), **{k: v for k, v in row.items() if v}}
        place = known.get("path") or known.get("file")
        if not place:
            raise DatasetError(f"{manifest}: {row['stimulus']} has no path; add a column path")
        path = Path(manifest).parent / place
        condition = known.get("condition", "")
        sources.append(
            Source(
                clip=row["stimulus"],
                path=str(path),
                sha256=decoding.file_sha256(path) if path.is_file() else "",
                system=known.get("system") or condition,
                voice=known.get("voice") or condition,
                item=known.get("item", ""),
                dimension=known.get("dimension", ""),
                trap=known.get("trap", ""),
            )
        )
    return [parse_rating(row) for row in rows], sources


def parse_rating(row: Mapping[str, Any]) -> Rating:
    """The rating of a plain row (RatingRow), from the database or from a file's text."""
    session, block = str(row.get("session", "")), str(row.get("block", ""))
    passed = {"true": True, "false": False}.get(str(row.get("trap_passed", "")).lower())
    return Rating(
        clip=str(row["stimulus"]),
        rater=str(row["rater"]),
        label=str(row["label"]),
        method=str(row.get("method", "")),
        criterion=str(row.get("criterion", "")),
        set=f"{session}/{block}" if block else "",
        trap=str(row.get("trap", "")),
        trap_passed=passed,
        review=str(row.get("review", "")),
    )


def _table(path: Path, needed: Iterable[str]) -> Iterator[dict[str, str]]:
    try:
        table = read_table(path, short_rows=True)
    except TableError as error:
        raise DatasetError("\n".join(located(path, line) for line in error.problems)) from None
    absent = [name for name in needed if name not in table.layout.names]
    if absent:
        raise DatasetError(f"{path}: no column {', '.join(absent)}")
    for _, row in table.records():
        yield {name: value.strip() for name, value in row.items() if name}


TRAIN, TEST, TRAP = "train", "test", "trap"
CLIPS, SUMMARY = "clips.jsonl", "dataset.json"
Voice = tuple[str, str]  # system, voice


@dataclass(frozen=True)
class Rule:
    """Which ratings and clips make a dataset, and what is held out of training."""

    labels_per_clip: int = 3  # a clip with fewer is left out; more are all used
    ties: str = "nearest"  # or "leave_out"; see `labels.final_label`
    valid_sets_only: bool = True  # ratings of sets that failed their traps are left out
    held_out: tuple[Voice, ...] = ()  # voices for the test; none: one of each system, drawn
    unseen_dimensions: tuple[str, ...] = ()  # never trained on
    criterion: str = ""  # empty: the only one there is
    seed: int = 0

    def __post_init__(self) -> None:
        if self.labels_per_clip < 1:
            raise DatasetError(f"labels per clip must be 1 or more, not {self.labels_per_clip}")
        if self.ties not in ("nearest", "leave_out"):
            raise DatasetError(f"ties must be nearest or leave_out, not {self.ties!r}")


@dataclass(frozen=True)
class LabelledClip:
    """One audio file with what people said of it."""

    clip: str
    path: str
    sha256: str
    system: str
    voice: str
    item: str
    dimension: str
    split: str  # train, test, or trap (known answer, never trained on)
    trap: str = ""
    labels: dict[str, int] = field(default_factory=dict)  # label -> raters who gave it
    label: str = ""  # the final one; empty for a trap without ratings
    score: float | None = None  # mean of the labels' scores, in [0, 1]

    @property
    def speaker(self) -> Voice:
        """System and voice: a voice is one of a system."""
        return self.system, self.voice

    def target(self, kind: str) -> float:
        """What a model learns, in [0, 1]: the final label's score, or the mean (kind "soft")."""
        if self.score is None:
            raise DatasetError(f"{self.clip} has no labels to learn from")
        return self.score if kind == "soft" else SCORES[self.label]


@dataclass(frozen=True)
class Dataset:
    """Labelled clips, and what was left out on the way and why."""

    clips: tuple[LabelledClip, ...]
    summary: dict[str, Any]

    def split(self, name: str) -> list[LabelledClip]:
        """The clips of "train", "test" or "trap", in order."""
        return [clip for clip in self.clips if clip.split == name]

    def fingerprint(self) -> str:
        """SHA-256 (hex) of audio, labels and splits; the places of the files do not count."""
        plain = [{k: v for k, v in asdict(c).items() if k != "path"} for c in self.clips]
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def training_facts(clips: Sequence[LabelledClip]) -> dict[str, Any]:
    """What a predictor heard in training: hashes, voices and dimensions of these clips."""
    return {
        "sha256": sorted(clip.sha256 for clip in clips),
        "voices": sorted({clip.speaker for clip in clips}),
        "dimensions": sorted({clip.dimension for clip in clips}),
    }


def build(ratings: Iterable[Rating], sources: Sequence[Source], rule: Rule) -> Dataset:
    """The dataset of ratings and clips under a rule; raises DatasetError when nothing is left."""
    usable, ratings_out = usable_ratings(list(ratings), rule)
    labels_by_clip: dict[str, Counter[str]] = {}
    for rating in usable:
        labels_by_clip.setdefault(rating.clip, Counter())[rating.label] += 1
    clips, clips_out, tied = labelled_clips(sources, labels_by_clip, rule)
    voices = sorted({clip.speaker for clip in clips if clip.split != TRAP})
    held_out, alone = held_out_voices(voices, rule)
    clips = [assign_split(clip, held_out, rule) for clip in clips]
    tested = {clip.sha256 for clip in clips if clip.split == TEST}
    leaks = {c.clip for c in clips if c.split == TRAIN and c.sha256 in tested}
    clips_out["the same audio is a test clip"] += len(leaks)
    clips = [clip for clip in clips if clip.clip not in leaks]
    if not any(clip.split == TRAIN for clip in clips):
        raise DatasetError(f"no clip is left to train on; left out: {dict(+clips_out)}")
    summary = {
        "rule": asdict(rule),
        "clips": dict(Counter(clip.split for clip in clips)),
        "labels": sum(sum(clip.labels.values()) for clip in clips),
        "ties": tied,
        "held_out_voices": sorted("/".join(voice) for voice in held_out),
        "systems_with_one_voice": alone,
        "dimensions": dict(Counter(c.dimension for c in clips if c.split == TRAIN)),
        "ratings_left_out": dict(+ratings_out),
        "clips_left_out": dict(+clips_out),
    }
    return Dataset(tuple(sorted(clips, key=lambda clip: (clip.split, clip.clip))), summary)


def usable_ratings(ratings: Sequence[Rating], rule: Rule) -> tuple[list[Rating], Counter[str]]:
    """The ratings that label a clip, and how many were left out for which reason."""
    left_out: Counter[str] = Counter()
    criteria = {rating.criterion for rating in ratings if rating.label in SCORES}
    if not rule.criterion and len(criteria) > 1:
        raise DatasetError(f"several criteria: {', '.join(sorted(criteria))}; name one of them")
    failed = failed_sets(ratings) if rule.valid_sets_only else set()
    seen: set[tuple[str, str]] = set()
    usable = []
    for rating in ratings:
        reason = ""
        if rating.label not in SCORES or (rating.method or "att") != "att":
            reason = f"not one of {', '.join(LABELS)}"
        elif rule.criterion and rating.criterion != rule.criterion:
            reason = "another criterion"
        elif rating.trap == TRAINING:
            reason = "training trial"
        elif rating.set in failed:
            reason = "its set failed the traps"
        elif rating.review == "unfit":
            reason = "experts called its reason unfit"
        elif (rating.rater, rating.clip) in seen:
            reason = "the rater had labelled the clip before"
        if reason:
            left_out[reason] += 1
        else:
            seen.add((rating.rater, rating.clip))
            usable.append(rating)
    return usable, left_out


def failed_sets(ratings: Iterable[Rating]) -> set[str]:
    """Sets (session/block) that missed a flawed clip or more than half of the human ones.

    The rule of the paper (1 of 1 flawed, 1 of 2 human) for blocks of one or several sets; traps
    of other kinds must all be passed. Training trials are no traps.
    """
    shown: Counter[tuple[str, str]] = Counter()
    passed: Counter[tuple[str, str]] = Counter()
    for rating in ratings:
        if rating.set and rating.trap and rating.trap_passed is not None:
            shown[rating.set, rating.trap] += 1
            passed[rating.set, rating.trap] += rating.trap_passed
    needed = {key: (count + 1) // 2 if key[1] == "human" else count for key, count in shown.items()}
    return {key[0] for key, count in needed.items() if passed[key] < count}


def labelled_clips(
    sources: Sequence[Source], labels_by_clip: dict[str, Counter[str]], rule: Rule
) -> tuple[list[LabelledClip], Counter[str], int]:
    """Clips with their labels, how many were left out for which reason, and ties among the rest."""
    left_out: Counter[str] = Counter()
    known = {source.clip for source in sources}
    left_out["ratings, but not in the list of clips"] += len(set(labels_by_clip) - known)
    clips, tied = [], 0
    for source in sources:
        counts = labels_by_clip.get(source.clip, Counter())
        tie = bool(counts) and final_label(counts)[1]
        reason = ""
        if not source.sha256:
            reason = "no audio file"
        elif source.trap not in ("", "human", "flawed"):
            reason = "a trap that is neither human nor flawed, or was never played"
        elif not source.trap and sum(counts.values()) < rule.labels_per_clip:
            reason = f"fewer than {rule.labels_per_clip} labels"
        elif not source.trap and tie and rule.ties == "leave_out":
            reason = "tie"
        if reason:
            left_out[reason] += 1
            continue
        tied += tie and not source.trap
        clips.append(_labelled_clip(source, counts))
    return clips, left_out, tied


def _labelled_clip(source: Source, counts: Counter[str]) -> LabelledClip:
    return LabelledClip(
        **vars(source),
        split=TRAP if source.trap else TRAIN,
        labels={label: counts[label] for label in LABELS if counts[label]},
        label=final_label(counts)[0] if counts else "",
        score=mean_score(counts) if counts else None,
    )


def held_out_voices(voices: Sequence[Voice], rule: Rule) -> tuple[set[Voice], list[str]]:
    """The voices kept for the test, and the systems that have only one voice, all trained on."""
    if rule.held_out:
        unknown = sorted("/".join(v) for v in set(rule.held_out) - set(voices))
        if unknown:
            known = ", ".join("/".join(voice) for voice in voices)
            raise DatasetError(f"no rated voice {', '.join(unknown)}; there are {known}")
        return set(rule.held_out), []
    random = Random(f"{rule.seed}/held out")
    held_out: set[Voice] = set()
    alone = []
    for system in sorted({system for system, _ in voices}):
        own = [voice for voice in voices if voice[0] == system]
        if len(own) > 1:
            held_out.add(random.choice(own))
        else:
            alone.append(system)
    return held_out, alone


def assign_split(clip: LabelledClip, held_out: set[Voice], rule: Rule) -> LabelledClip:
    """The clip in its split: traps stay traps; held-out voices and unseen dimensions are tested."""
    if clip.split == TRAP:
        return clip
    tested = clip.speaker in held_out or clip.dimension in rule.unseen_dimensions
    return replace(clip, split=TEST if tested else TRAIN)


def write(dataset: Dataset, folder: Path | str) -> None:
    """Write clips.jsonl and dataset.json; audio inside the folder is named from the folder."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    lines = []
    for clip in dataset.clips:
        path = Path(clip.path).resolve()
        inside = path.is_relative_to(place.resolve())
        named = path.relative_to(place.resolve()) if inside else path
        plain = asdict(replace(clip, path=str(named)))
        lines.append(json.dumps(plain, ensure_ascii=False) + "\n")
    (place / CLIPS).write_text("".join(lines), encoding="utf-8")
    summary = {**dataset.summary, "fingerprint": dataset.fingerprint()}
    (place / SUMMARY).write_text(
        json.dumps(summary, indent=1, ensure_ascii=False), encoding="utf-8"
    )


def read(folder: Path | str) -> Dataset:
    """The dataset of a folder that `write` made; raises DatasetError naming what is wrong."""
    place = Path(folder)
    try:
        lines = (place / CLIPS).read_text(encoding="utf-8").splitlines()
        summary = json.loads((place / SUMMARY).read_text(encoding="utf-8"))
    except OSError as error:
        raise DatasetError(
            f"{error.filename}: cannot be read; make it with `{command('auto_att dataset')}`"
        ) from error
    clips = []
    for number, line in enumerate(lines, start=1):
        try:
            clip = LabelledClip(**json.loads(line))
        except (TypeError, ValueError) as error:
            raise DatasetError(f"{place / CLIPS}, line {number}: {error}") from error
        clips.append(replace(clip, path=str(place / clip.path)))
    return Dataset(tuple(clips), summary)


def copy_audio_into(dataset: Dataset, folder: Path | str) -> Dataset:
    """Copy every clip's file into folder/audio (named by its hash), to train elsewhere."""
    place = Path(folder) / "audio"
    place.mkdir(parents=True, exist_ok=True)
    moved = []
    for clip in dataset.clips:
        copy = place / f"{clip.sha256}{Path(clip.path).suffix}"
        copy.write_bytes(Path(clip.path).read_bytes())
        moved.append(replace(clip, path=str(copy)))
    return replace(dataset, clips=tuple(moved))


def batches(
    clips: Sequence[LabelledClip], batch_size: int, seed: int, epoch: int
) -> list[list[LabelledClip]]:
    """One epoch: every clip once, each batch from a single dimension (Wang et al. 2025, 3.5).

    The same clips, seed and epoch give the same batches, so a run that goes on after a break needs
    only to know how many it has seen. A dimension's last batch may be smaller.
    """
    random = Random(f"{seed}/epoch {epoch}")
    epoch_batches = []
    for dimension in sorted({clip.dimension for clip in clips}):
        own = sorted((c for c in clips if c.dimension == dimension), key=lambda c: c.clip)
        random.shuffle(own)
        epoch_batches += [
            own[start : start + batch_size] for start in range(0, len(own), batch_size)
        ]
    random.shuffle(epoch_batches)
    return epoch_batches
