"""Scores in Django's admin, to look at: they are written by the runs only."""

from __future__ import annotations

from django.contrib import admin

from listening.common.record_admin import RecordAdmin
from metrics.models import MetricScore


@admin.register(MetricScore)
class MetricScoreAdmin(RecordAdmin):
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
