"""The rater's page talks to these: state, checks, answers, withdrawal."""

from __future__ import annotations

import json
from typing import Any

from django.utils import translation
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from listening import sessions
from listening.checks import check_named
from listening.models import Session
from listening.sessions import Answer, Refused
from listening.views.state import state_of

STATUS = {"unknown_trial": 404, "wrong_order": 409, "session_over": 409, "lease_lost": 409}
MALFORMED = "The page sent something we could not read. Reload it; your answers are kept."


class Malformed(ValueError):
    """What was sent cannot be meant; the message is for the rater."""


class JustificationShape(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=5000, allow_blank=True, trim_whitespace=False)
    keystrokes = serializers.IntegerField(min_value=0, max_value=10**6, required=False)
    pasted_chars = serializers.IntegerField(min_value=0, max_value=10**6, required=False)
    typing_ms = serializers.IntegerField(min_value=0, max_value=10**9, required=False)


class AnswerShape(serializers.Serializer[Any]):
    trial = serializers.CharField(max_length=20)
    answers = serializers.DictField(child=serializers.CharField(max_length=80), allow_empty=False)
    justification = JustificationShape(required=False, allow_null=True)
    latency_ms = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    plays = serializers.IntegerField(min_value=0, max_value=10**6)
    heard_fraction = serializers.FloatField(min_value=0, max_value=1)
    playback = serializers.DictField(child=serializers.JSONField(), required=False, default=dict)

    def validate_playback(self, value: dict[str, Any]) -> dict[str, Any]:
        if len(value) > 20 or len(str(value)) > 2000:
            raise serializers.ValidationError("too many playback facts")
        if not is_storable(value):
            raise serializers.ValidationError("playback facts that no database can keep")
        return value


ANSWER = AnswerShape()  # it keeps nothing of what it validates, and is slow to make


def is_storable(value: Any) -> bool:
    """Whether PostgreSQL can keep it as JSON: no NUL, no half of a surrogate pair, no infinity."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except ValueError:
        return False
    return "\\u0000" not in text


@method_decorator([never_cache, csrf_protect], name="dispatch")
class RaterView(APIView):
    """What all doors of a session share: the code in the address is the key, nothing else is."""

    authentication_classes = ()
    permission_classes = ()
    metadata_class = None  # OPTIONS describes nothing

    def session(self, code: str) -> Session:
        return sessions.session_named(code)

    def sent(self, request: Request) -> dict[str, Any]:
        """The JSON object that was sent."""
        if not isinstance(request.data, dict):
            raise Malformed(MALFORMED)
        return request.data

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, Session.DoesNotExist):
            message = "We do not know this session. Please use the link that you were given."
            return Response(_error("unknown_session", message), status=404)
        if isinstance(exc, serializers.ValidationError | RecursionError | Malformed):
            message = str(exc) if isinstance(exc, Malformed) else MALFORMED
            return Response(_error("malformed", message), status=422)
        response = super().handle_exception(exc)
        if isinstance(exc, APIException):  # a reader's own words may quote what was sent
            response.data = _error("malformed", MALFORMED)
        return response


class StateView(RaterView):
    def get(self, request: Request, code: str) -> Response:
        return Response(state_of(sessions.refresh(self.session(code))))


class CheckView(RaterView):
    def post(self, request: Request, code: str) -> Response:
        session = self.session(code)
        sent = self.sent(request)
        key, answer = str(sent.get("key")), sent.get("answer")
        asked = [check["key"] for check in session.study.checks]
        if key not in asked or not isinstance(answer, dict):
            raise Malformed(MALFORMED)
        try:
            result = check_named(key).result(answer)
        except ValueError as error:
            raise Malformed(str(error)) from None
        sessions.record_check(session, key, result)
        return Response(state_of(session))


class AnswerView(RaterView):
    def post(self, request: Request, code: str) -> Response:
        session = self.session(code)
        answer = _answer(ANSWER.run_validation(self.sent(request)))
        try:
            with translation.override(session.study.language):
                stored = sessions.record_answer(session, answer)
        except Refused as refused:
            state = state_of(sessions.refresh(session))
            status = STATUS.get(refused.code, 422)
            return Response(_error(refused.code, refused.message, state), status=status)
        body = {"stored": True, "repeat": stored.repeat, "state": state_of(session)}
        return Response(body, status=200 if stored.repeat else 201)


class WithdrawView(RaterView):
    def post(self, request: Request, code: str) -> Response:
        session = self.session(code)
        if self.sent(request).get("confirm") is not True:
            raise Malformed(MALFORMED)
        sessions.withdraw(session)
        session.refresh_from_db()
        return Response(state_of(session))


def _answer(data: dict[str, Any]) -> Answer:
    return Answer(
        trial=data["trial"],
        labels=data["answers"],
        justification=data.get("justification"),
        latency_ms=data["latency_ms"],
        plays=data["plays"],
        heard_fraction=data["heard_fraction"],
        playback=data["playback"],
    )


def _error(code: str, message: str, state: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"error": code, "message": message, "state": state}
