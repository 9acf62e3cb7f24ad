"""Study folders that were sent: as JSON, as a zip, or as an upload received in pieces."""

from __future__ import annotations

import base64
import binascii
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli_w
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import UnsupportedMediaType, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from listening.access.rights import EDIT, draft_for
from listening.common.input_limits import WEB_ARCHIVE_BYTES
from listening.design.studyfile import CSV, TOML
from listening.design.studyfile.files import check_relative
from listening.design.studyfile.values import Wrong
from listening.design.studyfile.writer import rows_text
from listening.drafts import files, folder
from listening.drafts.folder import folder_of
from listening.models import Draft
from rest.base import ApiView, sent
from rest.payloads import StudySent, Upload
from rest.schema_decorator import describe

ZIP = "application/zip"
PIECE = "application/octet-stream"
ARCHIVE = "study.zip"


class ZipParser(BaseParser):
    """Leaves the body to be copied to the disk."""

    media_type = ZIP

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return stream


class PieceParser(ZipParser):
    media_type = PIECE


@contextmanager
def source_of(request: Request, who: Any) -> Iterator[Path]:
    """What `studies.create_study` and `check_folder` read."""
    with tempfile.TemporaryDirectory(prefix="earnest-api-") as space:
        place = Path(space)
        if (request.content_type or "").startswith(ZIP):
            body: Any = request.data  # see ZipParser
            if not hasattr(body, "read"):
                raise ValidationError("The request is empty. Send the zip of a study folder.")
            with (place / ARCHIVE).open("wb") as file:
                shutil.copyfileobj(body, file)
            yield place / ARCHIVE
            return
        if not (request.content_type or "").startswith("application/json"):
            raise UnsupportedMediaType(request.content_type or "nothing")
        payload = sent(StudySent, request)
        yield (
            archive_of(upload_for(who, payload["upload"]))
            if "upload" in payload
            else write_folder(payload, place)
        )


def write_folder(body: dict[str, Any], place: Path) -> Path:
    """The folder that says what was sent as JSON."""
    for name, content in body.get("files", {}).items():
        where = f"files.{name}"
        try:
            check_relative(name)
            data = base64.b64decode(content, validate=True)
        except Wrong as wrong:
            raise ValidationError({where: f"{wrong.what} {wrong.remedy}"}) from None
        except (binascii.Error, ValueError):
            raise ValidationError({where: "This is not valid base64."}) from None
        target = place / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except (OSError, ValueError):
            raise ValidationError({where: "This file name is not allowed."}) from None
    try:
        toml = tomli_w.dumps(_without_null(body["study"]), multiline_strings=True)
        (place / TOML).write_text(toml, "utf-8")
        (place / CSV).write_text(rows_text(body["stimuli"]), "utf-8", newline="")
    except (TypeError, ValueError, OSError) as error:
        raise ValidationError({"study": f"This is not a valid study.toml: {error}."}) from None
    return place


def _without_null(value: Any) -> Any:
    """TOML has no null: what is null is left out."""
    if isinstance(value, dict):
        return {name: _without_null(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_null(each) for each in value if each is not None]
    return value


# --- Zips in pieces -------------------------------------------------------------------------------


def upload_for(who: Any, code: str) -> Draft:
    """The upload, which is a draft until a study is made of it."""
    draft = draft_for(who, code, EDIT)
    project = who.token.project_id
    if project is not None and draft.project_id != project:
        raise Http404("The project of this token has no such upload.")
    return draft


def archive_of(draft: Draft) -> Path:
    path = folder_of(draft) / files.SOUNDS / ARCHIVE
    if not path.is_file():
        raise ValidationError({"upload": "This upload is incomplete. Send the remaining bytes."})
    return path


SIZE = OpenApiParameter("size", int, required=True, description="Total size of the zip in bytes.")
OFFSET = OpenApiParameter(
    "offset", int, required=True, description="Offset of this piece in bytes."
)


class Uploads(ApiView):
    @describe("Start an upload", Upload, status=201)
    def post(self, request: Request) -> Response:
        """Unfinished uploads appear on the page New study, where you can delete them."""
        draft = folder.begin_empty(self.who, self.project_for_new())
        return Response({"upload": draft.code, "received": 0, "whole": False}, status=201)


class OneUpload(ApiView):
    parser_classes = (PieceParser,)

    @describe("Get upload progress", Upload, parameters=[SIZE])
    def get(self, request: Request, code: str) -> Response:
        draft, size = upload_for(self.who, code), _number(request, "size")
        return self._state(code, files.received_of(draft, ARCHIVE, size), size)

    @describe(
        "Upload a piece",
        Upload,
        request={PIECE: OpenApiTypes.BINARY},
        parameters=[SIZE, OFFSET],
        problems=(404, 409, 422),
    )
    def put(self, request: Request, code: str) -> Response:
        """Store a piece. If you send it twice, nothing is lost."""
        draft = upload_for(self.who, code)
        size, offset = _number(request, "size"), _number(request, "offset")
        if not 0 < size <= WEB_ARCHIVE_BYTES:
            raise ValidationError({"size": f"The size must be 1 to {WEB_ARCHIVE_BYTES:,} bytes."})
        piece = request.data.read() if hasattr(request.data, "read") else b""
        if offset + len(piece) > size:
            explanation = f"The piece exceeds the {size:,} bytes given in `size`."
            raise ValidationError({"offset": explanation})
        try:
            files.receive(draft, ARCHIVE, size, offset, piece)
        except files.WrongPiece as wrong:
            return self._state(code, wrong.received, size)
        return self._state(code, min(offset + len(piece), size), size)

    @describe("Delete an upload", {204: None}, problems=(404,))
    def delete(self, request: Request, code: str) -> Response:
        """Delete the pieces sent so far."""
        folder.delete(upload_for(self.who, code))
        return Response(status=204)

    def _state(self, code: str, received: int, size: int) -> Response:
        return Response({"upload": code, "received": received, "whole": received >= size})


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not text.isdecimal() or len(text) > 15:
        raise ValidationError({name: "Enter a whole number of bytes."})
    return int(text)
