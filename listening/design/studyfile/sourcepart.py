"""[[sources]] of study.toml read: the ways into the study, with their quotas and codes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from listening.design.sources import HOLES, INVITATION, KINDS, PARAMETER, Source
from listening.design.studyfile import shapes
from listening.design.studyfile.entries import OUTCOMES
from listening.design.studyfile.problems import Notebook, quoted
from listening.design.studyfile.shapes import Field, Wrong, read_table

TAKEN = (
    PARAMETER,
    INVITATION,
    "lang",
    "simulate",
    "consent",
    "proof",
    "memory",
    "csrfmiddlewaretoken",
)
NAME = re.compile(r"[A-Za-z0-9_.-]+")
HOLE = re.compile(r"\{([^{}]*)\}")


def _parameter(value: Any, field: Field) -> str:
    """A name in the query of an address."""
    clean = shapes.text(value, field)
    if clean and not NAME.fullmatch(clean):
        raise Wrong(f"“{clean}” is no name of a parameter.", "Use letters, digits, . - and _.")
    if clean in TAKEN:
        raise Wrong(f"Earnest uses the parameter “{clean}” itself.", "Choose another name.")
    return clean


def _return_url(value: Any, field: Field) -> str:
    clean = shapes.text(value, field)
    if not clean:
        return clean
    parts = urlsplit(clean)
    if parts.scheme not in ("http", "https") or not parts.netloc or HOLE.search(parts.netloc):
        raise Wrong(f"“{clean}” is no address.", "Write the whole of it: https://…")
    unknown = [hole for hole in HOLE.findall(clean) if hole not in HOLES]
    if unknown:
        known = quoted("{" + hole + "}" for hole in HOLES)
        raise Wrong(f"Nothing is known to put in “{{{unknown[0]}}}”.", f"There are: {known}.")
    return clean


SOURCE = {
    "key": Field(shapes.slug, required=True, longest=40, default=""),
    "kind": Field(shapes.choice, default="link", choices=tuple(KINDS)),
    "title": Field(shapes.text, default="", longest=120),
    "quota": Field(shapes.whole, default=0, low=0, high=1_000_000),
    "participant": Field(_parameter, default="", longest=60),
    "submission": Field(_parameter, default="", longest=60),
    "invited_only": Field(shapes.flag, default=False),
    "own_ids": Field(shapes.flag, default=False),
    "return_urls": Field(shapes.raw_table, default={}),
    "codes": Field(shapes.raw_table, default={}),
}
RETURN_URLS = {outcome: Field(_return_url, longest=1000) for outcome in OUTCOMES}
CODES = {outcome: Field(shapes.code, longest=64) for outcome in OUTCOMES}
ONE_OF = ("link", "prolific")  # found without a name in the address: there can be one of each


def read_sources(tables: Iterable[Any], notes: Notebook) -> tuple[dict[str, Any], ...]:
    """The sources as the database keeps them."""
    sources: list[Source] = []
    for n, table in enumerate(tables, start=1):
        where = f"sources[{n}]"
        fields = read_table(table, SOURCE, where, notes)
        for name, shape in (("codes", CODES), ("return_urls", RETURN_URLS)):
            by_outcome = read_table(fields[name], shape, f"{where}.{name}", notes)
            fields[name] = {outcome: word for outcome, word in by_outcome.items() if word}
        source = Source(**fields)
        _check(source, where, sources, notes)
        sources.append(source)
    return tuple(source.as_dict() for source in sources)


def _check(source: Source, where: str, before: list[Source], notes: Notebook) -> None:
    if source.key and source.key in [other.key for other in before]:
        notes.toml(f"{where}.key", f"There are two sources “{source.key}”.", "Rename one.")
    if source.kind in ONE_OF and source.kind in [other.kind for other in before]:
        remedy = 'Keep one, or make the other kind = "other" or "panel".'
        notes.toml(f"{where}.kind", f"There are two sources of the kind “{source.kind}”.", remedy)
    if source.kind == "prolific":
        _check_prolific(source, where, notes)
    elif source.kind == "link" and (source.participant or source.own_ids):
        what = "A plain link carries no ids."
        notes.toml(f"{where}.kind", what, 'Use kind = "panel" for your own ids, else "other".')
    if source.invited_only and not source.takes_invitations:
        what = "Only a panel takes invitations."
        notes.toml(f"{where}.invited_only", what, 'Write kind = "panel", or leave it out.')
    brought = {
        "participant": source.participant_parameter,
        "submission": source.submission_parameter,
    }
    for name, parameter in brought.items():
        for outcome, address in source.return_urls.items():
            if "{" + name + "}" in address and not parameter:
                what = f"{{{name}}} stands here, and no parameter brings it."
                remedy = f'Name the parameter: {name} = "…".'
                notes.toml(f"{where}.return_urls.{outcome}", what, remedy)
    if source.participant_parameter and (
        source.participant_parameter == source.submission_parameter
    ):
        what = "Participant and submission are the same parameter."
        notes.toml(f"{where}.submission", what, "Leave submission out.")


def _check_prolific(source: Source, where: str, notes: Notebook) -> None:
    """Prolific's parameters and addresses are known, and its codes are those of the study."""
    for name in ("participant", "submission", "own_ids", "return_urls", "codes"):
        if getattr(source, name):
            remedy = "Leave it out; the codes for Prolific are in [study.completion_codes]."
            notes.toml(f"{where}.{name}", "For Prolific this is fixed.", remedy)
