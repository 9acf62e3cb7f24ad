"""What the version of a study changed, where ratings of several versions are combined."""

from __future__ import annotations

import pandas as pd

from analysis.citations import cite
from analysis.formatting import counted, enumerated, number
from analysis.name_spans import family_span, resolve
from analysis.report.content import Content, Table, column, row_from, table_row
from analysis.report.part import Part, PartInput
from analysis.statistics.comparisons.simultaneous import EQUAL
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen
from analysis.statistics.version_effect import LEVEL, VersionEffect, version_effects, versions_in

METHODS = (
    "Ratings of several versions of the study are combined after a test of equivalence: over the "
    "conditions and clips that both versions rated, each clip with the same weight, the two-way "
    "clustered {level} interval of the difference between versions must lie within a margin that "
    f"was declared, which is two one-sided tests at 5 % {cite('schuirmann1987')}."
)
NOTE = "Later version minus earlier one, over clips that both rated; each clip weighs the same."


@table_row
class EffectRow:
    """The version's effect in one task and criterion."""

    about: str = column("Task and criterion")
    versions: str = column("Versions")
    value: float | None = column("Later − earlier", "number", sign=True)
    effect_low: float | None = column("{level}", "interval", key="effect")
    effect_high: float | None
    margin: float = column("Margin ±", "number")
    said: str = column("They are")
    ratings: str = column("Ratings, earlier and later")
    raters: str = column("Raters, earlier and later")
    clips: int = column("Shared clips", "count")


@table_row
class ShiftRow:
    """The version's effect in one condition."""

    about: str = column("Task and criterion")
    condition: str = column("Condition")
    value: float = column("Later − earlier", "number", sign=True)
    shift_low: float | None = column("{level}", "interval", key="shift")
    shift_high: float | None
    clips: int = column("Shared clips", "count")


class Versions(Part):
    """The difference between versions, and whether it lies within the margin."""

    key = "versions"
    version = "1"
    title = "Versions combined"
    order = 12

    def applies(self, inputs: PartInput) -> bool:
        return len(versions_in(inputs.ratings)) > 1

    def make(self, inputs: PartInput) -> Content:
        effects = version_effects(inputs.ratings, dict(inputs.options.margins))
        named = enumerated(versions_in(inputs.ratings))
        effects_table = Table.from_rows(
            EffectRow, "versions", "Versions", map(_row, effects), level=LEVEL, note=NOTE
        )
        shifts_table = Table.from_rows(
            ShiftRow,
            "versions-conditions",
            "Versions, by condition",
            [
                row_from(ShiftRow, one, about=each.title, shift_low=one.low, shift_high=one.high)
                for each in effects
                for one in each.shifts
            ],
            level=LEVEL,
            note=f"{NOTE} Each interval is for its condition alone.",
            folded=True,
        )
        return Content(
            sentences=[f"Ratings of the versions {named} are combined.", *map(said_of, effects)],
            tables=[effects_table, shifts_table],
            warnings=[said_of(each) for each in effects if not each.equal],
            methods=[METHODS.format(level=f"{LEVEL * 100:g} %")],
        )


def refusals(table: pd.DataFrame, options: Options) -> list[str]:
    """Why ratings of several versions may not be analysed together; empty where they may."""
    effects = version_effects(
        screen(table, options.rules).kept(options.rules), dict(options.margins)
    )
    if not effects:
        return ["One of them has no ratings that count yet."]
    if all(effect.equal for effect in effects):
        return []
    return [resolve(said_of(effect)) for effect in effects]


def said_of(effect: VersionEffect) -> str:
    """What the comparison says of one task and criterion, in a sentence."""
    where = f"{family_span(effect.title)}, version {effect.later} against {effect.earlier}"
    if effect.value is None or effect.low is None or effect.high is None:
        return f"{where}: no difference can be tested ({effect.note})."
    bounds = f"{number(effect.low, True)} to {number(effect.high, True)}"
    difference = f"{where}: {number(effect.value, True)} ({LEVEL * 100:g} % interval {bounds})"
    margin = f"±{effect.margin:g}"
    if effect.decision == EQUAL:
        return f"{difference}, within the margin of {margin}: they may be combined."
    inside = effect.low <= effect.margin and effect.high >= -effect.margin
    why = f"not within the margin of {margin}"
    more = "more ratings, or a wider margin that you can defend, may decide it" if inside else ""
    return f"{difference}, {why}{'; ' * bool(more)}{more}: they may not be combined."


def _row(effect: VersionEffect) -> EffectRow:
    return row_from(
        EffectRow,
        effect,
        about=effect.title,
        versions=f"{effect.earlier} and {effect.later}",
        effect_low=effect.low,
        effect_high=effect.high,
        said=effect.note or effect.decision,
        ratings="{:,} and {:,}".format(*effect.ratings),
        raters="{:,} and {:,}".format(*effect.raters)
        + (f", {counted(effect.raters_in_both, 'rater')} in both" if effect.raters_in_both else ""),
    )
