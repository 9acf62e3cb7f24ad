"""manage.py fetch_audio SOURCE DIR: clips from where they lie, as a study folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common.counted import counted
from listening.common.input_limits import WEB_FILES

SAY_EVERY_S = 5.0


class Command(BaseCommand):
    help = (
        "Fetch clips into a study folder and write stimuli.csv and sources.csv, which has the "
        "source and SHA-256 of each clip. SOURCE is a file of web addresses, a table, wav.scp, a "
        "folder such as of LJSpeech, Parquet files with an audio column, WebDataset shards, or an "
        "fsspec address of these, such as s3://bucket/clips. Run it again to continue."
    )
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", metavar="SOURCE", help="Where the clips lie.")
        parser.add_argument("folder", type=Path, help="Study folder; created if missing.")
        parser.add_argument(
            "--condition", default="system", help="Condition of clips that name none."
        )
        parser.add_argument("--language", default="", help="Language of texts that name none.")
        parser.add_argument(
            "--audio",
            type=Path,
            help="Folder that holds the local files of a table. Default: that of the table.",
        )
        parser.add_argument(
            "--most-files", type=int, default=WEB_FILES, help="Maximum number of files of a run."
        )
        parser.add_argument("--most-gb", type=float, default=20.0, help="Maximum size of a run.")
        parser.add_argument("--minutes", type=float, default=60.0, help="Maximum time of a run.")
        parser.add_argument("--force", action="store_true", help="Replace stimuli.csv.")

    def handle(self, *args: Any, **options: Any) -> None:
        from analysis.corpus.remote_clips import clips_of
        from analysis.corpus.sources import CorpusError
        from listening.audio.fetching import (
            STIMULI,
            LimitReached,
            Limits,
            NotFetched,
            fetch_into,
            write_stimuli,
        )
        from listening.notifications.posting import download

        folder: Path = options["folder"]
        if (folder / STIMULI).exists() and not options["force"]:
            raise CommandError(f"{folder / STIMULI} exists. --force replaces it.")
        seconds = options["minutes"] * 60
        size = int(options["most_gb"] * 1e9)
        limits = Limits(options["most_files"], size, seconds, seconds)
        clips = clips_of(
            options["source"],
            condition=options["condition"],
            language=options["language"],
            audio=options["audio"],
            until=time.monotonic() + seconds,
        )
        self.said_at = time.monotonic()
        self.done = (0, 0)
        try:
            rows = fetch_into(folder, clips, download, limits=limits, progress=self._progress)
        except LimitReached as reached:
            raise CommandError(f"{reached}. {self._so_far()} Run it again to continue.") from None
        except (CorpusError, NotFetched) as error:
            raise CommandError(f"{error}\n{self._so_far()} Run it again to continue.") from None
        write_stimuli(folder, rows)
        self.stdout.write(f"{folder}: {counted(len(rows), 'clip')}. {self._so_far()}")
        self.stdout.write("Add study.toml, then import the folder. sources.csv has the hashes.")

    def _progress(self, files: int, size: int) -> None:
        self.done = (files, size)
        if time.monotonic() - self.said_at > SAY_EVERY_S:
            self.said_at = time.monotonic()
            self.stdout.write(self._so_far())

    def _so_far(self) -> str:
        files, size = self.done
        return f"{counted(files, 'file')} fetched in this run, {size / 1e6:,.1f} MB."
