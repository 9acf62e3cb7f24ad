"""The API of the rater's page: state, checks, questions, answers, skips, comment, withdrawal.

Each endpoint loads the session, parses the request, lets the rules store it or raise, and replies
with the session's state. `refusal` alone turns exceptions into replies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views import View
from django.views.decorators.cache import never_cache
from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import encode
from msgspec.structs import asdict

from listening.common.input_limits import RATER_JSON_BYTES
from listening.common.languages import speaking
from listening.common.plain_json import is_storable, read_json
from listening.design.questionnaires import Incorrect
from listening.methods.method import LONGEST_LABEL
from listening.models import Session
from listening.sessions import lifecycle, stages
from listening.sessions.answers import Answer, StoredAnswer
from listening.sessions.playback_facts import known_facts
from listening.sessions.task_rules import Refused
from listening.web.rater.session_ownership import is_own
from listening.web.rater.state import session_state

STATUS = {"unknown_trial": 404} | dict.fromkeys(
    ("wrong_order", "session_over", "lease_lost", "not_ready"), 409
)
MALFORMED = gettext_noop(
    "The page sent something we could not read. Reload it; your answers are kept."
)
OTHER_BROWSER = gettext_noop(
    "This can only be done in the browser in which you began. If you came from Prolific, open the "
    "study there once more."
)


class Malformed(ValueError):
    """What was sent cannot be meant; the message is for the rater, in English."""

    def __init__(self, message: str = MALFORMED, status: int = 422) -> None:
        super().__init__(message)
        self.status = status


Text = Annotated[str, Meta(max_length=5000)]
Milliseconds = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Code = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z_-]{1,20}\Z")]
Label = Annotated[str, Meta(min_length=1, max_length=LONGEST_LABEL)]


class JustificationPayload(Struct):
    """A reason, and how it was typed."""

    text: Text
    keystrokes: Annotated[int, Meta(ge=0, le=10**6)] | None = None
    pasted_chars: Annotated[int, Meta(ge=0, le=10**6)] | None = None
    typing_ms: Annotated[int, Meta(ge=0, le=10**9)] | None = None


class AnswerPayload(Struct):
    """What a page may send for a trial."""

    trial: Code
    answers: Annotated[dict[str, Label], Meta(min_length=1)]
    latency_ms: Milliseconds
    plays: Annotated[int, Meta(ge=0, le=10**6)]
    heard_fraction: Annotated[float, Meta(ge=0, le=1)]
    justification: JustificationPayload | None = None
    playback: dict[str, Any] = {}

    def __post_init__(self) -> None:
        reason = self.justification.text if self.justification else ""
        self.playback = _checked_playback(self.playback)
        if not is_storable([self.answers, reason]):
            raise ValueError("words that no database can keep")


class SkipPayload(Struct):
    """What a page may send of a clip that it cannot play."""

    trial: Code
    reason: Literal["load", "decode"]
    playback: dict[str, Any] = {}

    def __post_init__(self) -> None:
        self.playback = _checked_playback(self.playback)


def _checked_playback(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that are stored; ValueError where they are too many, or no JSON of a page."""
    if len(facts) > 40 or len(str(facts)) > 4000:
        raise ValueError("too many playback facts")
    if not is_storable(facts):
        raise ValueError("playback facts that no database can keep")
    return known_facts(facts)


@method_decorator(never_cache, name="dispatch")
class RaterView(View):
    """What all doors of a session share: the code in the address is the key, nothing else is."""

    http_method_names = ("get", "head", "post")  # OPTIONS describes nothing
    session: Session | None = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        except REFUSALS as error:
            return refusal(error, self.session, own=self.owns(self.session))

    def session_named(self, code: str) -> Session:
        """The session; it is remembered, since a refusal needs its language and its state."""
        self.session = lifecycle.session_named(code)
        return self.session

    def owns(self, session: Session | None) -> bool:
        return session is not None and is_own(self.request, session)

    def demand_own(self, session: Session) -> None:
        """What cannot be undone is for the browser in which the session began."""
        if not self.owns(session):
            raise Malformed(OTHER_BROWSER, 403)

    def state(self, session: Session) -> HttpResponse:
        return replied(session_state(session, own=self.owns(session)))


class StateView(RaterView):
    def get(self, request: HttpRequest, code: str) -> HttpResponse:
        return self.state(lifecycle.refresh(self.session_named(code)))


class CheckView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session, attempt = self.session_named(code), json_body(request)
        answer = attempt.get("answer")
        if not isinstance(answer, dict):
            raise Malformed
        stored = stages.record_check(session, str(attempt.get("key")), answer)
        return self.state(lifecycle.refresh(stored))


class QuestionnaireView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session, form = self.session_named(code), json_body(request)
        answers = form.get("answers")
        if not isinstance(answers, dict):
            raise Malformed
        stored = stages.record_questionnaire(session, str(form.get("key")), answers)
        return self.state(lifecycle.refresh(stored))


class AnswerView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session = self.session_named(code)
        answer = answer_of(convert(json_body(request), AnswerPayload))
        stored = lifecycle.record_answer(session, answer)
        state = session_state(session, own=is_own(request, session))
        return replied(stored_facts(stored, state), 200 if stored.repeat else 201)


class SkipView(RaterView):
    """A clip that this device cannot play is passed over."""

    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session = self.session_named(code)
        skip = convert(json_body(request), SkipPayload)
        lifecycle.skip(session, skip.trial, skip.reason, skip.playback)
        return self.state(session)


class LoadedView(RaterView):
    """The page says that its scripts run, as those of every browser do."""

    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session = self.session_named(code)
        json_body(request)
        lifecycle.note_scripts(session)
        return replied({"stored": True})


class CommentView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session, text = self.session_named(code), json_body(request).get("text")
        if not isinstance(text, str):
            raise Malformed
        self.demand_own(session)
        return self.state(stages.record_comment(session, text))


class WithdrawView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session = self.session_named(code)
        if json_body(request).get("confirm") is not True:
            raise Malformed
        self.demand_own(session)
        lifecycle.withdraw(session)
        session.refresh_from_db()
        return self.state(session)


def json_body(request: HttpRequest) -> dict[str, Any]:
    """The JSON object that was sent."""
    if request.content_type != "application/json":
        raise Malformed(status=415)
    try:
        data = read_json(request.body, most=RATER_JSON_BYTES)
    except RequestDataTooBig:
        raise Malformed(status=413) from None
    except ValueError:
        raise Malformed(status=400) from None
    if not isinstance(data, dict) or not is_storable(data):
        raise Malformed
    return data


def answer_of(shape: AnswerPayload) -> Answer:
    return Answer(
        trial=shape.trial,
        labels=shape.answers,
        justification=asdict(shape.justification) if shape.justification else None,
        latency_ms=shape.latency_ms,
        plays=shape.plays,
        heard_fraction=shape.heard_fraction,
        playback=shape.playback,
    )


def stored_facts(stored: StoredAnswer, state: dict[str, Any]) -> dict[str, Any]:
    """What the page is told of an answer that is stored."""
    feedback = _feedback(stored.feedback, stored.sitting.language)
    return {"stored": True, "repeat": stored.repeat, "feedback": feedback, "state": state}


def replied(body: dict[str, Any], status: int = 200) -> HttpResponse:
    return HttpResponse(encode(body), status=status, content_type="application/json")


REFUSALS = (
    Session.DoesNotExist,
    ValidationError,
    RecursionError,  # JSON nested too deeply
    Malformed,
    Incorrect,
    Refused,
    stages.NotAsked,
    stages.Incomplete,
)


def refusal(error: Exception, session: Session | None, *, own: bool) -> HttpResponse:
    """What the page is told of an exception: code, sentence, and the state where it must go on."""
    if session is None or isinstance(error, Session.DoesNotExist):
        message = _("We do not know this session. Please use the link that you were given.")
        return replied(_error("unknown_session", message), 404)
    with speaking(session.spoken):
        match error:
            case Refused():
                message = _(error.message) % error.numbers
                body = _error(
                    error.code, message, session_state(lifecycle.refresh(session), own=own)
                )
                return replied(body, STATUS.get(error.code, 422))
            case stages.AnsweredAlready():
                message = _("These questions are answered already. The page goes on.")
                return replied(_error("wrong_order", message, session_state(session, own=own)), 409)
            case Incorrect():
                message = _("Some questions need another look.")
                return replied(
                    {**_error("malformed", message), "fields": error.translated_fields(_)}, 422
                )
            case Malformed():
                return replied(_error("malformed", _(str(error))), error.status)
            case stages.Incomplete():
                return replied(_error("malformed", _(str(error))), 422)
        return replied(_error("malformed", _(MALFORMED)), 422)  # others may quote what was sent


def _feedback(stored: Mapping[str, Any] | None, language: str) -> dict[str, Any] | None:
    """What is said after a training trial: the study's words, else ours."""
    if stored is None:
        return None
    with speaking(language):
        words = _(", ").join(_(word) for word in stored["expected"])
        ours = {
            True: _("Yes, that is right."),
            False: _("Most listeners answer: %(answer)s.") % {"answer": words},
            None: _("Thank you."),
        }
        return {"right": stored["right"], "text": stored["text"] or ours[stored["right"]]}


def _error(code: str, message: str, state: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"error": code, "message": message, "state": state}
