"""What stored scores and suggestions say of a clip or a reason that a reviewer judged already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metrics.core.metric import title_of_key
from metrics.models import CodeSuggestion, MetricScore
from metrics.scoring.selectors import study_mark

# score -> the value from which (or up to which) it is worth a look, and what it means. Rough: they
# draw a person's ear to a clip and decide nothing.
ABOVE = {
    "wer": (
        0.3,
        "word error rate {value:.0%}: the clip may be cut off or unintelligible",
    ),
    "cer": (0.3, "character error rate {value:.0%}: the clip may be cut off or unintelligible"),
}
BELOW = {
    "timbre_consistency": (0.6, "the voice may change within the clip ({value:.2f})"),
    "dnsmos_sig": (3.0, "low speech quality ({value:.2f} of 5)"),
    "utmos": (3.0, "low predicted quality ({value:.2f} of 5)"),
}


def clip_hints(sender: object, study_key: str, sha256: str, **kwargs: Any) -> list[str]:
    """Receives the signal `clip_hints`: sentences from the newest score of each metric."""
    rows = MetricScore.objects.filter(
        sha256=sha256, metric__in=[*ABOVE, *BELOW], value__isnull=False
    ).order_by("metric", "-computed_at")
    own = study_mark(study_key)
    hints: dict[str, str] = {}
    for row in rows:
        if row.origin == MetricScore.Origin.IMPORTED and row.given != own:
            continue
        if row.metric not in hints and row.value is not None:
            hints[row.metric] = _hint_sentence(row.metric, row.value)
    return [words for words in hints.values() if words]


def _hint_sentence(metric: str, value: float) -> str:
    limit, words = {**ABOVE, **BELOW}[metric]
    striking = value > limit if metric in ABOVE else value < limit
    return f"{title_of_key(metric)}: {words.format(value=value)}." if striking else ""


def code_hints(
    sender: object, items: Sequence[int], version: int, **kwargs: Any
) -> dict[int, list[str]]:
    """Receives `listening.common.signals.code_hints`: the codes that the judge asked last names."""
    rows = CodeSuggestion.objects.filter(item__in=items, version=version, codes__isnull=False)
    named = rows.order_by("at", "pk").values_list("item", "codes")
    return {item: list(codes or ()) for item, codes in named}
