"""Lists studies as their page does: state, ratings, pace, what was paid, owner, tags."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from listening.models import Study
from listening.selectors.study_overview import Overview, overviews
from listening.studies.naming import FILTERS, filtered


class Command(BaseCommand):
    help = "List studies with state, ratings, expected completion, payments, owner and tags."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("q", nargs="*", help="Words of the key, title, name, tags or owner.")
        parser.add_argument("--state", choices=Study.State.values)
        parser.add_argument("--tag")
        parser.add_argument("--archived", action="store_true", help="List archived studies.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object per line.")

    def handle(self, *args: Any, **options: Any) -> None:
        criteria = {name: options.get(name) or "" for name in FILTERS} | {
            "q": " ".join(options["q"])
        }
        rows = overviews(filtered(Study.objects.select_related("owner"), criteria))
        for row in rows:
            self.stdout.write(json.dumps(facts(row)) if options["json"] else line(row))
        if not rows and not options["json"]:
            self.stdout.write("No study matches.")


def facts(row: Overview) -> dict[str, Any]:
    study = row.study
    return {
        "key": study.key,
        "title": study.title,
        "name": study.name,
        "state": study.state,
        "version": study.version,
        "owner": study.owner.get_username(),
        "tags": study.tags,
        "archived": study.archived_at is not None,
        "rated": row.rated,
        "planned": row.planned,
        "sessions": row.sessions,
        "simulated": row.simulated,
        "last_activity": row.last_activity.isoformat() if row.last_activity else None,
        "full_in_s": round(row.full_in.total_seconds()) if row.full_in else None,
        "paid": list(row.paid),
    }


def line(row: Overview) -> str:
    study = row.study
    words = [f"{study.key:<24} {study.state:<7} {row.rated:>9,} of {row.planned:<9,}"]
    words += [study.owner.get_username(), f"“{study.called}”"]
    words += [f"full in {row.full_in_words} at this pace"] if row.full_in else []
    words += [f"paid {sum_}" for sum_ in row.paid]
    words += [", ".join(study.tags)] if study.tags else []
    return " · ".join(words)
