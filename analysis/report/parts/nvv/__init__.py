"""The tables of NVV-SuperBench: MOS, objective results over runs, inventories, heat maps, CMOS."""

from __future__ import annotations

from analysis.ratings.breakdowns import Family, families
from analysis.report.content import Content, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.nvv.nvv_cmos import cmos
from analysis.report.parts.nvv.nvv_heatmaps import heatmaps
from analysis.report.parts.nvv.nvv_inventory import inventories, inventory_table
from analysis.report.parts.nvv.nvv_means import means_table
from analysis.report.parts.nvv.nvv_objective import objective

NOTHING = "no ratings with scores: collect some, or name the column of scores"


class Nvv(Part):
    """Tables 2, 3, 4 and 6 of NVV-SuperBench and its heat maps of systems by vocalisation."""

    key = "nvv"
    version = "2"
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
        tasks = {
            task: by_criterion(scored[task], inputs) for task in inputs.ordered("task", scored)
        }
        known = inventories(inputs)
        made = [inventory_table(known), objective(tasks, pairs, known, inputs)]
        inputs.progress(0.3, "Means by system and language")
        made.append(means_table(tasks, inputs))
        inputs.progress(0.7, "Heat maps")
        made.append(heatmaps(tasks, known, inputs))
        made.append(cmos(by_criterion(pairs, inputs), inputs))
        return together(made)


def by_criterion(found: list[Family], inputs: PartInput) -> list[Family]:
    """Families in the study's order of criteria."""
    places = inputs.ordered("criterion", {family.group["criterion"] for family in found})
    return sorted(found, key=lambda family: places.index(family.group["criterion"]))
