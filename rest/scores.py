"""Metrics: runs asked for and followed, scores taken out."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.ratings.cells import in_pieces
from listening.access.rights import ANALYSE, LOOK
from listening.design.studyfile.problems import did_you_mean
from listening.models.study_log import note
from metrics.core.input_warnings import TITLES
from metrics.core.metric import Metric
from metrics.jobs import score_shard
from metrics.scoring import runs
from metrics.scoring.clip_warnings import ANY, ONLY, WITHOUT
from metrics.scoring.presets import Choice, PresetError, preset
from metrics.web import page, score_tables
from metrics.web.views import requested_filter, scoring_runs
from rest.base import ApiView, sent
from rest.payloads import Score
from rest.schema_decorator import describe
from rest.table_formats import CSV, FORM, JSON, form_of, json_array, note_taken, table_object

JSONL = "application/jsonl"
FORMS = {"json": JSON, "csv": CSV, "jsonl": JSONL}
MOST_RUNS = 100
WARNED = [
    OpenApiParameter(
        name, str, many=True, description=f"{words} this warning: {', '.join((ANY, *TITLES))}."
    )
    for name, words in ((ONLY, "Only clips with"), (WITHOUT, "Exclude clips with"))
]


class ScoringRuns(ApiView):
    @describe("List metric runs", OpenApiTypes.OBJECT, problems=(404,))
    def get(self, request: Request, key: str) -> Response:
        """Return the 100 newest runs with their progress, newest first."""
        self.study(key, LOOK)
        return Response({"runs": [page.run_state(run) for run in scoring_runs(key)[:MOST_RUNS]]})

    @describe("Start a metric run", OpenApiTypes.OBJECT, status=202, request=Score)
    def post(self, request: Request, key: str) -> Response:
        """Score clips that have no score yet. You can safely repeat this request."""
        study, choices = self.study(key, ANALYSE), _choices(sent(Score, request))
        run = runs.start_run(study.pk, key, choices, score_shard.delay, by=self.by)
        note(study, "scored", self.by, metrics=[choice.metric for choice in choices])
        return Response(page.run_state(run), status=202)


def _choices(body: dict[str, Any]) -> list[Choice]:
    if body.get("preset"):
        try:
            return preset(body["preset"]).choices(judges=body["judges"])
        except PresetError as error:
            raise ValidationError({"preset": str(error)}) from None
    choices = [Choice(each["metric"], each["parameters"]) for each in body["metrics"]]
    unknown = {
        f"metrics.{place}.metric": f"Unknown metric “{choice.metric}”. "
        + did_you_mean(choice.metric, Metric.registry)
        for place, choice in enumerate(choices)
        if choice.metric not in Metric.registry
    }
    if unknown:
        raise ValidationError(unknown)
    return choices


class OneScoringRun(ApiView):
    @describe("Get run progress", OpenApiTypes.OBJECT, problems=(404,))
    def get(self, request: Request, key: str, run: int) -> Response:
        self.study(key, LOOK)
        return Response(page.run_state(self._run(key, run)))

    @describe("Cancel a run", OpenApiTypes.OBJECT, problems=(404,))
    def delete(self, request: Request, key: str, run: int) -> Response:
        """Cancel a run. Scores computed so far are kept."""
        self.study(key, ANALYSE)
        runs.cancel(self._run(key, run))
        return Response(page.run_state(self._run(key, run)))

    def _run(self, key: str, run: int) -> Any:
        scoring_run = scoring_runs(key).filter(pk=run).first()
        if scoring_run is None:
            raise Http404("This study has no such run.")
        return scoring_run


class Scores(ApiView):
    @describe(
        "Get scores",
        {
            (200, JSON): OpenApiTypes.OBJECT,
            (200, CSV): OpenApiTypes.STR,
            (200, JSONL): OpenApiTypes.STR,
        },
        parameters=[FORM(FORMS), *WARNED],
        problems=(404, 406, 422),
    )
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Return all stored scores of the study's clips, with reasons for missing values."""
        study, form = self.study(key, ANALYSE), form_of(request, FORMS)
        score_filter = requested_filter(key, request.query_params)
        note_taken(study, self.by, f"scores.{form}")
        rows = score_tables.export_rows(key, score_filter)
        if form == "json":
            lines = table_object(score_tables.NAMES, "scores", json_array(rows))
            return StreamingHttpResponse(in_pieces(lines), content_type=JSON)
        text = score_tables.as_csv(rows) if form == "csv" else score_tables.as_jsonl(rows)
        kind = f"{CSV}; charset=utf-8" if form == "csv" else JSONL
        return HttpResponse(text, content_type=kind)
