"""What stands beside every page of a draft: what the study comes to, in words."""

from __future__ import annotations

from typing import Any

from listening.design.studyfile import Reading
from listening.drafts.figures import Cost, figures_of, reading_of
from listening.models import Draft
from listening.recruitment.plan import money
from listening.web.researcher.checks_and_traps import EASY, chance_text


def sidebar(draft: Draft, reading: Reading | None = None) -> dict[str, Any]:
    reading = reading or reading_of(draft)
    figures = figures_of(draft, reading)
    return {
        "draft": draft,
        "reading": reading,
        "figures": figures,
        "cost": _cost(figures.cost) if figures.cost else None,
        "minutes": figures.length.minutes if figures.length else None,
        "parts": figures.length.parts if figures.length else [],
        "checks_passed": "" if figures.checks is None else chance_text(figures.checks),
        "traps_passed": chance_text(figures.traps.guessing) if figures.traps else "",
        "traps_easy": figures.traps is not None and figures.traps.guessing > EASY,
        "traps_same": figures.traps is not None and figures.traps.same == 1,
    }


def _cost(cost: Cost) -> dict[str, str]:
    return {
        "hourly": money(cost.hourly, cost.currency),
        "each": money(cost.each, cost.currency),
        "pay": money(cost.pay, cost.currency),
        "fees": money(cost.fees, cost.currency),
        "total": money(cost.total, cost.currency),
        "fee_words": cost.fee_words,
    }
