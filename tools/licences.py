"""Which licence each package states, and whether audit.toml admits it."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from license_expression import ExpressionError, LicenseSymbol, LicenseWithExceptionSymbol, Licensing
from packaging.utils import canonicalize_name

NOTHING = "nothing"


@dataclass(frozen=True)
class Exempt:
    """An entry of audit.toml: packages that state something else, and why they may stay."""

    packages: tuple[str, ...]
    states: tuple[str, ...]
    reason: str

    def covers(self, name: str, statements: Iterable[str]) -> bool:
        named = any(fnmatchcase(name, pattern) for pattern in self.packages)
        return named and all(each in self.states for each in statements)


def statements(component: dict[str, Any]) -> list[str]:
    """Each licence that a component of a CycloneDX bill states, as SPDX or in its own words."""
    licences = []
    for each in component.get("licenses", ()):
        licence = each.get("expression") or each["license"].get("id") or each["license"]["name"]
        licences.append(licence.removeprefix("License :: ").removeprefix("OSI Approved :: "))
    return licences or [NOTHING]


def is_admitted(statement: str, allowed: frozenset[str]) -> bool:
    """A name of the list, or an SPDX expression of them: one side of OR, both sides of AND."""
    if statement in allowed:
        return True
    algebra = Licensing()
    try:
        tree = algebra.parse(statement)
    except ExpressionError:
        return False

    def holds(node: Any) -> bool:
        if isinstance(node, algebra.OR):
            return any(holds(each) for each in node.args)
        if isinstance(node, algebra.AND):
            return all(holds(each) for each in node.args)
        if isinstance(node, LicenseWithExceptionSymbol):  # an exception only permits more
            return node.license_symbol.key in allowed
        return isinstance(node, LicenseSymbol) and node.key in allowed

    return holds(tree)


def refused_packages(
    bill: dict[str, Any], allowed: frozenset[str], exempt: Iterable[Exempt]
) -> dict[str, str]:
    """Packages that neither the list nor an entry admits, with what they state."""
    refusals: dict[str, str] = {}
    for component in bill["components"]:
        name, stated = canonicalize_name(component["name"]), statements(component)
        if all(is_admitted(each, allowed) for each in stated):
            continue
        if not any(entry.covers(name, stated) for entry in exempt):
            refusals[name] = " and ".join(stated)
    return refusals
