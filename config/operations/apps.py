"""Registers operations with Django and starts what reports errors elsewhere, if a setting asks."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "config.operations"
    label = "operations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import config.celery  # noqa: F401  # so that shared jobs find their application
        from config.operations import (  # noqa: F401  # their checks register themselves
            error_reports,
            heartbeats,
            plugins,
            shared_counters,
            shared_parts,
        )

        error_reports.start()
        heartbeats.connect()
        shared_counters.count_failures_of_jobs()
