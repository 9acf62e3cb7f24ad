"""manage.py judge_study: several judges rate the clips of each item side by side, as people do."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common.counted import counted
from listening.common.whole_files import write_whole
from metrics.core import decoding, texts, vocalisations
from metrics.core.lazy_torch import torch
from metrics.core.silence import silence
from metrics.core.weights import Unavailable
from metrics.judges.client import (
    Client,
    Endpoint,
    Reply,
    current_endpoint,
    required_endpoint,
    tally_replies,
)
from metrics.judges.judge import SHORTEST_S
from metrics.judges.panel import (
    Candidate,
    PanelRating,
    Plan,
    Sheet,
    ask_panel,
    criteria,
    scores_by_stimulus,
    sheets,
    summary,
)
from metrics.judges.question import RATE_HZ, Sound, sound_of
from metrics.judges.rubric import Rubric, rubric
from metrics.judges.stability import stability
from metrics.management.judging import add_source, align_table, format_number, source_clips
from metrics.management.run_output import Progress
from metrics.scoring.inputs import InputClip
from metrics.suite.judge_nvv import requested_vocalisations
from metrics.suite.nvv import spoken

TASKS = {"tags": "nvv_tags.v2", "captions": "nvv_captions.v2"}
PLANNED = ("raters", "raters_per_item", "folds", "together", "temperature", "seed")
ANY_KIND = "the sound that was asked for"  # where nobody says its type


class Command(BaseCommand):
    help = (
        "Let several judges rate the clips of each item on the criteria of NVV-SuperBench. "
        "Judges are an audio language model under several seeds, or several models; they see "
        "anonymous letters. Writes OUT.jsonl (each rating) and OUT.csv (the mean of each "
        "stimulus, for import_scores)."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        plan = Plan()
        add_source(parser)
        parser.add_argument("--task", required=True, choices=sorted(TASKS))
        parser.add_argument("--out", required=True, help="Output files, without a suffix.")
        parser.add_argument(
            "--model", default="", help="Model; several, separated by commas, rate in turn."
        )
        for name in PLANNED:
            usual = getattr(plan, name)
            option = f"--{name.replace('_', '-')}"
            parser.add_argument(option, type=type(usual), default=usual)

    def handle(self, *args: Any, **options: Any) -> None:
        task_rubric = rubric(TASKS[options["task"]])
        out = Path(options["out"])
        if not out.parent.is_dir():
            raise CommandError(f"there is no folder {out.parent} to write to")
        try:
            plan = plan_from_options(options)
            server = required_endpoint(plan.models[0])
            candidates, left_out = select_candidates(source_clips(options), options["task"])
        except (ValueError, Unavailable) as error:
            raise CommandError(str(error)) from error
        for line in left_out:
            self.stderr.write(line)
        if not candidates:
            raise CommandError("no clip is left to be rated; the reasons are above")
        try:
            planned = sheets(candidates, plan)
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{counted(len(candidates), 'clip')}, {counted(len(planned), 'question')}"
        )
        answers = []
        try:
            with Progress(len(planned), self.stderr, "questions") as progress:
                for answered in ask_panel(planned, task_rubric, plan, Client(server), read_wav):
                    answers.append(answered)
                    progress.add(1, answered[0].item)
        except Unavailable as error:
            raise CommandError(f"{error}; answers so far are in the cache") from error
        ratings = [rating for _, _, rated in answers for rating in rated]
        write_ratings(out.with_name(f"{out.name}.jsonl"), answers, task_rubric, plan)
        write_scores(out.with_name(f"{out.name}.csv"), candidates, ratings, task_rubric)
        self.tell(answers, ratings, server)

    def tell(
        self,
        answers: list[tuple[Sheet, Reply, list[PanelRating]]],
        ratings: list[PanelRating],
        server: Endpoint,
    ) -> None:
        """Means per condition, in each fold, and how far the raters agree."""
        if not ratings:
            raise CommandError(f"no question was answered{reasons(answers)}")
        rows = summary(ratings)
        folds = sorted({fold for row in rows for fold in row["folds"]})
        head = ["condition", "criterion", "mean", "clips", *(f"fold {fold}" for fold in folds)]
        lines = [
            [row["condition"], row["criterion"], format_number(row["mean"]), str(row["n_clips"])]
            + [format_number(row["folds"].get(fold)) for fold in folds]
            for row in rows
        ]
        self.stdout.write(align_table([head, *lines]))
        self.stdout.write(
            "\n" + align_table([["between raters", "equal", "sd", "ICC(1)"], *agree(ratings)])
        )
        capped = sum(rating.score < rating.given for rating in ratings)
        tally = tally_replies([reply for _, reply, _ in answers], server.prices)
        cost = "unknown" if tally["cost"] is None else f"{tally['cost']:.4f}"
        self.stdout.write(
            f"\n{tally['n_asked']} questions, {tally['n_cached']} from the cache, "
            f"{tally['n_failed']} failed{reasons(answers)}; {capped} of {len(ratings)} scores "
            f"were capped; {tally['tokens_in']} tokens in, {tally['tokens_out']} out, cost {cost}"
        )


def plan_from_options(options: dict[str, Any]) -> Plan:
    """The plan that the options tell; a ValueError or Unavailable where that cannot be."""
    named = tuple(name.strip() for name in options["model"].split(",") if name.strip())
    models = named or (current_endpoint().model,)
    required_endpoint(models[0])
    return Plan(models=models, **{name: options[name] for name in PLANNED})


def select_candidates(clips: list[InputClip], task: str) -> tuple[list[Candidate], list[str]]:
    """The clips that can be rated, and a line for each that cannot."""
    candidates, left_out = [], []
    for clip in clips:
        known = rubric_blanks(clip, task)
        reason = "no item" if not clip.item else refusal_reason(clip, known)
        if reason:
            left_out.append(f"{clip.stimulus}: {reason}")
        else:
            candidates.append(Candidate(clip.stimulus, clip.item, clip.condition, clip.path, known))
    return candidates, left_out


def rubric_blanks(clip: InputClip, task: str) -> dict[str, str]:
    """What fills the blanks of the rubric, by the clip's material."""
    material = clip.material
    target = requested_vocalisations(material)
    known = {"language": material.language, "kind": target_type(clip, target) or ANY_KIND}
    if task == "tags":
        marked = target if target and "@" not in target else material.text
        return {**known, "line": marked, "target": target_words(target, material.language)}
    return {**known, "text": spoken(material), "caption": material.attribute("caption")}


def target_type(clip: InputClip, target: str) -> str:
    """The type that was asked for: the clip's dimension, else the types of its target."""
    if named := clip.dimension or clip.material.attribute("dimension"):
        return named
    try:
        sounds = vocalisations.parse(target, clip.material.language)
    except vocalisations.VocalisationError:
        return ""
    return ", ".join(dict.fromkeys(sound.type for sound in sounds))


def target_words(target: str, language: str) -> str:
    """What was asked for in words: "laugh (after word 3)"."""
    try:
        sounds = vocalisations.parse(target, language)
    except vocalisations.VocalisationError:
        return ""
    unit = "character" if texts.in_characters(language) else "word"
    return ", ".join(
        v.type if v.position is None else f"{v.type} (after {unit} {v.position})" for v in sounds
    )


def refusal_reason(clip: InputClip, known: dict[str, str]) -> str:
    """Why a clip is not sent: nothing is known of what was asked for, or it cannot be heard."""
    missing = [name for name, value in known.items() if not value.strip()]
    if missing:
        names = {
            "target": "attribute nvv_target that can be read, and no marker in the text",
            "caption": "attribute caption",
            "line": "text",
        }
        return f"no {names.get(missing[0], missing[0])}"
    try:
        wave = decoding.load_wave(clip.path, RATE_HZ)
    except decoding.AudioError as error:
        return str(error)
    if len(wave) < SHORTEST_S * RATE_HZ:
        return "too short"
    return silence(torch.from_numpy(wave), RATE_HZ)


def read_wav(path: str) -> Sound:
    """A file as it is sent."""
    return sound_of(decoding.load_wave(path, RATE_HZ))


def write_ratings(
    path: Path,
    answers: Iterable[tuple[Sheet, Reply, list[PanelRating]]],
    task_rubric: Rubric,
    plan: Plan,
) -> None:
    """First the plan, then each question with its letters and ratings, a JSON line each."""
    head = {
        "rubric": task_rubric.name,
        "rubric_sha256": task_rubric.sha256,
        **dataclasses.asdict(plan),
    }
    lines = [head] + [
        {
            "item": sheet.item,
            "fold": sheet.fold,
            "rater": sheet.rater,
            "letters": {letter: clip.stimulus for letter, clip in sheet.letters},
            "model": reply.model,
            "failed": reply.reason,
            "ratings": [dataclasses.asdict(rating) for rating in rated],
        }
        for sheet, reply, rated in answers
    ]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_whole(path, text.encode())


def write_scores(
    path: Path, candidates: list[Candidate], ratings: list[PanelRating], task_rubric: Rubric
) -> None:
    """A row per stimulus and criterion: the mean over raters; empty where none answered."""
    scores = scores_by_stimulus(ratings)
    columns = ["stimulus", "metric", "version", "value", "reason", "higher_is_better", "n_raters"]
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(columns)
    for name in [criterion.name for criterion in criteria(task_rubric)]:
        for clip in candidates:
            values = scores.get((clip.stimulus, name), [])
            value = round(statistics.fmean(values), 6) if values else ""
            reason = "" if values else "no judge answered"
            metric = f"judge_panel_{name}"
            row = [clip.stimulus, metric, task_rubric.name, value, reason, 1, len(values)]
            writer.writerow(row)
    write_whole(path, file.getvalue().encode())


def agree(ratings: list[PanelRating]) -> list[list[str]]:
    """Per criterion: share of clips with equal scores, sd between raters, and ICC(1)."""
    rows = []
    scores = scores_by_stimulus(ratings)
    for name in sorted({criterion for _, criterion in scores}):
        agreement = stability(
            {
                clip: values
                for (clip, criterion_name), values in scores.items()
                if criterion_name == name
            }
        )
        rows.append(
            [
                name,
                format_number(agreement.equal),
                format_number(agreement.sd_within),
                format_number(agreement.icc),
            ]
        )
    return rows


def reasons(answers: Iterable[tuple[Sheet, Reply, list[PanelRating]]]) -> str:
    """The reasons of failed questions with their counts, in brackets."""
    counts = Counter(reply.reason for _, reply, _ in answers if reply.answer is None)
    text = ", ".join(f"{reason}: {n}" for reason, n in sorted(counts.items()))
    return f" ({text})" if text else ""
