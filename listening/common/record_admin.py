"""Pages of Django's admin on which records can be looked at, but neither added nor changed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest


class RecordAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic when it runs
    """A list of records, and a page for each; an account with the right may delete them."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
