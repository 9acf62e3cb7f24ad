"""The tables of NVV-SuperBench: inventories, objective results, MOS, judges, heat maps, CMOS."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.ratings.breakdowns import Family, families
from analysis.report.content import Content, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.nvv.nvv_cmos import cmos
from analysis.report.parts.nvv.nvv_heatmaps import heatmaps
from analysis.report.parts.nvv.nvv_judges import judged
from analysis.report.parts.nvv.nvv_means import means_table
from analysis.report.parts.nvv.nvv_objective import inventories, inventory_table, objective

NOTHING = "no ratings with scores: collect some, or name the column of scores"


class Nvv(Part):
    """Tables 2 to 6 of NVV-SuperBench and its heat maps of systems by vocalisation."""

    key = "nvv"
    version = "4"
    title = "NVV-SuperBench: the paper's tables"
    order = 46
    always = False
    presets = frozenset({"nvv"})

    def make(self, inputs: PartInput) -> Content:
        """The paper's tables, every task and language in one; and its figures."""
        scored: dict[str, list[Family]] = {}
        pairs: list[Family] = []
        for family in families(inputs.kept):
            if family.in_pairs:
                pairs.append(family)
            else:
                scored.setdefault(family.group["task"], []).append(family)
        if not scored and not pairs:
            raise ValueError(NOTHING)
        _check_studies([*pairs, *(each for found in scored.values() for each in found)])
        tasks = {
            task: by_criterion(scored[task], inputs) for task in inputs.ordered("task", scored)
        }
        known = inventories(inputs)
        made = [
            _draws(inputs),
            inventory_table(known, inputs),
            objective(tasks, pairs, known, inputs),
        ]
        inputs.progress(0.3, "Means by system and language")
        made.append(means_table(tasks, inputs))
        made.append(judged(tasks, pairs, inputs))
        inputs.progress(0.7, "Heat maps")
        made.append(heatmaps(tasks, known, inputs))
        made.append(cmos(by_criterion(pairs, inputs), inputs))
        return together(made)


def _draws(inputs: PartInput) -> Content:
    """What the study's tasks drew of the material."""
    tasks = inputs.facts["tasks"] if inputs.facts else ()
    return Content([task["drawn"] for task in tasks if task["drawn"]])


def _check_studies(found: Sequence[Family]) -> None:
    """Studies of one file are joined by language: a row is of a system in a language."""
    study_of: dict[str, str] = {}
    for family in found:
        study = family.group.get("study", "")
        for language in family.table["language"].unique():
            other = study_of.setdefault(str(language), study)
            if other != study:
                raise ValueError(
                    f"the studies {other} and {study} both hold ratings of the language "
                    f"“{language}”, and these tables have one row per system and language: "
                    "analyse each study by itself, or join studies of different languages"
                )


def by_criterion(found: list[Family], inputs: PartInput) -> list[Family]:
    """Families in the study's order of criteria."""
    places = inputs.ordered("criterion", {family.group["criterion"] for family in found})
    return sorted(found, key=lambda family: places.index(family.group["criterion"]))
