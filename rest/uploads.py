"""Zips of study folders that are larger than one request, received in pieces."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from listening.access.rights import EDIT, projects_of
from listening.common.input_limits import WEB_ARCHIVE_BYTES
from listening.drafts import files, folder
from listening.models import Project
from rest.base import ApiView
from rest.described import described
from rest.shapes import Upload
from rest.sources import ARCHIVE, PIECE, PieceParser, upload_for

SIZE = OpenApiParameter("size", int, required=True, description="Bytes of the whole zip.")
OFFSET = OpenApiParameter("offset", int, required=True, description="Bytes sent before these.")


class Uploads(ApiView):
    @described("Begins an upload", Upload, status=201)
    def post(self, request: Request) -> Response:
        """What is not made into a study stands on the page New study, and can be deleted there."""
        draft = folder.begin_empty(self.who, self._project())
        return Response({"upload": draft.code, "received": 0, "whole": False}, status=201)

    def _project(self) -> Project | None:
        own = self.who.token.project_id
        if own is None:
            return None
        found = projects_of(self.who, EDIT).filter(pk=own).first()
        if found is None:
            raise Http404("There is no such project of yours in which you may make studies.")
        return found


class OneUpload(ApiView):
    parser_classes = (PieceParser,)

    @described("How much is received", Upload, parameters=[SIZE])
    def get(self, request: Request, code: str) -> Response:
        draft, size = upload_for(self.who, code), _number(request, "size")
        return self._state(code, files.received_of(draft, ARCHIVE, size), size)

    @described(
        "Sends a piece",
        Upload,
        request={PIECE: OpenApiTypes.BINARY},
        parameters=[SIZE, OFFSET],
        problems=(404, 409, 422),
    )
    def put(self, request: Request, code: str) -> Response:
        """The same piece may be sent twice: what is there already is told, and nothing is lost."""
        draft = upload_for(self.who, code)
        size, offset = _number(request, "size"), _number(request, "offset")
        if not 0 < size <= WEB_ARCHIVE_BYTES:
            raise ValidationError({"size": f"1 to {WEB_ARCHIVE_BYTES:,} bytes are taken."})
        piece = request.data.read() if hasattr(request.data, "read") else b""
        if offset + len(piece) > size:
            told = f"The piece ends behind the {size:,} bytes that `size` says."
            raise ValidationError({"offset": told})
        try:
            files.receive(draft, ARCHIVE, size, offset, piece)
        except files.WrongPiece as wrong:
            return self._state(code, wrong.received, size)
        return self._state(code, min(offset + len(piece), size), size)

    @described("Gives an upload up", {204: None}, problems=(404,))
    def delete(self, request: Request, code: str) -> Response:
        """What was sent of it is deleted."""
        folder.delete(upload_for(self.who, code))
        return Response(status=204)

    def _state(self, code: str, received: int, size: int) -> Response:
        return Response({"upload": code, "received": received, "whole": received >= size})


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not text.isdecimal() or len(text) > 15:
        raise ValidationError({name: "A whole number of bytes is needed."})
    return int(text)
