"""Writes the JSON Schema of study.toml."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand

from listening.design.studyfile.schema import json_schema


class Command(BaseCommand):
    help = "Write the JSON Schema of study.toml, with which editors complete the file."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(json.dumps(json_schema(), ensure_ascii=False, indent=2))
