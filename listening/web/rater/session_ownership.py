"""Whether a browser may speak for a session: it began there, or its rater has shown who they are.

The address of a session opens it for listening on any device. Its completion code, comment and
withdrawal, and a session that is found by a Prolific id, need more: ids and addresses get about.
"""

from __future__ import annotations

import hmac

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from listening.models import Session
from listening.recruitment.prolific.signed_links import is_signed_for
from listening.sessions.lifecycle import Arrival

MEMORY_S = 90 * 86_400  # how long a browser is known again


def rater_cookie(link: str) -> str:
    """The name of the cookie that holds a rater's signed code in one study."""
    return f"{settings.HOST_COOKIE}rater-{link}"


def memory_of(session: Session) -> str:
    """What the page keeps in the browser's storage, in case its cookies are cleared."""
    return signing.dumps(session.rater.code, salt=_salt(session.study.link))


def rater_code_in(request: HttpRequest, link: str) -> str:
    """The code of the rater who began the study in this browser; "" for any other.

    By its cookie, else by what its page kept and sends as ``memory``.
    """
    code = str(request.get_signed_cookie(rater_cookie(link), "", max_age=MEMORY_S))
    form = request.method == "POST" and request.content_type != "application/json"
    memory = request.POST.get("memory", "") if form else ""
    if code or not memory:
        return code
    try:
        return str(signing.loads(memory, salt=_salt(link), max_age=MEMORY_S))
    except signing.BadSignature:
        return ""


def remember(response: HttpResponse, session: Session) -> None:
    """From now on this browser speaks for the session's rater."""
    response.set_signed_cookie(
        rater_cookie(session.study.link),
        session.rater.code,
        max_age=MEMORY_S,
        path=settings.SESSION_COOKIE_PATH,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def is_own(request: HttpRequest, session: Session) -> bool:
    """Whether this browser began the session, or has proved that it is its rater's."""
    return is_raters(request, session.study.link, session.rater.code)


def is_raters(request: HttpRequest, link: str, rater: str) -> bool:
    """Whether this browser is that of the rater with this code, in the study with this link."""
    code = rater_code_in(request, link)
    return bool(code) and hmac.compare_digest(code, rater)


def may_enter(request: HttpRequest, session: Session, arrival: Arrival, proof: str) -> bool:
    """Whether who arrives may take up a session that their ids name.

    By the browser's memory; by the submission's own id, which only the platform and its participant
    know; by Prolific's signature; or by ``proof``, the address of the listening page. The link of
    an invitation may have been passed on: it needs the email address or id of who was invited.
    """
    by_address = hmac.compare_digest(_code_in(proof).encode(), session.code.encode())
    return (
        is_own(request, session)
        or (not arrival.proofs and is_same_submission(session, arrival))
        or proof.strip().casefold() in [each.casefold() for each in arrival.proofs]
        or by_address
        or is_signed_for(
            request.GET.get("prolific_token", ""),
            path=request.path,
            prolific_id=arrival.prolific_id,
            session=arrival.prolific_session,
        )
    )


def is_same_submission(session: Session, arrival: Arrival) -> bool:
    """Whether the address has the submission's id, which only its participant knows."""
    return any(
        own and hmac.compare_digest(own.encode(), claimed.encode())
        for own, claimed in (
            (session.prolific_session, arrival.prolific_session),
            (session.external_session, arrival.external_session),
        )
    )


def _salt(link: str) -> str:
    return f"rater-memory/{link}"


def _code_in(address: str) -> str:
    """The session's code in what somebody pasted: the whole address, or the code alone."""
    return address.strip().rstrip("/").rpartition("/")[2]
