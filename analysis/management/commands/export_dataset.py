"""manage.py export_dataset STUDY DIR: a study's ratings and clips as a dataset for others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.http import Http404

from analysis.management.bundle_options import note_export
from analysis.management.whole_folder import check_new, whole_folder
from listening.common.counted import counted

if TYPE_CHECKING:
    from analysis.ratings.published import PublishedRatings
    from analysis.report.writers.datasets import Dataset
    from listening.selectors import StudyTerms

FORMATS = ("huggingface", "psych-ds")
COVERS = {"ratings": "consent_covers_ratings", "words": "consent_covers_words"}
WHERE = "in [study.publication] of study.toml, or for a study that runs already"


class Command(BaseCommand):
    help = (
        "Export a study's ratings and clips as a dataset. Exports what their licence and the "
        "raters' consent allow."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument("folder", type=Path, help="New or empty folder.")
        parser.add_argument("--format", choices=(*FORMATS, "both"), default="both")
        parser.add_argument(
            "--ratings-licence", default="", help="Licence of the ratings, like CC-BY-4.0."
        )
        parser.add_argument(
            "--audio-licence",
            default="",
            help="Licence of the audio. Without one, audio is not exported.",
        )
        parser.add_argument(
            "--consent-covers",
            action="append",
            choices=sorted(COVERS),
            default=[],
            help="What the consent text of the study lets you publish.",
        )
        parser.add_argument(
            "--simulated", action="store_true", help="Include simulated raters, marked as such."
        )

    def handle(self, *args: Any, **arguments: Any) -> None:
        from analysis.report.writers.datasets import write_hugging_face, write_psych_ds

        folder: Path = arguments["folder"]
        check_new(folder)
        dataset = _dataset(arguments, _terms(arguments))
        writers = dict(zip(FORMATS, (write_hugging_face, write_psych_ds), strict=True))
        wanted = FORMATS if arguments["format"] == "both" else (arguments["format"],)
        with whole_folder(folder) as draft:
            for name in wanted:
                writers[name](dataset, draft / name if len(wanted) > 1 else draft)
        note_export(arguments["study"], folder)
        self._tell(dataset, folder)

    def _tell(self, dataset: Dataset, folder: Path) -> None:
        count, clips = len(dataset.ratings.rows), len(dataset.clips)
        self.stdout.write(f"{folder}: {counted(count, 'rating')} and {counted(clips, 'clip')}")
        for note in dataset.notes:
            self.stdout.write(f"  {note}")


def _terms(arguments: Mapping[str, Any]) -> StudyTerms:
    """What may leave, by the study or by the command line; CommandError where nothing may."""
    from listening.selectors import study_terms

    try:
        terms = study_terms(arguments["study"])
    except Http404 as error:
        raise CommandError(str(error)) from None
    for name in ("ratings_licence", "audio_licence"):
        terms[name] = arguments[name] or terms[name]
    for name, key in COVERS.items():
        terms[key] = terms[key] or name in arguments["consent_covers"]  # type: ignore[literal-required]  # keys of COVERS
    if not terms["ratings_licence"]:
        raise CommandError(
            f'The ratings have no licence. Write ratings_licence = "CC-BY-4.0" or another {WHERE} '
            "give --ratings-licence."
        )
    if not terms["consent_covers_ratings"]:
        raise CommandError(
            "Nothing says that raters agreed to have their ratings published. If the consent text "
            f"says so, write consent_covers_ratings = true {WHERE} give --consent-covers ratings."
        )
    return terms


def _dataset(arguments: Mapping[str, Any], terms: StudyTerms) -> Dataset:
    from analysis.ratings.published import publish_ratings
    from analysis.report.writers.datasets import Dataset
    from listening.selectors import questions_in_words, rating_rows, scripted_raters, study_clips

    key = arguments["study"]
    ratings = publish_ratings(
        rating_rows(key),
        SystemRandom(),
        scripted=scripted_raters(key),
        with_scripted=arguments["simulated"],
        questions_in_words=questions_in_words(key),
        with_words=terms["consent_covers_words"],
    )
    if not ratings.rows:
        why = "; ".join(f"{count:,} {what}" for what, count in ratings.stayed.items())
        more = " --simulated takes those of simulated raters." if ratings.stayed else ""
        raise CommandError(f"No rating may leave ({why or 'there are none'}).{more}")
    return Dataset(
        key=key,
        title=terms["title"],
        language=terms["language"],
        ratings=ratings,
        clips=list(study_clips(key)),
        ratings_licence=terms["ratings_licence"],
        audio_licence=terms["audio_licence"],
        notes=list(_notes(arguments, terms, ratings)),
    )


def _notes(
    arguments: Mapping[str, Any], terms: StudyTerms, ratings: PublishedRatings
) -> Iterator[str]:
    """In words, what stayed and what the dataset rests on."""
    for why, count in sorted(ratings.stayed.items()):
        yield f"{count:,} ratings stayed: {why}."
    scripted = sum(row["simulated"] for row in ratings.rows)
    if scripted:
        yield f"{scripted:,} ratings are of simulated raters, no people (column simulated)."
    yield "Raters who withdrew were deleted before; nothing of them is here."
    yield "Codes of raters, sessions and blocks were drawn for this dataset and lead nowhere else."
    yield "Times of answers, pay, checks, questionnaires and comments are not included."
    if not terms["consent_covers_words"]:
        yield "Reasons and answers in raters' own words are not included: no consent covers them."
    if not terms["audio_licence"]:
        yield "Audio and texts are not included: they have no licence."
    if arguments["consent_covers"]:
        yield (
            f"That consent covers {' and '.join(arguments['consent_covers'])} was "
            "said at the export."
        )
