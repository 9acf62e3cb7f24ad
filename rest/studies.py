"""Studies: listed, made, checked, changed, opened, paused, closed, copied; and how far each is."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from listening import studies
from listening.access.rights import EDIT, LOOK, visible_studies
from listening.drafts import folder
from listening.models import Study
from listening.selectors.progress import forget_progress, page_progress
from listening.studies.naming import filtered
from listening.web.researcher.preview import LINK_S, preview_link
from rest.base import ApiView, JSONParser, Pages, checked, sent
from rest.payloads import (
    Change,
    Checked,
    Copy,
    FindingSerializer,
    Made,
    Narrowing,
    PreviewSerializer,
    StateChange,
    StudyPage,
    StudySent,
    StudySerializer,
    link_of,
)
from rest.problems import mistake_of
from rest.schema_decorator import describe
from rest.uploads import ZIP, ZipParser, source_of, upload_for

STUDY = {"application/json": StudySent, ZIP: OpenApiTypes.BINARY}
IN_PROJECT = OpenApiParameter("project", int, description="Project of the study.")


class Studies(ApiView):
    parser_classes = (JSONParser, ZipParser)

    @describe("List studies", StudyPage, parameters=[Narrowing])
    def get(self, request: Request) -> Response:
        """Return all studies that the token can access, newest first."""
        parameters = {name: value for name, value in request.query_params.items() if value}
        filters = {
            name: str(value) for name, value in checked(Narrowing, parameters).items() if value
        }
        studies_found = filtered(visible_studies(self.who), filters)
        if self.who.token.project_id is not None:
            studies_found = studies_found.filter(project=self.who.token.project_id)
        pages = Pages()
        page = pages.paginate_queryset(
            studies_found.select_related("owner", "project", "version_of"), request, self
        )
        rows = StudySerializer(page, many=True).data
        links = {"next": pages.get_next_link(), "previous": pages.get_previous_link()}
        return Response({**links, "results": rows})

    @describe("Create a study", Made, status=201, request=STUDY, parameters=[IN_PROJECT])
    def post(self, request: Request) -> Response:
        """Create a draft from a study folder: a zip, an upload, or tables and files as JSON.

        If there are errors, nothing is stored and all errors are returned. Raters cannot take
        part before the study is opened.
        """
        remarks: list[str] = []
        project = self.project_for_new(self._project_number(request))
        with source_of(request, self.who) as source:
            study = studies.create_study(
                source, self.who, project=project, by=self.by, tell=remarks.append, sent=True
            )
        forget_upload(self.who, request.data)
        return Response(_created(study, remarks), status=201)

    def _project_number(self, request: Request) -> int | None:
        """The number asked for; of what is no number the token's, else 0, which no project has."""
        text = request.query_params.get("project", "")
        if text.isdecimal() and len(text) < 10:
            return int(text)
        return (self.who.token.project_id or 0) if text else None


def _created(study: Study, remarks: list[str]) -> dict[str, Any]:
    findings = FindingSerializer(studies.check_study(study), many=True).data
    return {"study": StudySerializer(study).data, "remarks": remarks, "findings": findings}


def forget_upload(who: Any, data: Any) -> None:
    """What a study was made of is in the study now."""
    if isinstance(data, dict) and "upload" in data:
        folder.delete(upload_for(who, data["upload"]))


class Validation(ApiView):
    parser_classes = (JSONParser, ZipParser)

    @describe("Check a study folder", Checked, request=STUDY)
    def post(self, request: Request) -> Response:
        """Return all errors with file, row and remedy, and store nothing."""
        with source_of(request, self.who) as source:
            looked = studies.look_at(source, sent=True)
        mistakes = [mistake_of(each) for each in looked.problems]
        outcome = {"key": looked.key, "mistakes": mistakes, "remarks": looked.remarks}
        return Response({"valid": not mistakes, **outcome})


class OneStudy(ApiView):
    parser_classes = (JSONParser, ZipParser)

    @describe("Get a study", StudySerializer)
    def get(self, request: Request, key: str) -> Response:
        return Response(StudySerializer(self.study(key, LOOK)).data)

    @describe("Replace a draft", Made, request=STUDY)
    def put(self, request: Request, key: str) -> Response:
        """Replace a draft by another folder with the same key. Open studies are not replaced."""
        self.study(key, EDIT)
        remarks: list[str] = []
        with source_of(request, self.who) as source:
            study = studies.create_study(
                source, self.who, replace=True, only=key, by=self.by, tell=remarks.append, sent=True
            )
        forget_upload(self.who, request.data)
        forget_progress(key)
        return Response(_created(study, remarks))

    @describe("Change name, tags or archive state", StudySerializer, request=Change)
    def patch(self, request: Request, key: str) -> Response:
        """Change what colleagues see. Raters do not see these fields."""
        study, change = self.study(key, EDIT), sent(Change, request)
        if "name" in change:
            studies.rename_study(study, change["name"], by=self.by)
        if "tags" in change:
            studies.tag_study(study, studies.tags_in(",".join(change["tags"])), by=self.by)
        if "archived" in change:
            studies.archive_study(study, archived=change["archived"], by=self.by)
        return Response(StudySerializer(study).data)


class StudyState(ApiView):
    @describe("Open, pause or close a study", StudySerializer, request=StateChange)
    def post(self, request: Request, key: str) -> Response:
        """Opening assigns clips to raters. Closing cannot be undone."""
        study, change = self.study(key, EDIT), sent(StateChange, request)
        studies.change_state(study, change["to"], anyway=change["anyway"], by=self.by)
        forget_progress(key)
        return Response(StudySerializer(study).data)


class StudyFindings(ApiView):
    @describe("List problems before opening", FindingSerializer(many=True))
    def get(self, request: Request, key: str) -> Response:
        """Check every clip. This takes a while for large studies."""
        study = self.study(key, LOOK)
        findings = studies.check_study(study) if study.state == Study.State.DRAFT else []
        return Response(FindingSerializer(findings, many=True).data)


class StudyCopies(ApiView):
    @describe("Copy a study", StudySerializer, status=201, request=Copy)
    def post(self, request: Request, key: str) -> Response:
        """Copy as a draft without raters and answers, independently or as the next version."""
        study, body = self.study(key, EDIT), sent(Copy, request)
        return Response(
            StudySerializer(studies.copy_study(study, self.who, by=self.by, **body)).data,
            status=201,
        )


class Progress(ApiView):
    @describe("Get study progress", OpenApiTypes.OBJECT)
    def get(self, request: Request, key: str) -> Response:
        """Return sessions by status, slots by task and condition, traps and blocks.

        Counts are updated at most once per second; `at` gives the time.
        """
        study = self.study(key, LOOK)
        return Response({**page_progress(key), "link": link_of(study)})


class Preview(ApiView):
    @describe("Preview a study", PreviewSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Return a link to the pages that raters will see. Nothing is stored there."""
        study = self.study(key, LOOK)
        tasks = list(study.tasks.order_by("order").values_list("key", flat=True))
        url = preview_link(study, self.who)
        return Response({"url": url, "expires_in_s": LINK_S, "tasks": tasks})
