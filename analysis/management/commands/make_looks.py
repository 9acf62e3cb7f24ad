"""manage.py make_looks: the looks of stop rules that are due, made now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = (
        "Make the looks of stop rules that are due. Earnest does this every 30 seconds while its "
        "jobs run. A study whose rule applies closes, or waits for you."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", nargs="?", default="", help="Study key. Default: all studies.")

    def handle(self, *args: Any, **options: Any) -> None:
        from analysis.web.look_jobs import make_looks
        from listening.selectors import look_problems, no_study, stop_facts

        key = options["study"]
        if key and (missing := no_study(key)):
            raise CommandError(missing)
        stored = make_looks(key)
        for name in stored:
            study, number = name.rsplit(" ", 1)
            facts = stop_facts(study)
            look = facts["made"][-1] if facts else None
            if look:
                decision = f"{look['decision_in_words']}. {look['why']}"
                self.stdout.write(f"Look {number} of “{study}”: {decision}")
        problems = look_problems(key)
        if problems:
            raise CommandError("\n".join(problems))
        if not stored:
            self.stdout.write("No look is due.")
