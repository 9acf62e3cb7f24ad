"""The tables and figures of LFS-Bench, in the order of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.ratings.estimands import estimand_of
from analysis.ratings.metric_scores import metrics_of
from analysis.report.content import Content, together
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.against_people.ceiling_tables import ceilings_of, preferences
from analysis.report.parts.against_people.metric_data import gathered
from analysis.report.parts.lfs.lfs_alignment import against_people, own_scores, two_instruments
from analysis.report.parts.lfs.lfs_clips import clips_of
from analysis.report.parts.lfs.lfs_length import by_length
from analysis.report.parts.lfs.lfs_radar import by_challenge
from analysis.report.parts.lfs.lfs_tables import systems

_FIVE_POINTS = (1.0, 5.0)
_NO_SCORES = (
    "There are no metric scores: score the clips, or give a CSV of scores (stimulus, metric, "
    "version, value), to see how they agree with people."
)


class Lfs(FamilyPart):
    """Tables 2, 3, 13 to 15, radars and length plots of LFS-Bench; then metrics against people."""

    key = "lfs"
    version = "4"
    title = "LFS-Bench: the paper's tables"
    order = 44
    always = False
    presets = frozenset({"lfs"})

    def make(self, inputs: PartInput) -> Content:
        """The metrics of the systems first, as in the paper; then tasks with ratings."""
        clips = clips_of(inputs)
        of_systems = []
        if clips is not None:
            of_systems = [systems(clips), by_challenge(clips), by_length(clips)]
        return together([*of_systems, super().make(inputs)])

    def of_family(self, each: FamilyInput) -> Content:
        """Scores and raters against means; of pairs differences of scores against preferences."""
        family, inputs = each.family, each.inputs
        suffix = f"-{each.place + 1}" if each.place else ""
        if family.in_pairs and bool((family.table["versus_stimulus"] != "").any()):
            if metrics_of(inputs.scores):
                of = gathered(family, inputs)
                own = own_scores(of)
                shown = preferences(of, ceilings_of(of, inputs), inputs, suffix, own)
                return replace(shown, warnings=two_instruments(each, own or ()))
        elif estimand_of(family.estimand).ends == _FIVE_POINTS:
            return against_people(each, suffix)
        return Content()

    def of_all(self, contents: Sequence[Content], inputs: PartInput) -> Content:
        """Titles say already what they are about."""
        content = together(contents)
        warnings = [*content.warnings]
        if not metrics_of(inputs.scores):
            warnings.append(_NO_SCORES)
        if not content.tables:
            warnings.append("No task has scores of 1 to 5 or comparisons of pairs.")
        return replace(content, warnings=warnings)
