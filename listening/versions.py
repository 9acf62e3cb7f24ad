"""Which study is a version of which: each knows the one before it."""

from __future__ import annotations

from listening.models import Study


def earlier_versions(study: Study) -> list[Study]:
    """The versions before this one, the newest first."""
    found: list[Study] = []
    before = study.version_of
    while before is not None and before not in found:
        found.append(before)
        before = before.version_of
    return found


def next_version(study: Study) -> int:
    """One more than the newest version there is: two copies of one study are two versions."""
    family = [(earlier_versions(study) or [study])[-1]]
    for each in family:
        family += each.later_versions.all()
    return max(each.version for each in family) + 1
