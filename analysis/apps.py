"""Registers analysis with Django."""

from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Whoever withdraws is forgotten by what was stored here, too."""
        from analysis.web.withdrawals import forget_reports
        from listening.signals import withdrawn

        withdrawn.connect(forget_reports, dispatch_uid="analysis.web.withdrawals")
