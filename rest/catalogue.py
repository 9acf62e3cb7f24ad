"""What every study can be made of: methods and presets; and plans of raters and money."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from listening.design.presets import Preset, presets
from listening.design.studyfile import CSV
from listening.management.commands.new_study import demo_folder
from listening.methods import Method
from rest.base import ApiView, sent
from rest.payloads import MethodSerializer, PlanAsked, PresetFiles, PresetSerializer
from rest.schema_decorator import describe
from rest.tokens import READ


class Methods(ApiView):
    @describe("List methods", MethodSerializer(many=True), problems=())
    def get(self, request: Request) -> Response:
        """Return all test methods. `method` in a task of study.toml is one of these keys."""
        return Response(MethodSerializer(Method.registry.values(), many=True).data)


class Presets(ApiView):
    @describe("List presets", PresetSerializer(many=True), problems=())
    def get(self, request: Request) -> Response:
        """Return the ready-made studies."""
        return Response(PresetSerializer(presets(demo_folder()).values(), many=True).data)


class OnePreset(ApiView):
    @describe("Get a preset", PresetFiles, problems=(404,))
    def get(self, request: Request, name: str) -> Response:
        """Return the commented study.toml and the stimuli.csv of a preset, to start from."""
        preset: Preset | None = presets(demo_folder()).get(name)
        if preset is None:
            raise Http404(f"There is no preset “{name}”.")
        stimuli = (preset.folder / CSV).read_text("utf-8")
        files = {"study_toml": preset.toml, "stimuli_csv": stimuli}
        return Response({**PresetSerializer(preset).data, **files})


class Plans(ApiView):
    scopes = {"POST": READ}  # nothing is stored

    @describe("Plan a study", OpenApiTypes.OBJECT, request=PlanAsked, problems=(422,))
    def post(self, request: Request) -> Response:
        """Return raters, ratings, cost and time for a precision or a difference to detect.

        `source` names known variances; give `sd_residual` and other standard deviations instead
        if you know them.
        """
        from analysis.report.planning.form_fields import (
            own_components,
            requirements_from,
            starting_values,
        )
        from analysis.report.planning.plan_content import plain
        from analysis.statistics.planning.proposal import propose
        from analysis.statistics.planning.study_design import PlanningError
        from analysis.statistics.planning.variance_components import preset

        asked = {name: str(value) for name, value in sent(PlanAsked, request).items()}
        values = {**starting_values(), **asked}
        own = any(name.startswith("sd_") for name in asked)
        try:
            components = own_components(asked) if own else preset(values["source"])
            made = plain(propose(requirements_from(values, components)))
        except PlanningError as error:
            raise ValidationError({"plan": str(error)}) from None
        return Response({"plan": made["plan"], "assumptions": made["assumptions"]})
