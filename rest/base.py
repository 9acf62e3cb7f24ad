"""What all views of the API share: who asks and may what, problems, pages of lists, no cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.http.response import HttpResponseBase
from rest_framework.exceptions import NotFound, ParseError, ValidationError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.pagination import CursorPagination
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from listening.access.rights import EDIT, projects_of, study_for
from listening.common.plain_json import JsonError, is_storable, read_json
from listening.models import Project, Study
from rest.payloads import MOST_LISTED, refuse_unknown
from rest.problems import response_to
from rest.tokens import READ, WRITE, HasScope, TokenAuthentication, TokenThrottle


class JSONParser(BaseParser):
    """JSON as every reader of Earnest takes it: no key twice, nothing that no database can keep."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            value = read_json(stream.read(), most=settings.EARNEST_MAX_UPLOAD_BYTES)
        except JsonError as error:
            raise ParseError(f"The request body is not valid JSON: {error}") from None
        if not is_storable(value):
            raise ParseError("A string contains a NUL or an unpaired surrogate. Remove it.")
        return value


class OneForm(DefaultContentNegotiation):
    """Views answer in JSON, or choose among their own forms themselves."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class ApiView(APIView):
    """The base of every view; `scopes` says which scope a method takes, where not the usual."""

    authentication_classes = (TokenAuthentication,)
    permission_classes = (HasScope,)
    throttle_classes = (TokenThrottle,)
    renderer_classes = (JSONRenderer,)
    parser_classes: tuple[type[BaseParser], ...] = (JSONParser,)
    content_negotiation_class = OneForm
    http_method_names = ("get", "post", "put", "patch", "delete")
    scopes: Mapping[str, str] = {}

    def scope_of(self, method: str) -> str:
        return self.scopes.get(method, READ if method == "GET" else WRITE)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        handler = getattr(self, str(request.method).lower(), None)
        known = sorted(getattr(handler, "query", ()))
        refuse_unknown(request.query_params, known, "parameter")

    def get_exception_handler(self) -> Callable[..., Any]:
        return response_to

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        final: HttpResponseBase = super().finalize_response(request, response, *args, **kwargs)
        final["Cache-Control"] = "private, no-store"
        return final

    @property
    def who(self) -> Any:
        """A TokenUser, which stands where an account is asked for."""
        return self.request.user

    @property
    def by(self) -> str:
        """As the study's log names who does it."""
        return str(self.who.by)

    def study(self, key: str, wants: str) -> Study:
        """The study, as the table of rights decides; a project's token reaches no other."""
        study = study_for(self.who, key, wants)
        project = self.who.token.project_id
        if project is not None and study.project_id != project:
            raise Http404(f"The project of this token has no study “{key}”.")
        return study

    def project_for_new(self, number: int | None = None) -> Project | None:
        """The project that a new study is to be in: the one asked for, else the token's."""
        own = self.who.token.project_id
        wanted = own if number is None else number
        if wanted is None:
            return None
        project = projects_of(self.who, EDIT).filter(pk=wanted).first()
        if project is None or own not in (None, project.pk):
            raise Http404("You cannot create studies in this project.")
        return project

    def of_account(self) -> Any:
        """For what is an account's own: a token of one project does not reach it."""
        if self.who.token.project_id is not None:
            raise PermissionDenied(
                "This token is limited to one project, but this request concerns your account. "
                "Create a token for all your studies."
            )
        return self.who


def sent(shape: type[BaseSerializer[Any]], request: Request) -> Any:
    """What was sent, in this shape; else each mistake with its field."""
    return checked(shape, request.data)


def checked(shape: type[BaseSerializer[Any]], data: Any) -> Any:
    serializer = shape(data=data)
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data


class Pages(CursorPagination):
    """A list in pages, each with the address of the next."""

    page_size = 100
    max_page_size = MOST_LISTED
    page_size_query_param = "limit"
    ordering = ("-created_at", "-pk")

    def decode_cursor(self, request: Request) -> Any:
        try:
            return super().decode_cursor(request)
        except NotFound:
            explanation = "Invalid cursor for this list. Omit it to start from the first entry."
            raise ValidationError({"cursor": explanation}) from None
