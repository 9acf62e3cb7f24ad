"""Registers metrics with Django, and tells them where models lie."""

from django.apps import AppConfig
from django.conf import settings


class MetricsConfig(AppConfig):
    name = "metrics"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from metrics import weights

        weights.configure(settings.EARNEST_MODELS, settings.EARNEST_OFFLINE)
