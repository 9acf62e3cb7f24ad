"""Analysis runs and their files in Django's admin, to look at and to delete."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from analysis.models import AnalysisRun, ResultsLink, RunFile
from listening.common.record_admin import RecordAdmin


@admin.register(AnalysisRun)
class AnalysisRunAdmin(RecordAdmin):
    list_display = ("id", "study", "estimator", "state", "created_at", "finished_at")
    list_filter = ("state", "estimator")
    readonly_fields = ("created_at",)
    exclude = ("result", "brief")


@admin.register(RunFile)
class RunFileAdmin(RecordAdmin):
    list_display = ("id", "run", "name", "state", "size_bytes", "asked_at")
    list_filter = ("state",)
    readonly_fields = ("asked_at",)
    exclude = ("content",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[RunFile]:
        return super().get_queryset(request).defer("content")


@admin.register(ResultsLink)
class ResultsLinkAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic when it runs
    list_display = ("id", "study", "name", "created_at", "expires_at", "revoked_at", "opened")
    readonly_fields = tuple(f.name for f in ResultsLink._meta.fields if f.name != "revoked_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
