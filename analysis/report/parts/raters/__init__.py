"""Each rater: against the rest, bias, use of the scale, speed, fatigue, and self-consistency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.name_spans import family_prefix
from analysis.report.content import Content, titled, together
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.raters.consistency_tables import answers_to_repeats
from analysis.report.parts.raters.order_tables import answer_times, effects_of_order
from analysis.report.parts.raters.rest_tables import raters_against_rest
from analysis.report.parts.raters.scale_use_tables import use_of_scale
from analysis.report.parts.raters.sos_tables import spread_of_opinions

STEPS = (
    raters_against_rest,
    use_of_scale,
    effects_of_order,
    spread_of_opinions,
    answers_to_repeats,
)


class Raters(FamilyPart):
    """Each rater against the others, bias and noise, use of the scale, speed, fatigue, repeats."""

    key = "raters"
    version = "2"
    title = "Raters"
    order = 72

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.kept) > 0

    def of_family(self, each: FamilyInput) -> Content:
        """The sentences about a family are one paragraph, its title said once."""
        contents = []
        for step, make in enumerate(STEPS):
            each.progress(step / len(STEPS))
            contents.append(make(each))
        content = together(contents)
        texts = [text.removeprefix(family_prefix(each.title)) for text in content.sentences]
        paragraph = " ".join(text[:1].upper() + text[1:] for text in texts)
        return replace(
            content, sentences=[f"{family_prefix(each.title)}{paragraph}"] if texts else []
        )

    def of_all(self, contents: Sequence[Content], inputs: PartInput) -> Content:
        inputs.progress(0.9, "answer times")
        content = together([*contents, *answer_times(inputs)])
        if not content.tables and not content.sentences:
            return Content(["There are too few ratings to say anything of single raters."])
        return titled(content) if len(contents) > 1 else content
