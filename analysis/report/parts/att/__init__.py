"""The tables and figures of the Audio Turing Test, in the order of the paper."""

from __future__ import annotations

from analysis.ratings.breakdowns import families
from analysis.ratings.scales import family_title
from analysis.report.content import Content, together
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
            about = (family, compared(family.table), inputs, title, f"-{place + 1}" * bool(place))
            made.append(Content(tables=systems(*about)))
            made += [by_split(*about), by_dimension(*about), by_voice(*about)]
        return together(made)
