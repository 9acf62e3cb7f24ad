"""Sessions as they stand, and what a person decides about them."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.ratings.cells import csv_lines, in_pieces
from analysis.ratings.study_scores import spread_out
from listening.access.rights import ANALYSE, EDIT
from listening.selectors import session_columns, session_rows
from listening.studies import StudyError
from listening.web.session_decisions import decide
from rest.base import ApiView, sent
from rest.payloads import Decided, Decision
from rest.schema_decorator import describe
from rest.table_formats import CSV, FORM, JSON, form_of, json_array, note_taken, table_object
from rest.tokens import RATINGS

FORMS = {"json": JSON, "csv": CSV}


class Sessions(ApiView):
    scopes = {"GET": RATINGS}

    @describe(
        "Get sessions",
        {(200, JSON): OpenApiTypes.OBJECT, (200, CSV): OpenApiTypes.STR},
        parameters=[FORM(FORMS)],
        problems=(404, 406),
    )
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Return all sessions in order of arrival, with status, checks and questionnaires.

        Sessions are pseudonymous, without participant ids or codes that open a session.
        """
        study, form = self.study(key, ANALYSE), form_of(request, FORMS)
        note_taken(study, self.by, f"sessions.{form}")
        rows = map(spread_out, session_rows(key))
        columns = session_columns(key)
        if form == "csv":
            lines = csv_lines(rows, columns)
        else:
            lines = table_object(columns, "sessions", json_array(rows))
        return StreamingHttpResponse(in_pieces(lines), content_type=FORMS[form])


class Decisions(ApiView):
    @describe("Reject or restore sessions", Decided, request=Decision)
    def post(self, request: Request, key: str) -> Response:
        """Ratings of rejected sessions are kept but do not count, and their slots reopen."""
        study, body = self.study(key, EDIT), sent(Decision, request)
        numbers = {int(name[1:]) for name in body["sessions"]}
        known = study.sessions.filter(pk__in=numbers, pilot=False)
        chosen = list(known.values_list("pk", flat=True))
        if len(chosen) < len(numbers):
            missing = sorted(numbers - set(chosen))
            names = ", ".join(f"s{pk}" for pk in missing[:5])
            raise StudyError(f"Nothing was changed. These sessions are not in this study: {names}.")
        judged = decide(study, chosen, body["decision"], body["reason"], by=self.by)
        outcome: dict[str, Any] = {"raters": list(judged.raters)}
        outcome |= {name: getattr(judged, name) for name in ("left_as_they_were", "not_counting")}
        return Response(outcome)
