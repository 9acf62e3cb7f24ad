"""What a study says of its conditions in its own words."""

from __future__ import annotations

from typing import TypedDict

from listening.models import Study


class ConditionFacts(TypedDict):
    """A condition with its attributes, such as the types of vocalisation that it supports."""

    condition: str
    label: str
    system: str
    attributes: dict[str, str]


def condition_facts(study: Study) -> list[ConditionFacts]:
    """The conditions that a study names, in its order; without those made of lines."""
    return [
        ConditionFacts(
            condition=row.key,
            label=row.label,
            system=row.system,
            attributes=dict(row.attributes),
        )
        for row in study.conditions.filter(derived=False).order_by("pk")
    ]
