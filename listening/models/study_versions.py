"""Which study is a version of which: each knows the one before it."""

from __future__ import annotations

from listening.models.study import Study


def earlier_versions(study: Study) -> list[Study]:
    """The versions before this one, the newest first."""
    found: list[Study] = []
    before = study.version_of
    while before is not None and before not in found:
        found.append(before)
        before = before.version_of
    return found


def all_versions(study: Study) -> list[Study]:
    """Every version of the same study, this one too, in the order of their numbers."""
    family = [(earlier_versions(study) or [study])[-1]]
    for each in family:
        family += each.later_versions.all()
    return sorted(family, key=lambda each: (each.version, each.pk))


def next_version(study: Study) -> int:
    """One more than the newest version there is: two copies of one study are two versions."""
    return max(each.version for each in all_versions(study)) + 1
