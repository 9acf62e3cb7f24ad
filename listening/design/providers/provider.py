"""A recruitment provider: parameters of its addresses, exits, and codes that it checks itself.

A new provider is one file in this package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple
from urllib.parse import quote, urlsplit

from listening.common.registry import Registry

if TYPE_CHECKING:
    from listening.design.sources import Source


@dataclass(frozen=True)
class Visit:
    """The ids in a rater's address: of the person, of this submission, of the project there."""

    participant: str = ""
    submission: str = ""
    project: str = ""


class Mistake(NamedTuple):
    """A field of a source that does not fit its provider: what is wrong, and the remedy."""

    field: str
    what: str
    remedy: str


class Provider:
    """What is known of a provider, with the names that it uses itself."""

    registry: ClassVar[Registry[Provider]] = Registry(
        "recruitment provider",
        "listening.design.providers",
        order=lambda each: each.order,
        group="earnest.providers",
    )
    key: ClassVar[str] = ""
    title: ClassVar[str]
    order: ClassVar[int] = 5  # in lists
    participant: ClassVar[str] = ""  # the parameter that names the person; "": none
    submission: ClassVar[str] = ""  # the parameter that names this submission: a secret of theirs
    project: ClassVar[str] = ""  # the parameter that names the project, HIT or campaign
    placeholders: ClassVar[Mapping[str, str]] = {}  # parameter -> what the address to enter has
    enter_as: ClassVar[str] = ""  # where the researcher enters the address
    one_id_per_person: ClassVar[bool] = False  # the same in all studies there
    own_ids: ClassVar[bool] = False  # the ids are the researcher's
    invitations: ClassVar[bool] = False  # people may have personal links
    found_without_name: ClassVar[bool] = False  # an address that names no source may be this one
    takes_codes: ClassVar[bool] = False  # raters enter their completion code there
    preview: ClassVar[str] = ""  # the submission id in a preview of the task
    secret: ClassVar[str] = ""  # what the researcher enters so that `code` can sign; "": nothing
    framed_by: ClassVar[tuple[str, ...]] = ()  # sites that show the entry page in a frame
    submit_parameter: ClassVar[str] = ""  # of the address: to which site the rater's form goes
    submit_path: ClassVar[str] = ""
    submit_sites: ClassVar[tuple[str, ...]] = ()  # the only ones that it may name

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.registry.add(cls)

    @classmethod
    def contract_problems(cls) -> list[str]:
        """What a plug-in's provider does against the contract."""
        wrong = [] if getattr(cls, "title", "") else ["title is empty; researchers read it"]
        if not isinstance(cls.order, int | float):
            wrong.append(f"order must be a number, is {cls.order!r}")
        names = (cls.participant, cls.submission, cls.project, *cls.placeholders)
        if bad := [name for name in names if not isinstance(name, str) or quote(name) != name]:
            wrong.append(f"{bad[0]!r} cannot be a parameter of an address")
        sites = (*cls.framed_by, *cls.submit_sites)
        if bad := [site for site in sites if not re.fullmatch(r"https://[\w*.-]+", str(site))]:
            wrong.append(f"{bad[0]!r} must be a site, such as https://www.example.org")
        if not isinstance(cls.code("complete", Visit("a", "b", "c"), "secret"), str):
            wrong.append("code must return a text")
        return wrong

    @classmethod
    def code(cls, outcome: str, visit: Visit, secret: str) -> str:
        """Return the code that the provider checks itself; "" if the researcher compares codes."""
        return ""

    @classmethod
    def submit_url(cls, named: str) -> str:
        """Return where the rater's form goes, by the site that the address names; "" for others."""
        try:
            parts = urlsplit(named)
            site = f"{parts.scheme}://{parts.netloc}"
        except ValueError:  # such as one half of [ ]
            return ""
        plain = parts.path in ("", "/") and not parts.query and not parts.fragment
        return f"{site}/{cls.submit_path}" if plain and site in cls.submit_sites else ""

    @classmethod
    def mistakes(cls, source: Source) -> Iterator[Mistake]:
        """Yield what does not fit this provider in a source of study.toml."""
        return iter(())
