"""The recruitment sources of a study (`[[sources]]`), each by a provider, with quotas and exits.

Each has an address of its own, says which parameters of the address name the participant, and
where the rater goes at the end. A study that names no source is open by its link and by Prolific.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

from listening.common.plugins import class_named
from listening.design.providers import Provider, Visit

PARAMETER = "source"  # of the study's address: which source it is
INVITATION = "invitation"  # of the address of somebody who is invited
HOLES = ("participant", "submission", "project", "code", "signature")  # of a return address
PLACEHOLDER = "…"  # in the address to enter, for an id that no provider fills in
SPARE = {"needs_review": "complete"}  # outcome -> the one whose code and address serve it too
IDS = ("participant", "submission", "project")  # fields of a Visit, each from one parameter


@dataclass(frozen=True)
class Source:
    """One recruitment source, as study.toml names it."""

    key: str
    kind: str
    title: str = ""
    quota: int = 0  # sessions that may come this way; 0: as many as there is room for
    participant: str = ""
    submission: str = ""
    project: str = ""
    signature: str = ""  # the parameter that holds `sign` of the ids; "": addresses are not signed
    invited_only: bool = False  # who has no link of their own does not come in
    own_ids: bool = False  # the ids are the researcher's: the same person in every source
    once_per_browser: bool = False  # where one rater started, nobody with another id does
    return_urls: Mapping[str, str] = field(default_factory=dict)  # outcome -> address, with `HOLES`
    codes: Mapping[str, str] = field(default_factory=dict)  # outcome -> code that all share

    @property
    def provider(self) -> type[Provider]:
        return class_named(Provider.registry, self.kind)

    @property
    def name(self) -> str:
        return self.title or self.provider.title

    @property
    def parameters(self) -> dict[str, str]:
        """Field of a Visit -> the parameter of the address that holds it; "" where none does."""
        return {name: getattr(self, name) or getattr(self.provider, name) for name in IDS}

    @property
    def has_own_ids(self) -> bool:
        return self.own_ids or self.provider.own_ids

    @property
    def takes_codes_at(self) -> str:
        """The provider at which raters enter their codes; "" where they do not."""
        return self.provider.title if self.provider.takes_codes else ""

    @property
    def secret_title(self) -> str:
        """What the researcher enters so that codes and addresses are signed; "": nothing."""
        signs = self.signature or any("{signature}" in url for url in self.return_urls.values())
        return self.provider.secret or ("shared secret" if signs else "")

    def identity(self, participant: str, *, owner: int, study: int) -> str:
        """Whose id it is, and the id: the same text for the same person, and for nobody else.

        Only the researcher's own ids are known in several sources. Those of a platform that gives
        a person one id for good are known in each study there, all others in this source alone.
        """
        return self._issuer(owner, study) + participant if participant else ""

    def participant_in(self, identity: str, *, owner: int, study: int) -> str:
        """The id as the source gave it; "" for another source's."""
        issuer = self._issuer(owner, study)
        return identity.removeprefix(issuer) if identity.startswith(issuer) else ""

    def _issuer(self, owner: int, study: int) -> str:
        if self.has_own_ids:
            return f"own/{owner}/"
        return f"{self.kind}/" if self.provider.one_id_per_person else f"source/{study}/{self.key}/"

    def placeholder_of(self, name: str) -> str:
        """What the address to enter holds in place of an id: a field of a Visit."""
        own = self.provider.placeholders.get(getattr(self.provider, name), "")
        return own or (PLACEHOLDER if self._is_added(name) else "")

    def _is_added(self, name: str) -> bool:
        """Whether the study file names a parameter for an id that the provider has none for."""
        return bool(getattr(self, name) and not getattr(self.provider, name))

    def address(self, landing: str) -> str:
        """What the researcher gives out or enters at the platform."""
        own_names = {getattr(self.provider, name): self.parameters[name] for name in IDS}
        filled = [
            f"{own_names.get(name, name)}={placeholder}"
            for name, placeholder in self.provider.placeholders.items()
        ]
        added = [
            f"{getattr(self, name)}={self.placeholder_of(name)}"
            for name in IDS
            if self._is_added(name)
        ]
        signed = [f"{self.signature}=HMAC-SHA256"] if self.signature else []
        return f"{landing}?{'&'.join([f'{PARAMETER}={self.key}', *filled, *added, *signed])}"

    def visit(self, carried: Mapping[str, str], longest: int | None = None) -> Visit:
        """The ids that an address brought along."""
        return Visit(**{n: carried.get(p, "")[:longest] for n, p in self.parameters.items()})

    def sign(self, visit: Visit, secret: str, outcome: str = "") -> str:
        """HMAC-SHA256, in hexadecimal, of the ids and the outcome, one a line; "" without a secret.

        A missing submission has no line in the signature of an arrival. Before an outcome it has an
        empty one where the source names a parameter for it: the outcome is always the third line.
        """
        lines = [visit.participant]
        if visit.submission or (outcome and self.parameters["submission"]):
            lines.append(visit.submission)
        if outcome:
            lines.append(outcome)
        text = "\n".join(lines)
        return hmac.digest(secret.encode(), text.encode(), "sha256").hex() if secret else ""

    def is_signed(self, carried: Mapping[str, str], secret: str) -> bool:
        """Whether an address has the right signature; True where the source asks for none."""
        if not self.signature:
            return True
        right, given = self.sign(self.visit(carried), secret), carried.get(self.signature, "")
        return bool(right) and hmac.compare_digest(right.encode(), given.strip().lower().encode())

    def code(self, outcome: str, visit: Visit | None = None, secret: str = "") -> str:
        """The code that all who end so are given, or that the provider checks; mostly "".

        Where it is "", each session gets one of its own.
        """
        shared = self.codes.get(outcome) or self.codes.get(SPARE.get(outcome, ""), "")
        return shared or self.provider.code(outcome, visit or Visit(), secret)

    def return_url(self, outcome: str, visit: Visit, *, code: str, secret: str = "") -> str:
        """Where the rater goes at such an end; "" where there is nowhere to go."""
        filled = self.return_urls.get(outcome) or self.return_urls.get(SPARE.get(outcome, ""), "")
        signature = self.sign(visit, secret, outcome) if "{signature}" in filled else ""
        values = (*(getattr(visit, name) for name in IDS), code, signature)
        for name, value in zip(HOLES, values, strict=True):
            filled = filled.replace("{" + name + "}", quote(value, safe=""))
        return filled

    def as_dict(self) -> dict[str, Any]:
        return {k: v for k, v in asdict(self).items() if v not in ("", 0, False, {})}


def sources_of(stored: Sequence[Mapping[str, Any]]) -> list[Source]:
    return [Source(**each) for each in stored]


def source_named(stored: Sequence[Mapping[str, Any]], key: str) -> Source | None:
    return next((each for each in sources_of(stored) if each.key == key), None)


def source_of_arrival(
    stored: Sequence[Mapping[str, Any]], key: str, *, from_prolific: bool
) -> Source | None:
    """The source that an address names; without a name Prolific's, else the plain link."""
    if key:
        return source_named(stored, key)
    kind = "prolific" if from_prolific else "link"
    return next((each for each in sources_of(stored) if each.kind == kind), None)
