"""Scores in Django's admin, to look at: they are written by the runs only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.http import HttpRequest

from metrics.models import MetricScore

if TYPE_CHECKING:  # Django's class is generic for the type checker only
    ScoreAdmin = admin.ModelAdmin[MetricScore]
else:
    ScoreAdmin = admin.ModelAdmin


@admin.register(MetricScore)
class MetricScoreAdmin(ScoreAdmin):
    list_display = (
        "metric",
        "version",
        "origin",
        "sha256",
        "value",
        "reason",
        "failed",
        "computed_at",
    )
    list_filter = ("metric", "version", "origin", "failed")
    search_fields = ("sha256", "reason")
    ordering = ("-computed_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: MetricScore | None = None) -> bool:
        return False
