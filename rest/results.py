"""Analyses: the newest result, runs asked for and followed, files of them."""

from __future__ import annotations

import json
from typing import Any

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.models import AnalysisRun
from analysis.name_spans import resolve
from analysis.statistics.options import options_from
from analysis.web.combining import check_versions
from analysis.web.downloads import IN_UTF8, KINDS, file_of
from analysis.web.first_runs import default_options
from analysis.web.jobs import asked_run, cancel_run
from analysis.web.views import LONG, runs_of, shown_run
from listening.access.rights import ANALYSE, LOOK
from listening.models.study_log import note
from rest.base import ApiView, sent
from rest.payloads import Analyse, Results, RunSerializer
from rest.schema_decorator import describe

RUN = OpenApiParameter("run", int, description="A finished analysis. Default: the newest.")
ABOUT = OpenApiParameter("about", str, description="Title of one task and criterion.")
MOST_RUNS = 100


class StudyResults(ApiView):
    @describe("Get results", Results, parameters=[RUN], problems=(404,))
    def get(self, request: Request, key: str) -> Response:
        """Return the report of the newest finished analysis; `newest` may still be running."""
        self.study(key, LOOK)
        finished = shown_run(key, request.query_params.get("run", ""))
        newest = runs_of(key).defer(*LONG).first()
        return Response(
            {
                "run": RunSerializer(finished).data if finished else None,
                "newest": RunSerializer(newest).data if newest else None,
                "report": json.loads(resolve(finished.result)) if finished else None,
            }
        )


class ResultsFile(ApiView):
    @describe(
        "Get a results file",
        {(200, "application/octet-stream"): OpenApiTypes.BINARY},
        parameters=[RUN, ABOUT],
        problems=(404,),
    )
    def get(self, request: Request, key: str, name: str) -> HttpResponse:
        """Return a file such as estimates.csv, report.json, report.html or main-table.tex.

        `report` lists the files. Download bundles, which contain all ratings, from the page.
        """
        self.study(key, LOOK)
        finished = shown_run(key, request.query_params.get("run", ""))
        if finished is None:
            raise Http404("This study has no finished analysis. Start one.")
        content = file_of(finished, name, request.query_params.get("about", ""))
        if not content:
            raise Http404(f"There is no file {name}.")
        ending = name.rpartition(".")[2]
        kind = IN_UTF8.get(ending, KINDS.get(ending, "text/plain"))
        response = HttpResponse(content, content_type=kind)
        response["Content-Disposition"] = f'attachment; filename="{key}-{name}"'
        return response


class Runs(ApiView):
    @describe("List analyses", RunSerializer(many=True), problems=(404,))
    def get(self, request: Request, key: str) -> Response:
        """Return the 100 newest analyses, newest first."""
        self.study(key, LOOK)
        return Response(RunSerializer(runs_of(key).defer(*LONG)[:MOST_RUNS], many=True).data)

    @describe("Start an analysis", RunSerializer, status=202, request=Analyse)
    def post(self, request: Request, key: str) -> Response:
        """If the options and ratings have not changed, return the stored analysis."""
        study = self.study(key, ANALYSE)
        wanted = sent(Analyse, request)["options"]
        options = options_from({**default_options(key).parameters(), **wanted})
        check_versions(key, self.who, options)
        run = asked_run(study.pk, key, options)
        note(study, "analysed", self.by, options=run.asked_for)
        return Response(RunSerializer(run).data, status=202)


class OneRun(ApiView):
    @describe("Get analysis progress", RunSerializer, problems=(404,))
    def get(self, request: Request, key: str, run: int) -> Response:
        self.study(key, LOOK)
        return Response(RunSerializer(self._run(key, run)).data)

    @describe("Cancel an analysis", RunSerializer, problems=(404,))
    def delete(self, request: Request, key: str, run: int) -> Response:
        """Cancel a waiting or running analysis. Finished analyses are not affected."""
        self.study(key, ANALYSE)
        cancel_run(self._run(key, run).pk)
        return Response(RunSerializer(self._run(key, run)).data)

    def _run(self, key: str, run: int) -> Any:
        analysis_run: AnalysisRun | None = runs_of(key).filter(pk=run).defer(*LONG).first()
        if analysis_run is None:
            raise Http404("This study has no such analysis.")
        return analysis_run
