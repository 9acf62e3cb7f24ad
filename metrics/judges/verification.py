"""A given vocalisation verified: one marker in the unchanged transcript, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from metrics.core import vocalisations
from metrics.core.material import Material
from metrics.core.vocalisations import Vocalisation
from metrics.judges.question import Malformed, printable


def requested_vocalisations(material: Material) -> str:
    """What says which vocalisations were asked for: the attribute nvv_target, else a marked text.

    Empty when neither says anything.
    """
    marked = vocalisations.parse_marked(material.text, material.language)[1]
    return material.attribute("nvv_target") or (material.text if marked else "")


def check_marked(answer: Mapping[str, Any], text: str, target: str, language: str) -> None:
    """Malformed unless the marked text is the text with one <target>, or with none when absent.

    The text without its marker must be the same, character by character; only blanks may differ.
    """
    plain, markers = vocalisations.parse_marked(answer["marked_text"], language)
    if not answer["present"]:
        if markers:
            raise Malformed("marker although absent")
    elif len(markers) != 1:
        raise Malformed("no marker" if not markers else "several markers")
    elif markers[0].type != vocalisations.canonical(target):
        raise Malformed("another marker")
    if squeezed(plain) != squeezed(text):
        raise Malformed("transcript changed")


def squeezed(text: str) -> str:
    """The text without blanks: a marker may stand before punctuation or between two words."""
    return "".join(text.split())


def verified(answer: Mapping[str, Any], language: str) -> Vocalisation | None:
    """The vocalisation that a checked answer places in the text; None when it is absent."""
    markers = vocalisations.parse_marked(answer["marked_text"], language)[1]
    return markers[0] if markers else None


def other_types(answers: Iterable[Mapping[str, Any]], targets: Iterable[str]) -> list[Vocalisation]:
    """Types beside the targets that the answers report, each once, without a place."""
    asked = {vocalisations.canonical(target) for target in targets}
    named = {vocalisations.canonical(printable(n)) for answer in answers for n in answer["others"]}
    return [Vocalisation(name, None) for name in sorted(named - asked - {"none", ""})]
