"""Analysis runs in Django's admin, to look at and to delete."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from analysis.models import AnalysisRun


@admin.register(AnalysisRun)
class AnalysisRunAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic when it runs
    list_display = ("id", "study", "estimator", "state", "created_at", "finished_at")
    list_filter = ("state", "estimator")
    readonly_fields = (
        "study",
        "estimator",
        "version",
        "parameters",
        "table_hash",
        "state",
        "error",
        "created_at",
        "finished_at",
    )
    exclude = ("result",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
