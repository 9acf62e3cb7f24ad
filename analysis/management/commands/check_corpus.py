"""manage.py check_corpus SOURCE: balance, duplicates, tags and personal data of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.management.commands.plan import lines
from listening.common.whole_files import write_whole

if TYPE_CHECKING:
    from analysis.corpus.corpus_report import CorpusReport

MOST_PRINTED = 5  # findings of each check
EVERY = 500  # files between two lines of progress


class Command(BaseCommand):
    help = (
        "Check a corpus before it is rated: balance, duplicates, tags and personal data. Reads a "
        "study folder, a table or a folder of audio files, and changes nothing."
    )
    requires_system_checks = []
    requires_migrations_checks = False
    needs_database = False  # manage.py starts no server for it

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "source",
            type=Path,
            help=(
                "Study folder, folder of audio files, wav.scp, or a table (CSV or JSON lines) with "
                "a column of files."
            ),
        )
        parser.add_argument(
            "--pattern",
            default="",
            help=(
                'Pattern of the file names in a folder, such as "{system}/{sentence}.wav" or '
                '"{sentence}_{system}".'
            ),
        )
        parser.add_argument(
            "--audio", type=Path, help="Folder from which paths in a table start. Default: its own."
        )
        parser.add_argument("--texts", type=Path, help="File with one line name|text per sentence.")
        parser.add_argument(
            "--language", default="", help="Language tag of texts that have none, such as en or zh."
        )
        parser.add_argument(
            "--no-audio", action="store_true", help="Check texts and tables only: reads no audio."
        )
        parser.add_argument("--out", type=Path, help="Folder for the report and CSV files.")

    def handle(self, *args: Any, **options: Any) -> None:
        from analysis.corpus.corpus_report import check_corpus
        from analysis.corpus.sources import CorpusError, read_corpus

        try:
            corpus = read_corpus(
                options["source"],
                texts=options["texts"],
                language=options["language"],
                pattern=options["pattern"],
                audio=options["audio"],
            )
        except CorpusError as error:
            raise CommandError(str(error)) from None
        report = check_corpus(corpus, audio=not options["no_audio"], progress=self._tell)
        for line in report_lines(report):
            self.stdout.write(line)
        if options["out"] is not None:
            for path in _write(options["out"], report):
                self.stdout.write(str(path))

    def _tell(self, read: int, every: int) -> None:
        if every > EVERY and (read % EVERY == 0 or read == every):
            self.stderr.write(f"{read:,} of {every:,} files read")


def report_lines(report: CorpusReport) -> Iterator[str]:
    """The report as text: sentences, warnings, and the first findings of each check."""
    from analysis.corpus.corpus_report import KINDS, SECTIONS

    yield from lines(report.sections["summary"])
    for key, title in SECTIONS.items():
        content = report.sections[key]
        yield f"\n{title}"
        yield from (f"  {words}" for words in content.sentences)
        yield from (f"  note: {words}" for words in content.warnings)
        for table in content.tables:
            if table.key not in KINDS:
                continue
            yield f"  {table.title}"
            for row in table.rows[:MOST_PRINTED]:
                yield f"    {row['place']}: {row['what']} {row['remedy']}"
            if len(table.rows) > MOST_PRINTED:
                yield "    … more with --out FOLDER"


def _write(folder: Path, report: CorpusReport) -> Iterator[Path]:
    from analysis.corpus.corpus_report import page_html

    folder.mkdir(parents=True, exist_ok=True)
    made_at = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    files = {"report.html": page_html(report, made_at), **report.files}
    for name, content in files.items():
        write_whole(folder / name, content.encode())
        yield folder / name
