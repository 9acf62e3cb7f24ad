"""Writes a study folder for the words of the DRT or the MRT, whose audio is still to be made."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from shlex import quote
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening.common.command_name import command
from listening.common.counted import counted
from listening.design.studyfile.problems import quoted
from listening.design.word_list_study import (
    ENDINGS,
    WORD,
    WORDS_CSV,
    WordListError,
    write_word_list_study,
)
from listening.methods.word_lists import WORD_LISTS

MOST_SHOWN = 6  # files that are missing


class Command(BaseCommand):
    help = (
        "Write a study folder for a word list: the Diagnostic Rhyme Test (drt) or the Modified "
        "Rhyme Test (mrt), with the words to be synthesized."
    )
    requires_system_checks: list[str] = []  # no database is needed

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("list", choices=sorted(WORD_LISTS), help="Word list.")
        parser.add_argument("folder", type=Path, help="Study folder; may already hold audio.")
        parser.add_argument(
            "--systems", nargs="+", required=True, metavar="SYSTEM", help="Keys of the systems."
        )
        parser.add_argument(
            "--ending", default="wav", choices=ENDINGS, help="Ending of the audio files."
        )
        parser.add_argument(
            "--carrier",
            default=WORD,
            metavar="SENTENCE",
            help='Sentence to be synthesized, such as "Now choose {word}." Default: the word.',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder, systems = options["folder"], options["systems"]
        try:
            clips, missing = write_word_list_study(
                options["list"],
                folder,
                systems,
                ending=options["ending"],
                carrier=options["carrier"],
                purpose=WORD_LISTS[options["list"]],
            )
        except WordListError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"“{folder}” cannot be written: {error.strerror}.") from None
        self.stdout.write(
            f"Wrote study.toml, stimuli.csv ({counted(clips, 'clip')}) and {WORDS_CSV} in {folder}."
        )
        if missing:
            self.stdout.write(
                f"{len(missing):,} audio files are missing: {quoted(missing, MOST_SHOWN)}. "
                f"Synthesize each sentence of {WORDS_CSV} with each system and save it as "
                f"audio/SYSTEM/FILE."
            )
        self.stdout.write(f"Then: {command(f'import_study {quote(str(folder))}')} --open")
