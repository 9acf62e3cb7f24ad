"""manage.py suggest_codes STUDY --job N: a judge model names codes of the reasons under review."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.http import Http404

from listening.common.signals import acted
from metrics.core.weights import Unavailable
from metrics.models import CodeSuggestion
from metrics.scoring.code_suggestions import RUBRIC, plan_request, store_suggestions


class Command(BaseCommand):
    help = (
        "Let a judge model suggest codes of the codebook for each reason of a code review. "
        "Reviewers see the suggestions only after their own codes; they count nowhere. Without "
        "--send, prints what would be sent."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument(
            "--job", type=int, required=True, help="Number of the review in its address."
        )
        parser.add_argument("--judge", default="", help="Model. Default: EARNEST_JUDGE_MODEL.")
        parser.add_argument(
            "--send", action="store_true", help="Send the reasons. First make sure that you may."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study, job = options["study"], options["job"]
        try:
            code_request = plan_request(study, job, options["judge"])
            self.stdout.write(
                f"{len(code_request.missing)} reasons of “{code_request.review['title']}” to "
                f"{code_request.model} at {code_request.server}, {code_request.answered} answered "
                "before. Sent: reason, its labels, language, "
                f"codebook version {code_request.review['version']}, rubric {RUBRIC}."
            )
            if not options["send"]:
                self.stdout.write("Nothing was sent: give --send if these reasons may leave.")
                return
            outcome = store_suggestions(study, job, code_request.model)
        except Http404 as error:
            raise CommandError(str(error)) from error
        except Unavailable as error:
            raise CommandError(f"{error}; answers so far are stored") from error
        acted.send(
            CodeSuggestion,
            study_id=code_request.review["study"],
            by="",
            what="codes_suggested",
            details=code_request.details(outcome["n_asked"]),
        )
        cost = "unknown" if outcome["cost"] is None else f"{outcome['cost']:.4f}"
        reasons = ", ".join(f"{reason}: {n}" for reason, n in outcome["reasons"].items())
        self.stdout.write(
            f"{outcome['n_asked']} asked, {outcome['n_cached']} from the cache, "
            f"{outcome['asked_again']} asked once more, {outcome['n_failed']} without an answer"
            f"{f' ({reasons})' if reasons else ''}; {outcome['tokens_in']} tokens in, "
            f"{outcome['tokens_out']} out, cost {cost}"
        )
