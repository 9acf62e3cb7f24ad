"""[[sources]] of study.toml read: the ways into the study, with their quotas and codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from listening.design.sources import Source
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.reader import read_table

ONE_OF = ("link", "prolific")  # found without a name in the address: there can be one of each


def read_sources(tables: Iterable[Any], notes: Notebook) -> tuple[dict[str, Any], ...]:
    """The sources as the database keeps them."""
    sources: list[Source] = []
    for n, table in enumerate(tables, start=1):
        where = f"sources[{n}]"
        fields = read_table(table, "sources", where, notes)
        for name in ("codes", "return_urls"):
            place = f"{where}.{name}"
            by_outcome = read_table(fields[name], f"sources.{name}", place, notes)
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
        what = f"There are two sources of the kind “{source.kind}”."
        notes.toml(f"{where}.kind", what, remedy, "Keep one.")
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
