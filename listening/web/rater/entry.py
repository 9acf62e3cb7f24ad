"""How a rater comes to a study's door: what the address brings along, and from which source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.core import signing
from django.http import HttpRequest

from listening.access.rights import EDIT, rights_in
from listening.common.secret_seeds import secret_seed
from listening.design.providers import Visit
from listening.design.sources import INVITATION, PARAMETER, Source, source_of_arrival, sources_of
from listening.models import Invitation, Rater, Recruitment, Study
from listening.models.study import earlier_versions
from listening.recruitment.children import named_by
from listening.recruitment.prolific.signed_links import is_signed_for
from listening.sessions.lifecycle import Arrival
from listening.studies.invitations import invitation_named, proofs_of
from listening.web.rater.session_ownership import rater_code_in

PROLIFIC_KEYS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
PILOT_S = 3600
LONGEST_ID = 100  # characters of another source's ids
NO_SOURCE, NO_ID, LOOKING, NO_INVITATION = "no_source", "no_id", "looking", "no_invitation"
PILOT, PILOT_OVER = "pilot", "pilot_over"  # what a researcher's address carries, and its problem
SIGNED = "signed"  # ours: Prolific's signature was verified on arrival, for this person
SIGNED_S = 6 * 3600  # Prolific's own holds for two minutes, and consent is read with care
TOKEN = "prolific_token"
UNSIGNED = "unsigned"
OBJECT_ID = re.compile(r"[0-9a-f]{24}", re.IGNORECASE)  # what an id of Prolific's looks like
NO_IDS = ("undefined", "null", "none", "nan", "nil")  # what programs write for an id they lack


def refusal(study: Study, arrival: Arrival, carried: Mapping[str, str]) -> str:
    """Why nobody begins by this address: its `problem`; "" where one may.

    Where a study names sources, only those lead in; Prolific where it `takes_prolific`, and
    scripts of ours.
    """
    source = arrival.source
    if PILOT in carried:
        return "" if arrival.pilot else PILOT_OVER
    if lacks_signature(study, arrival, carried):
        return UNSIGNED
    if not study.sources:
        return ""
    if source is None:
        return "" if "PROLIFIC_PID" in carried or arrival.simulated else NO_SOURCE
    if INVITATION in carried and source.provider.invitations:
        return "" if arrival.external_id else NO_INVITATION
    wanted = source.parameters["participant"]
    if source.invited_only or (wanted and wanted not in carried):
        return NO_ID
    return "" if source.is_signed(carried, study.source_secret(source.key)) else NO_SOURCE


def is_preview(source: Source, carried: Mapping[str, str]) -> bool:
    """Whether somebody only looks at the task at the provider, and has not accepted it."""
    looking = source.provider.preview
    return bool(looking) and carried.get(source.parameters["submission"]) == looking


def lacks_signature(study: Study, arrival: Arrival, carried: Mapping[str, str]) -> bool:
    """Whether a participant of Prolific's comes unsigned to a study whose links are signed."""
    if not arrival.prolific_id or arrival.simulated or _is_signed(study, arrival, carried):
        return False
    states = (Recruitment.State.DRAFT, Recruitment.State.PUBLISHING, Recruitment.State.LIVE)
    at_prolific = study.recruitments.filter(state__in=states)
    if not at_prolific.filter(secure=True).exists():
        return False
    study_there = arrival.prolific_study
    unsigned = at_prolific.filter(named_by(study_there), secure=False)
    return not (study_there and unsigned.exists())


def verify_arrival(request: HttpRequest, study: Study, arrival: Arrival) -> dict[str, str]:
    """What the next pages carry in place of Prolific's signature, which is checked here.

    Empty where the address has none. NotSigned where it has one that does not hold.
    """
    token = request.GET.get(TOKEN, "")
    if request.method != "GET" or not token:
        return {}
    ids = {"prolific_id": arrival.prolific_id, "session": arrival.prolific_session}
    if not is_signed_for(token, path=request.path, **ids):
        raise NotSigned
    named = [study.key, arrival.prolific_id, arrival.prolific_session]
    return {SIGNED: signing.dumps(named, salt=SIGNED)}


class NotSigned(Exception):
    """The address has a signature that is not Prolific's, is too old, or is for another page."""


def _is_signed(study: Study, arrival: Arrival, carried: Mapping[str, str]) -> bool:
    try:
        named = signing.loads(carried.get(SIGNED, ""), salt=SIGNED, max_age=SIGNED_S)
    except signing.BadSignature:
        return False
    return bool(named == [study.key, arrival.prolific_id, arrival.prolific_session])


def takes_prolific(study: Study) -> bool:
    """Whether Prolific leads in: a study without sources, one that names it, or recruits there.

    Elsewhere anybody could get past quotas, invitations and signatures by a made-up id.
    """
    named = any(source.kind == "prolific" for source in sources_of(study.sources))
    there = study.recruitments.exclude(state=Recruitment.State.DISCARDED)
    return not study.sources or named or there.exists()


def carried_by(request: HttpRequest, study: Study) -> dict[str, str]:
    """What the address brought along and the form must bring back.

    Prolific's ids count where no other source is named: one person would be several by them.
    """
    params = {**request.GET.dict(), **request.POST.dict()}
    source = _source(request, study)
    by_prolific = takes_prolific(study) if source is None else source.kind == "prolific"
    sources = [source for source in sources_of(study.sources) if source.kind != "prolific"]
    others = {  # ids of other platforms, by their parameter: what an address holds instead of one
        parameter: source.placeholder_of(name)
        for source in sources
        for name, parameter in source.parameters.items()
        if parameter
    }
    signatures = {source.signature for source in sources if source.signature}
    names = (
        *(key for key in PROLIFIC_KEYS if by_prolific or key in others),
        *sorted((others.keys() | signatures) - {*PROLIFIC_KEYS}),
        "simulate",
        PILOT,
        "lang",
        PARAMETER,
        INVITATION,
        SIGNED,
    )
    words = {k: _printable(params.get(k, "")) for k in names}
    holes = ("{{", "${", "%SURVEY_CODE%")  # never filled in
    filled = {k: word for k, word in words.items() if word and not any(h in word for h in holes)}
    return {k: word for k, word in filled.items() if _may_be_id(k, word, others)}


def _may_be_id(name: str, word: str, others: Mapping[str, str]) -> bool:
    """Whether a word of the address can be the id that its parameter holds; all else may be."""
    if name in others:
        return word.lower() not in NO_IDS and word != others[name]
    return name not in PROLIFIC_KEYS or bool(OBJECT_ID.fullmatch(word))


def _printable(text: str) -> str:
    """Without what no id holds and no database keeps: controls, spaces around it, half a pair."""
    return "".join(c for c in text if c.isprintable()).strip()[:300]


def pilot_token(study: Study, user: Any) -> str:
    """Lets who has it try a draft: its pages sign one for who may."""
    return signing.dumps([study.key, user.pk], salt=PILOT)


def _is_pilot(token: str, study: Study) -> bool:
    """Whether who asked for the token may still change the study, and it is still a draft."""
    if not token or study.state != Study.State.DRAFT:
        return False
    try:
        key, account = signing.loads(token, salt=PILOT, max_age=PILOT_S)
    except (signing.BadSignature, ValueError, TypeError):
        return False
    if key != study.key or not isinstance(account, int):
        return False
    user = get_user_model().objects.filter(pk=account).first()
    return user is not None and EDIT in rights_in(study, user)


def arrival_of(request: HttpRequest, study: Study, carried: Mapping[str, str]) -> Arrival:
    if _is_pilot(carried.get(PILOT, ""), study):  # each begins anew, and fills nobody's quota
        device = _device(request.headers.get("User-Agent", ""))
        return Arrival(pilot=True, device=device, language=carried.get("lang", ""))
    memory = rater_code_in(request, study.link)
    known = Rater.objects.filter(code=memory).first() if memory else None
    source = _source(request, study)
    invitation = _invitation(source, carried, study)
    identity, visit = _identity(source, carried, study, invitation)
    return Arrival(
        browser_of=known.code if known else "",
        source=source,
        external_id=identity,
        external_session=visit.submission,
        external_project=visit.project,
        proofs=proofs_of(invitation) if invitation else (),
        prolific_id=carried.get("PROLIFIC_PID", "")[:64].lower(),  # they are hexadecimal
        prolific_study=carried.get("STUDY_ID", "")[:64].lower(),
        prolific_session=carried.get("SESSION_ID", "")[:64].lower(),
        device=_device(request.headers.get("User-Agent", "")),
        origin=_origin(request, study),
        agent=_signer(request) or _bare_client(request),
        scripts_ran=False,
        simulated=_simulated(carried.get("simulate", ""), study),
        earlier=_earlier(request, study),
        rater=None if carried.get("PROLIFIC_PID") or identity else known,
        language=carried.get("lang", ""),
    )


def _earlier(request: HttpRequest, study: Study) -> tuple[str, ...]:
    """By which raters this browser took part in versions that the study keeps out."""
    if not study.keeps_out_earlier:
        return ()
    codes = (rater_code_in(request, version.link) for version in earlier_versions(study))
    return tuple(code for code in codes if code)


def _source(request: HttpRequest, study: Study) -> Source | None:
    """The way in by which somebody comes, of those that the study names."""
    params = {**request.GET.dict(), **request.POST.dict()}
    from_prolific = bool(params.get("PROLIFIC_PID")) and takes_prolific(study)
    return source_of_arrival(study.sources, params.get(PARAMETER, ""), from_prolific=from_prolific)


def _invitation(
    source: Source | None, carried: Mapping[str, str], study: Study
) -> Invitation | None:
    if source is None or not source.provider.invitations:
        return None
    return invitation_named(study, source, carried.get(INVITATION, ""))


def _identity(
    source: Source | None, carried: Mapping[str, str], study: Study, invitation: Invitation | None
) -> tuple[str, Visit]:
    """Who comes by a source other than Prolific, and the ids of the address."""
    if source is None or source.kind == "prolific":
        return "", Visit()
    visit = source.visit(carried, LONGEST_ID)
    if source.provider.invitations and INVITATION in carried:
        visit = Visit(invitation.own_id, invitation.code) if invitation else Visit()
    elif source.invited_only or not source.is_signed(carried, study.source_secret(source.key)):
        return "", Visit()
    return source.identity(visit.participant, owner=study.owner_id, study=study.pk), visit


def _simulated(token: str, study: Study) -> bool:
    """Only who runs the server can sign a token; simulated raters are marked for good."""
    try:
        return bool(token) and signing.loads(token, salt="simulate", max_age=3600) == study.key
    except signing.BadSignature:
        return False


def _signer(request: HttpRequest) -> str:
    """The program that has signed the request with its name; mostly none."""
    return _printable(request.headers.get("Signature-Agent", "")).strip('"')[:200]


def _bare_client(request: HttpRequest) -> str:
    """The name of an HTTP client that is no browser: each browser sends a language, and over HTTPS
    the newer ones say what they fetch a page for. "" where a browser has asked.
    """
    name = _printable(request.headers.get("User-Agent", ""))
    if not name.startswith(("Mozilla/", "Opera/")):
        return name[:200] or "an HTTP client without a name"
    newer = request.is_secure() and "Chrome/" in name
    if "Accept-Language" not in request.headers or (
        newer and "Sec-Fetch-Mode" not in request.headers
    ):
        return f"an HTTP client, not {name}"[:200]
    return ""


def _origin(request: HttpRequest, study: Study) -> str:
    """The same for the same address and browser in one study, and only while our key is known."""
    agent = request.headers.get("User-Agent", "")
    return secret_seed("origin", study.pk, request.META.get("CLIENT_ADDRESS", ""), agent)[:24]


def _device(agent: str) -> str:
    if "iPad" in agent or ("Android" in agent and "Mobile" not in agent):
        return "tablet"
    return "phone" if "Mobi" in agent else "desktop"
