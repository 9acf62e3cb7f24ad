"""What the commands about judges share: where clips come from, and tables of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from metrics.core import decoding
from metrics.scoring.inputs import InputClip, InputError, read_clips
from metrics.scoring.runner import Clip


def add_source(parser: CommandParser) -> None:
    """Add FILE|FOLDER|MANIFEST and --study."""
    parser.add_argument("places", nargs="*", metavar="FILE|FOLDER|MANIFEST")
    parser.add_argument("--study", metavar="SLUG", help="Score the stimuli of this study instead.")
    parser.add_argument(
        "--conditions", default="", help="Only these, separated by commas. Default: all."
    )


def source_clips(options: Mapping[str, Any]) -> list[InputClip]:
    """The clips that the options name; traps of a study are left out."""
    if bool(options["study"]) == bool(options["places"]):
        raise CommandError("name either files, a folder or a manifest, or a study with --study")
    if options["study"]:
        from listening.selectors import bring_audio, no_study
        from metrics.scoring.study_material import study_stimuli

        if words := no_study(options["study"]):
            raise CommandError(words)
        clips = [
            InputClip(
                row["path"],
                row["stimulus"],
                row["condition"],
                row["item"],
                material,
                dimension=row["dimension"],
            )
            for row, material in study_stimuli(options["study"])
            if row["role"] != "trap"
        ]
    else:
        try:
            clips = read_clips(options["places"])
        except InputError as error:
            raise CommandError(str(error)) from error
    wanted = [name.strip() for name in options["conditions"].split(",") if name.strip()]
    unknown = sorted(set(wanted) - {clip.condition for clip in clips})
    if unknown:
        raise CommandError(f"no clip has the condition {', '.join(unknown)}")
    clips = [clip for clip in clips if not wanted or clip.condition in wanted]
    if options["study"]:
        bring_audio(clip.path for clip in clips)
    if not clips:
        raise CommandError("no clips: the study has no stimuli")
    return clips


def judged_clips(options: Mapping[str, Any]) -> list[Clip]:
    """The clips that the options name, hashed; an AudioError when one cannot be read."""
    return [
        Clip(clip.path, decoding.file_sha256(clip.path), clip.stimulus, clip.material)
        for clip in source_clips(options)
    ]


def align_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns aligned: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def format_number(value: float | None) -> str:
    """A number with three decimals; a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"
