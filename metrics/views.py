"""The metrics page of a study: what is scored, what has no value and why, and a button to score."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import Any, TypedDict

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST
from kombu.exceptions import OperationalError

from metrics.base import make_metric, registry
from metrics.jobs import score_study
from metrics.models import MetricScore

REFRESH_S = 3


class MetricRow(TypedDict):
    """How far one metric is with a study's audio files, and what it says of each condition."""

    key: str
    description: str
    files: int
    scored: int
    failed: int
    without_value: list[tuple[str, int]]
    conditions: list[tuple[str, float | None, int]]  # mean over the files that have a value
    waiting: int


@login_required
@require_GET
def metrics_page(request: HttpRequest, key: str) -> HttpResponse:
    head = _head(request, key)
    rows = metric_rows(key)
    waits = request.GET.get("queued") == "1" and any(row["waiting"] for row in rows)
    context = {"study": head, "rows": rows, "refresh_s": REFRESH_S if waits else 0}
    return render(request, "metrics/study.html", context)


@login_required
@require_POST
def score(request: HttpRequest, key: str) -> HttpResponse:
    """Ask a worker to score what has no score yet; asking twice does no harm."""
    _head(request, key)
    try:
        score_study.delay(key)
    except OperationalError:
        messages.error(request, "The queue does not answer just now. Please try again in a minute.")
        return redirect("metrics", key)
    return redirect(f"{request.path.removesuffix('score/')}?queued=1")


def metric_rows(study: str) -> list[MetricRow]:
    """One row per metric that there is, over the study's audio files (traps included)."""
    from listening.selectors import stimulus_rows

    conditions: dict[str, str] = {}
    for row in stimulus_rows(study):
        conditions.setdefault(row["sha256"], row["condition"])
    return [_metric_row(key, conditions) for key in sorted(registry())]


def _metric_row(key: str, conditions: dict[str, str]) -> MetricRow:
    metric = make_metric(key)
    stored = MetricScore.objects.filter(
        metric=key,
        version=metric.version,
        parameters=metric.parameters_dict(),
        sha256__in=list(conditions),
    )
    scores = list(stored.values_list("sha256", "value", "reason", "failed"))
    reasons = Counter(reason for _, value, reason, _ in scores if value is None)
    values: dict[str, list[float]] = {name: [] for name in sorted(set(conditions.values()))}
    for sha256, value, _, _ in scores:
        if value is not None:
            values[conditions[sha256]].append(value)
    return MetricRow(
        key=key,
        description=metric.description,
        files=len(conditions),
        scored=sum(map(len, values.values())),
        failed=sum(failed for _, _, _, failed in scores),
        without_value=reasons.most_common(),
        conditions=[(c, fmean(v) if v else None, len(v)) for c, v in values.items()],
        waiting=len(conditions) - len(scores),
    )


def _head(request: HttpRequest, key: str) -> Any:
    from listening.selectors import study_head

    head = study_head(key, request.user)
    if head is None:
        raise Http404(f"There is no study “{key}” of yours.")
    return head
