"""Agreement about each aspect of an item as a question of its own: it was said, or it was not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analysis.formatting import counted
from analysis.statistics.agreement.nominal import Measure, alpha

FEW = 10  # items with the aspect, of which an interval tells little
SAID, NOT = "given", "not"
Aspect = Mapping[int, Mapping[int, bool]]  # item -> reviewer -> whether they said so


@dataclass(frozen=True)
class AspectAgreement:
    """Of items that two or more judged: how many said it, and alpha."""

    aspect: str
    by_any: int  # items of which somebody said it
    by_all: int  # of them, all who judged it
    alpha: Measure
    note: str  # why there is no value or no interval, or how little it tells


def by_aspect(said: Mapping[str, Aspect]) -> Iterator[AspectAgreement]:
    """In the order given."""
    for aspect, every in said.items():
        several = {item: each for item, each in every.items() if len(each) > 1}
        words = {
            item: {who: SAID if it else NOT for who, it in each.items()}
            for item, each in several.items()
        }
        by_any = sum(any(each.values()) for each in several.values())
        measure = alpha(words, (SAID, NOT))
        yield AspectAgreement(
            aspect=aspect,
            by_any=by_any,
            by_all=sum(all(each.values()) for each in several.values()),
            alpha=measure,
            note=_note(measure, by_any, len(several)),
        )


def _note(measure: Measure, by_any: int, items: int) -> str:
    if items and not by_any:
        return "nobody marked it: nothing tells how well they agree about it"
    if measure.value is not None and by_any < FEW:
        few = f"marked in {counted(by_any, 'item')} only: one verdict more may change much"
        return "; ".join(filter(None, (measure.note, few)))
    return measure.note
