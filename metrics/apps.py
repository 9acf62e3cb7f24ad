"""Registers metrics with Django, and tells them where models lie and who judges."""

from pathlib import Path

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class MetricsConfig(AppConfig):
    name = "metrics"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from listening.common import plugins
        from listening.common.signals import clip_hints, code_hints
        from metrics.core import weights
        from metrics.judges import cost, rubric
        from metrics.judges.client import Endpoint, configure_endpoint
        from metrics.web import review_hints

        clip_hints.connect(review_hints.clip_hints)
        code_hints.connect(review_hints.code_hints)
        plugins.configure(
            "earnest.metrics", "EARNEST_METRIC_MODULES", settings.EARNEST_METRIC_MODULES
        )
        weights.configure(settings.EARNEST_MODELS, settings.EARNEST_OFFLINE)
        rubric.configure(settings.EARNEST_RUBRICS)
        try:
            prices = cost.parse_prices(settings.EARNEST_JUDGE_PRICES)
            budget = cost.parse_budget(settings.EARNEST_JUDGE_BUDGET, prices)
        except ValueError as error:
            raise ImproperlyConfigured(f"EARNEST_JUDGE_PRICES and _BUDGET: {error}") from error
        configure_endpoint(
            Endpoint(
                url=settings.EARNEST_JUDGE_URL,
                model=settings.EARNEST_JUDGE_MODEL,
                key=settings.EARNEST_JUDGE_KEY,
                cache=Path(settings.EARNEST_VAR) / "judges",
                prices=prices,
                budget=budget,
                concurrency=settings.EARNEST_JUDGE_CONCURRENCY,
                timeout_s=settings.EARNEST_JUDGE_TIMEOUT_S,
            )
        )
