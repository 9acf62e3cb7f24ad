"""Writes stimuli.csv for a folder of sounds: which system says which sentence, by their names."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from shlex import quote
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening.common.spreadsheets import TableError, decoded, located, raw_bytes
from listening.common.whole_files import write_whole
from listening.design.pasted_texts import UnclearTexts, texts_in
from listening.design.scanning import Scan, UnclearNames, describe_ignored, scan, stimuli_of
from listening.design.studyfile import CSV
from listening.design.studyfile.problems import quoted
from listening.design.studyfile.writer import rows_text

MOST_SHOWN = 12  # systems of the table, groups of ignored files, holes


class Command(BaseCommand):
    help = (
        "Write stimuli.csv for a folder of audio files. Prints what the file names were taken to "
        "mean."
    )
    requires_system_checks: list[str] = []  # no database is needed

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="Study folder with audio files.")
        parser.add_argument(
            "--pattern",
            default="",
            help=(
                'Pattern of the file names, such as "{system}/{sentence}.wav" or '
                '"{sentence}_{system}".'
            ),
        )
        parser.add_argument("--texts", type=Path, help="File with one line name|text per sentence.")
        parser.add_argument("--force", action="store_true", help=f"Replace the existing {CSV}.")

    def handle(self, *args: Any, **options: Any) -> None:
        folder, target = options["folder"], options["folder"] / CSV
        if not folder.is_dir():
            raise CommandError(f"There is no folder “{folder}”.")
        if target.exists() and not options["force"]:
            raise CommandError(f"{target} is there, and was not touched. --force replaces it.")
        try:
            scanned = scan(files_below(folder), options["pattern"])
        except UnclearNames as unclear:
            offered = "".join(f"\n  --pattern {quote(each)}" for each in unclear.patterns)
            remedy = f" Say how they are named:{offered}" if offered else ""
            raise CommandError(f"{unclear.what}{remedy}") from None
        texts = self._texts(options["texts"], scanned)
        rows = [{**row, "text": texts.get(row["item"], "")} for row in stimuli_of(scanned)]
        write_whole(target, rows_text(rows).encode())
        self._tell(scanned, target, texts)

    def _texts(self, file: Path | None, scanned: Scan) -> dict[str, str]:
        if file is None:
            return {}
        try:
            content, note = decoded(raw_bytes(file))
        except TableError as error:
            raise CommandError("\n".join(located(file, each) for each in error.problems)) from None
        if note:
            self.stderr.write(note)
        try:
            texts, unknown = texts_in(content, scanned.sentences)
        except UnclearTexts as unclear:
            raise CommandError(f"{file}: {unclear}") from None
        for line in unknown[:MOST_SHOWN]:
            self.stderr.write(f"No sentence has the name of this line: {line[:80]}")
        if len(unknown) > MOST_SHOWN:
            self.stderr.write(f"… and {len(unknown) - MOST_SHOWN:,} more lines.")
        return texts

    def _tell(self, scanned: Scan, target: Path, texts: dict[str, str]) -> None:
        systems, sentences = scanned.systems, scanned.sentences
        self.stdout.write(f"Read so: {scanned.how}.")
        width = max(map(len, systems[:MOST_SHOWN]))
        for system in systems[:MOST_SHOWN]:
            own = sum((system, sentence) in scanned.cells for sentence in sentences)
            self.stdout.write(f"  {system:{width}}  {own:,} of {len(sentences):,} sentences")
        if len(systems) > MOST_SHOWN:
            self.stdout.write(f"  … and {len(systems) - MOST_SHOWN:,} more systems")
        self.stdout.write(f"Sentences: {quoted(sentences, MOST_SHOWN)}.")
        if scanned.holes:
            holes = [f"{system} of {sentence}" for system, sentence in scanned.holes]
            self.stdout.write(
                f"Missing: {quoted(holes, MOST_SHOWN)}. A task needs allow_missing = true."
            )
        for sentence in describe_ignored(scanned.ignored, MOST_SHOWN):
            self.stdout.write(f"Ignored: {sentence}")
        if texts:
            self.stdout.write(f"Texts: {len(texts):,} of {len(sentences):,} sentences.")
        self.stdout.write(
            f"Wrote {target} with {len(scanned.cells):,} rows. In study.toml they need no "
            "[[conditions]], unless one has a label or is a reference, an anchor or for traps."
        )


def files_below(folder: Path) -> list[str]:
    """Every file in it, relative to it, but those that a study folder has of its own."""
    own = ("study.toml", CSV)
    below = (Path(parent, file) for parent, _, files in os.walk(folder) for file in files)
    names = [path.relative_to(folder).as_posix() for path in below]
    return [name for name in names if name not in own]
