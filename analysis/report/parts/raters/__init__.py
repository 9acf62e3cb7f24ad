"""Each rater: against the rest, bias, use of the scale, speed, fatigue, and self-consistency."""

from __future__ import annotations

from dataclasses import replace

from analysis.ratings.breakdowns import families
from analysis.report.content import Content, titled, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.raters.consistency_tables import repeats_of
from analysis.report.parts.raters.order_tables import order_of
from analysis.report.parts.raters.rest_tables import rest_of
from analysis.report.parts.raters.scale_use_tables import use_of
from analysis.report.parts.raters.sos_tables import spread_of
from analysis.report.parts.raters.speed_tables import pace_of


class Raters(Part):
    """Each rater against the others, bias and noise, use of the scale, speed, fatigue, repeats."""

    key = "raters"
    version = "2"
    title = "Raters"
    order = 72

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.kept) > 0

    def make(self, inputs: PartInput) -> Content:
        every = list(families(inputs.kept))
        found: list[Content] = []
        for place, family in enumerate(every):
            title = family.title
            mine: list[Content] = []
            for step, make in enumerate((rest_of, use_of, order_of, spread_of, repeats_of)):
                inputs.progress((place + step / 5) / (len(every) + 1), title)
                mine.append(make(family, title, inputs))
            found.append(_in_one_paragraph(together(mine), title))
        inputs.progress(len(every) / (len(every) + 1), "answer times")
        found += pace_of(inputs)
        shown = together(found)
        if not shown.tables and not shown.sentences:
            return Content(["There are too few ratings to say anything of single raters."])
        return titled(shown) if len(every) > 1 else shown


def _in_one_paragraph(shown: Content, title: str) -> Content:
    """The sentences about one family, its title said once."""
    told = [text.removeprefix(f"{title}: ") for text in shown.sentences]
    whole = " ".join(text[:1].upper() + text[1:] for text in told)
    return replace(shown, sentences=[f"{title}: {whole}"] if told else [])
