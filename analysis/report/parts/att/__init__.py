"""The tables and figures of the Audio Turing Test, in the order of the paper."""

from __future__ import annotations

from dataclasses import replace

from analysis.name_spans import family_span
from analysis.ratings.breakdowns import families
from analysis.ratings.estimands import family_title
from analysis.report.content import Content, Table, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.att.att_dimensions import by_dimension, by_voice
from analysis.report.parts.att.att_means import compared, means
from analysis.report.parts.att.att_splits import by_split
from analysis.report.parts.att.att_systems import systems

__all__ = ["Att", "compared", "means"]

_METHOD = (
    "Human-likeness scores (Human 1, Unclear 0.5, Machine 0) were modelled with systems as fixed "
    "effects and random effects of raters and of raters by system; posterior means, standard "
    "deviations and 95 % highest-density intervals come from exact draws."
)


class Att(Part):
    """Table 3, Figures 2a and 2b and Table 6 of the Audio Turing Test, with tiers."""

    key = "att"
    version = "2"
    title = "Audio Turing Test: the paper's tables"
    order = 42
    always = False
    presets = frozenset({"att"})

    def applies(self, inputs: PartInput) -> bool:
        """Whether there are labels Human, Unclear, Machine."""
        return bool((inputs.kept["estimand"] == "hls").any())

    def make(self, inputs: PartInput) -> Content:
        """The paper's tables and figures for each task and criterion."""
        made: list[Content] = [Content(methods=[_METHOD])]
        of_hls = [family for family in families(inputs.kept) if family.estimand == "hls"]
        for place, family in enumerate(of_hls):
            title = family_title({"estimand": "hls", **family.group})
            inputs.progress(place / len(of_hls), title)
            compare = compared(family.table)
            about = (family, compare, inputs, title, f"-{place + 1}" * bool(place))
            of_family = [Content(tables=systems(*about))]
            of_family += [by_split(*about), by_dimension(*about), by_voice(*about)]
            made += [_keyed(each, compare) for each in of_family]
        shown = together(made)
        return _untitled(shown, title) if len(of_hls) == 1 else shown


def _keyed(shown: Content, compare: str) -> Content:
    """The tables with systems in a column of the name of what is compared: conditions have labels.

    In figures the keys of rows are the same for both.
    """
    old = "system"

    def keyed(table: Table) -> Table:
        columns = [replace(c, key=compare) if c.key == old else c for c in table.columns]
        rows = [{compare if k == old else k: v for k, v in row.items()} for row in table.rows]
        group = compare if table.group == old else table.group
        return replace(table, columns=columns, rows=rows, group=group)

    return replace(shown, tables=[keyed(table) for table in shown.tables])


def _untitled(shown: Content, title: str) -> Content:
    """Without the family in titles, where there is one alone: ``about`` has it."""
    tail = family_span(title, " · {}")
    return replace(
        shown,
        figures=[replace(each, title=each.title.removesuffix(tail)) for each in shown.figures],
        tables=[replace(each, title=each.title.removesuffix(tail)) for each in shown.tables],
    )
