"""The ways into a study (`[[sources]]`): a link, a platform, a panel; with quotas and codes.

Each has an address of its own, says which parameters of the address name the participant, and
where the rater goes at the end. A study that names no source is open by its link and by Prolific.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

PARAMETER = "source"  # of the study's address: which way in it is
INVITATION = "invitation"  # of the address of somebody who is invited
PROLIFIC_PLACEHOLDERS = {
    "PROLIFIC_PID": "{{%PROLIFIC_PID%}}",
    "STUDY_ID": "{{%STUDY_ID%}}",
    "SESSION_ID": "{{%SESSION_ID%}}",
}


@dataclass(frozen=True)
class Kind:
    """What is known of a platform: parameters that it fills in, and what it asks to write."""

    title: str
    participant: str = ""  # the parameter that names the participant; "": none
    submission: str = ""  # the parameter that names this sitting, known to them alone
    holes: Mapping[str, str] = field(default_factory=dict)  # parameter -> what its address holds
    everywhere: bool = False  # the id names the same person in all studies on the platform
    own_ids: bool = False
    preview: str = ""  # the submission id of somebody who only looks


KINDS = {
    "link": Kind("Plain link"),
    "prolific": Kind("Prolific", "PROLIFIC_PID", "SESSION_ID", PROLIFIC_PLACEHOLDERS),
    "panel": Kind("Own panel", "participant", holes={"participant": "YOUR-ID"}, own_ids=True),
    "mturk": Kind(
        "Mechanical Turk",
        "workerId",
        "assignmentId",
        {"workerId": "${workerId}", "assignmentId": "${assignmentId}"},
        everywhere=True,
        preview="ASSIGNMENT_ID_NOT_AVAILABLE",
    ),
    # Connect adds its parameters to the address by itself.
    "connect": Kind("CloudResearch Connect", "participantId", "assignmentId", everywhere=True),
    "sona": Kind("Sona", "id", holes={"id": "%SURVEY_CODE%"}),
    "other": Kind("Another platform", "participant", holes={"participant": "…"}),
}
HOLES = ("participant", "submission", "code")  # of a return address, in braces
SPARE = {"needs_review": "complete"}  # outcome -> the one whose code and address serve it too


@dataclass(frozen=True)
class Source:
    """One way into a study, as study.toml names it."""

    key: str
    kind: str
    title: str = ""
    quota: int = 0  # sessions that may come this way; 0: as many as there is room for
    participant: str = ""
    submission: str = ""
    invited_only: bool = False  # who has no link of their own does not come in
    own_ids: bool = False  # the ids are the researcher's: the same person in every source
    return_urls: Mapping[str, str] = field(default_factory=dict)  # outcome -> address, with `HOLES`
    codes: Mapping[str, str] = field(default_factory=dict)  # outcome -> code that all share

    @property
    def facts(self) -> Kind:
        return KINDS[self.kind]

    @property
    def name(self) -> str:
        return self.title or self.facts.title

    @property
    def participant_parameter(self) -> str:
        return self.participant or self.facts.participant

    @property
    def submission_parameter(self) -> str:
        return self.submission or self.facts.submission

    @property
    def has_own_ids(self) -> bool:
        return self.own_ids or self.facts.own_ids

    @property
    def takes_invitations(self) -> bool:
        return self.kind == "panel"

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
        return f"{self.kind}/" if self.facts.everywhere else f"source/{study}/{self.key}/"

    def address(self, landing: str) -> str:
        """What the researcher gives out or enters at the platform."""
        named = {
            self.facts.participant: self.participant_parameter,
            self.facts.submission: self.submission_parameter,
        }
        holes = {named.get(name, name): hole for name, hole in self.facts.holes.items()}
        words = [f"{PARAMETER}={self.key}", *(f"{name}={hole}" for name, hole in holes.items())]
        return f"{landing}?{'&'.join(words)}"

    def code(self, outcome: str) -> str:
        """The code that all who end so are given; "" where each gets one of their own."""
        return self.codes.get(outcome) or self.codes.get(SPARE.get(outcome, ""), "")

    def way_back(self, outcome: str, *, participant: str, submission: str, code: str) -> str:
        """Where the rater goes at such an end; "" where there is nowhere to go."""
        filled = self.return_urls.get(outcome) or self.return_urls.get(SPARE.get(outcome, ""), "")
        for name, value in zip(HOLES, (participant, submission, code), strict=True):
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
    """The way in that an address names; without a name Prolific's, else the plain link."""
    if key:
        return source_named(stored, key)
    kind = "prolific" if from_prolific else "link"
    return next((each for each in sources_of(stored) if each.kind == kind), None)
