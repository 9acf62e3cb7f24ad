"""The doors of the rater's page: state, checks, questions, answers, skips, comment, withdrawal.

Each goes one way: the session is found, what was sent is read, the rules store it or raise, and the
reply is the session's state. What is raised on the way becomes a reply in `refusal`, nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views import View
from django.views.decorators.cache import never_cache
from rest_framework import serializers

from listening import sessions, stages
from listening.answers import Answer
from listening.design.questionnaires import Incorrect
from listening.languages import speaking
from listening.methods.method import LONGEST_LABEL
from listening.models import Session
from listening.refusals import Refused
from listening.views.ownership import is_own
from listening.views.state import state_of

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


class JustificationShape(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=5000, allow_blank=True, trim_whitespace=False)
    keystrokes = serializers.IntegerField(min_value=0, max_value=10**6, required=False)
    pasted_chars = serializers.IntegerField(min_value=0, max_value=10**6, required=False)
    typing_ms = serializers.IntegerField(min_value=0, max_value=10**9, required=False)


class AnswerShape(serializers.Serializer[Any]):
    trial = serializers.CharField(max_length=20)
    answers = serializers.DictField(
        child=serializers.CharField(max_length=LONGEST_LABEL), allow_empty=False
    )
    justification = JustificationShape(required=False, allow_null=True)
    latency_ms = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    plays = serializers.IntegerField(min_value=0, max_value=10**6)
    heard_fraction = serializers.FloatField(min_value=0, max_value=1)
    playback = serializers.DictField(child=serializers.JSONField(), required=False, default=dict)

    def validate_playback(self, value: dict[str, Any]) -> dict[str, Any]:
        if len(value) > 40 or len(str(value)) > 4000:
            raise serializers.ValidationError("too many playback facts")
        if not is_storable(value):
            raise serializers.ValidationError("playback facts that no database can keep")
        return value


class SkipShape(serializers.Serializer[Any]):
    trial = serializers.CharField(max_length=20)
    reason = serializers.ChoiceField(choices=("load", "decode"))
    playback = serializers.DictField(child=serializers.JSONField(), required=False, default=dict)

    validate_playback = AnswerShape.validate_playback


ANSWER = AnswerShape()  # it keeps nothing of what it validates, and is slow to make
SKIP = SkipShape()


def is_storable(value: Any) -> bool:
    """Whether PostgreSQL can keep it as JSON: no NUL, no half of a surrogate pair, no infinity."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except ValueError:
        return False
    return "\\u0000" not in text.replace("\\\\", "")  # an escaped backslash begins no escape


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
        """The session, which is kept: a refusal is said in its language, with its state."""
        self.session = sessions.session_named(code)
        return self.session

    def owns(self, session: Session | None) -> bool:
        return session is not None and is_own(self.request, session)

    def demand_own(self, session: Session) -> None:
        """What cannot be undone is for the browser in which the session began."""
        if not self.owns(session):
            raise Malformed(OTHER_BROWSER, 403)

    def state(self, session: Session) -> HttpResponse:
        return replied(state_of(session, own=self.owns(session)))


class StateView(RaterView):
    def get(self, request: HttpRequest, code: str) -> HttpResponse:
        return self.state(sessions.refresh(self.session_named(code)))


class CheckView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session, attempt = self.session_named(code), sent(request)
        answer = attempt.get("answer")
        if not isinstance(answer, dict):
            raise Malformed
        stored = stages.record_check(session, str(attempt.get("key")), answer)
        return self.state(sessions.refresh(stored))


class QuestionnaireView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session, form = self.session_named(code), sent(request)
        answers = form.get("answers")
        if not isinstance(answers, dict) or not is_storable(answers):
            raise Malformed
        stored = stages.record_questionnaire(session, str(form.get("key")), answers)
        return self.state(sessions.refresh(stored))


class AnswerView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session = self.session_named(code)
        answer = answer_in(sent(request))
        stored = sessions.record_answer(session, answer)
        feedback = _feedback(stored.feedback, session.spoken)
        body = {"stored": True, "repeat": stored.repeat, "feedback": feedback}
        state = state_of(session, own=is_own(request, session))
        return replied({**body, "state": state}, 200 if stored.repeat else 201)


class SkipView(RaterView):
    """A clip that this device cannot play is passed over."""

    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session = self.session_named(code)
        skip = SKIP.run_validation(sent(request))
        sessions.skip(session, skip["trial"], skip["reason"], skip["playback"])
        return self.state(session)


class CommentView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session, text = self.session_named(code), sent(request).get("text")
        if not isinstance(text, str) or not is_storable(text):
            raise Malformed
        self.demand_own(session)
        return self.state(stages.record_comment(session, text))


class WithdrawView(RaterView):
    def post(self, request: HttpRequest, code: str) -> HttpResponse:
        session = self.session_named(code)
        if sent(request).get("confirm") is not True:
            raise Malformed
        self.demand_own(session)
        sessions.withdraw(session)
        session.refresh_from_db()
        return self.state(session)


def sent(request: HttpRequest) -> dict[str, Any]:
    """The JSON object that was sent."""
    if request.content_type != "application/json":
        raise Malformed(status=415)
    try:
        data = json.loads(request.body.decode(), parse_constant=_no_number)
    except RequestDataTooBig:
        raise Malformed(status=413) from None
    except ValueError:
        raise Malformed(status=400) from None
    if not isinstance(data, dict):
        raise Malformed
    return data


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def answer_in(data: dict[str, Any]) -> Answer:
    fields = ANSWER.run_validation(data)
    return Answer(
        trial=fields["trial"],
        labels=fields["answers"],
        justification=fields.get("justification"),
        latency_ms=fields["latency_ms"],
        plays=fields["plays"],
        heard_fraction=fields["heard_fraction"],
        playback=fields["playback"],
    )


def replied(body: dict[str, Any], status: int = 200) -> HttpResponse:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return HttpResponse(text, status=status, content_type="application/json")


REFUSALS = (
    Session.DoesNotExist,
    serializers.ValidationError,
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
                body = _error(error.code, message, state_of(sessions.refresh(session), own=own))
                return replied(body, STATUS.get(error.code, 422))
            case stages.AnsweredAlready():
                message = _("These questions are answered already. The page goes on.")
                return replied(_error("wrong_order", message, state_of(session, own=own)), 409)
            case Incorrect():
                message = _("Some questions need another look.")
                return replied({**_error("malformed", message), "fields": error.said(_)}, 422)
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
