"""Which clips are looked at, by the warnings about their audio."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from metrics.core.input_warnings import TITLES

ANY = "any"  # in place of a code: whatever the warning
ONLY, WITHOUT = "only", "without"  # how addresses and options call both


class NoSuchWarning(ValueError):
    """A code that no warning has."""


@dataclass(frozen=True)
class WarningFilter:
    """Clips with one of ``only`` (empty: all clips) and with none of ``without``, by codes."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.only or self.without)

    def keeps(self, codes: Collection[str]) -> bool:
        """Whether a clip with these warnings is looked at."""
        return (not self.only or _meets(self.only, codes)) and not _meets(self.without, codes)

    @property
    def query(self) -> str:
        """As the end of an address, with its question mark; empty for all clips."""
        pairs = [(ONLY, code) for code in self.only] + [(WITHOUT, code) for code in self.without]
        return f"?{urlencode(pairs)}" if pairs else ""

    @property
    def words(self) -> str:
        """Such as "only those with: clipped; without those with: any warning"."""
        told = [f"only those with: {_named(self.only)}"] * bool(self.only)
        return "; ".join(
            [*told, *[f"without those with: {_named(self.without)}"] * bool(self.without)]
        )


def warning_filter(
    only: Iterable[str], without: Iterable[str], also: Collection[str] = ()
) -> WarningFilter:
    """The filter of codes as a person gives them: repeated, or with commas between.

    ``also``: codes beside those of this house. Raises NoSuchWarning for one that there is not.
    """
    found = {}
    for name, given in ((ONLY, only), (WITHOUT, without)):
        codes = dict.fromkeys(code.strip() for each in given for code in each.split(","))
        found[name] = tuple(code for code in codes if code)
        known = (ANY, *TITLES, *sorted(set(also) - set(TITLES)))
        if unknown := [code for code in found[name] if code not in known]:
            raise NoSuchWarning(
                f"{name}: no warning is called {', '.join(unknown)}; there are {', '.join(known)}"
            )
    return WarningFilter(**found)


def codes_by_clip(stored: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, set[str]]:
    """The codes of all warnings of each audio file, from (sha256, warnings) of its scores."""
    codes: dict[str, set[str]] = {}
    for sha256, warnings in stored:
        codes.setdefault(sha256, set()).update(warnings)
    return codes


def _meets(wanted: Collection[str], codes: Collection[str]) -> bool:
    return bool(codes) if ANY in wanted else not set(codes).isdisjoint(wanted)


def _named(codes: Iterable[str]) -> str:
    return ", ".join(
        "any warning" if code == ANY else TITLES.get(code, code).lower() for code in codes
    )
