"""Whether nonverbal vocalisations came as asked for, and where (NVV-SuperBench)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core import texts, vocalisations
from metrics.core.metric import (
    Input,
    Material,
    Metric,
    Output,
    Parameters,
    Score,
    Sharing,
    Take,
    check_bounds,
    undefined,
)
from metrics.core.vocalisations import Comparison, Controllability, Vocalisation

LACKING = {
    "nvv_precision": "nothing was found",
    "nvv_recall": "nothing was asked for",
    "nvv_distance": "no match, or no text to measure it by",
}


@dataclass(frozen=True)
class NvvParameters(Parameters):
    """How far apart two places may be, and of how many types coverage is a share."""

    tolerance: int = vocalisations.TOLERANCE  # words, or characters in Chinese
    n_types: int = vocalisations.N_TYPES

    def __post_init__(self) -> None:
        check_bounds(self, "tolerance", 0)
        check_bounds(self, "n_types", 1)


def count_outputs(key: str, title: str) -> tuple[Output, ...]:
    """The counts of a clip, which reports sum over clips: true and false positives, misses.

    They describe a clip and rate nothing, so they have no better direction.
    """
    counted = {
        "tp": ("Vocalisations asked for that were found", "true positives"),
        "fp": ("Vocalisations found that match none that was asked for", "false positives"),
        "fn": ("Vocalisations asked for that nothing matches", "false negatives"),
    }
    return tuple(
        Output(f"{key}_{name}", description, "count", 0.0, title=f"{title} {words}")
        for name, (description, words) in counted.items()
    )


class Nvv(Metric):
    """F1 of the vocalisations that somebody found in a clip against those asked for."""

    key = "nvv"
    version = "1"
    cpu_s_per_s = 0
    description = "F1 of nonverbal vocalisations found in a clip, by type and place in the text"
    title = "NVV F1"
    source = "NVV-SuperBench (2026), section 2.4.1"
    low, high = 0.0, 1.0
    higher_is_better = True
    more_outputs = (
        Output(
            "nvv_precision",
            "Share of the vocalisations found that match",
            "",
            0.0,
            1.0,
            True,
            title="NVV precision",
        ),
        Output(
            "nvv_recall",
            "Share of the vocalisations asked for that match",
            "",
            0.0,
            1.0,
            True,
            title="NVV recall",
        ),
        Output(
            "nvv_distance",
            "Normalised tag distance of the matches",
            "",
            0.0,
            1.0,
            False,
            title="NVV tag distance",
        ),
        *count_outputs("nvv", "NVV"),
    )
    sharing = Sharing(Input.ALONE, 0.0, "no network")
    lacking = LACKING
    needs = ("text", "language", "attributes.nvv_target", "attributes.nvv_predicted")
    packages = ("numpy",)
    parameters_type = NvvParameters
    parameters: NvvParameters

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One score per take, from its material; of the audio only that it is not silence."""
        return [self.of_material(take.material) for take in takes]

    def of_material(self, material: Material) -> Score:
        """F1, precision, recall and distance of one clip."""
        target_text, predicted_text = (
            material.attribute(f"nvv_{name}") for name in ("target", "predicted")
        )
        for name, text in (("target", target_text), ("predicted", predicted_text)):
            if not text:
                return undefined(f"the clip has no attribute nvv_{name}")
        if not material.language:
            return undefined("no language")
        try:
            target, predicted = (
                vocalisations.parse(t, material.language) for t in (target_text, predicted_text)
            )
        except vocalisations.VocalisationError as error:
            return undefined(str(error))
        length = len(texts.units(spoken(material), material.language))
        compared = vocalisations.compare(target, predicted, length, self.parameters.tolerance)
        return score_comparison(compared)

    def pooled(self, details: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """Counts summed over a condition's clips; distance over its clips with a match.

        nvv_coverage: share of the types that were asked for (the paper's, when each supported
        type is asked for); nvv_coverage_matched: of those that matched at least once.
        """
        controllability = vocalisations.controllability(comparison(row) for row in details)
        named = {
            **rates(controllability),
            "coverage": vocalisations.coverage(
                controllability.target_types, self.parameters.n_types
            ),
            "coverage_matched": vocalisations.coverage(
                controllability.hit_types, self.parameters.n_types
            ),
        }
        return {f"nvv_{name}_pooled": v for name, v in named.items() if v is not None}


def spoken(material: Material) -> str:
    """The text without markers; without a text, that of a marked target."""
    text = material.text.strip() or material.attribute("nvv_target")
    marked = material.text.strip() or "@" not in text
    return vocalisations.without_marks(text, material.language) if marked else ""


def score_comparison(compared: Comparison) -> Score:
    """The score of one clip, with everything in its details that pooling needs."""
    controllability = vocalisations.controllability([compared])
    if controllability.f1 is None:
        return undefined("no vocalisation was asked for or found")
    values = rates(controllability)
    also = {f"nvv_{name}": values[name] for name in ("precision", "recall", "distance")}
    also |= counts("nvv", controllability)
    return Score(controllability.f1, "", comparison_details(compared), also=also)


def counts(key: str, controllability: Controllability) -> dict[str, float | None]:
    """The values of `count_outputs`."""
    return {f"{key}_{name}": float(getattr(controllability, name)) for name in ("tp", "fp", "fn")}


def comparison_details(compared: Comparison) -> dict[str, Any]:
    """A clip's comparison as plain values, from which `comparison` makes it again."""
    return {
        "tp": compared.hits,
        "fp": len(compared.spurious),
        "fn": len(compared.missed),
        "length": compared.length,
        "matched": [[vocalisation_as_json(t), vocalisation_as_json(p)] for t, p in compared.pairs],
        "missed": [vocalisation_as_json(v) for v in compared.missed],
        "spurious": [vocalisation_as_json(v) for v in compared.spurious],
    }


def rates(controllability: Controllability) -> dict[str, float | None]:
    """The numbers of the paper by name."""
    return {
        "f1": controllability.f1,
        "precision": controllability.precision,
        "recall": controllability.recall,
        "distance": controllability.distance,
    }


def vocalisation_as_json(vocalisation: Vocalisation) -> list[Any]:
    """A vocalisation as JSON."""
    return [vocalisation.type, vocalisation.position]


def comparison(details: Mapping[str, Any]) -> Comparison:
    """A clip's comparison back from the details of its score."""
    return Comparison(
        tuple((Vocalisation(*t), Vocalisation(*p)) for t, p in details["matched"]),
        tuple(Vocalisation(*v) for v in details["missed"]),
        tuple(Vocalisation(*v) for v in details["spurious"]),
        int(details["length"]),
    )
