"""A study that was sent, as a folder or a zip on the disk while it is read."""

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
from rest_framework.exceptions import UnsupportedMediaType, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from listening.access.rights import EDIT, draft_for
from listening.design.studyfile import CSV, TOML
from listening.design.studyfile.files import check_relative
from listening.design.studyfile.values import Wrong
from listening.design.studyfile.writer import rows_text
from listening.drafts import files
from listening.drafts.folder import folder_of
from listening.models import Draft
from rest.base import sent
from rest.shapes import StudySent

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
                raise ValidationError("Nothing was sent. Send the zip of a study folder.")
            with (place / ARCHIVE).open("wb") as file:
                shutil.copyfileobj(body, file)
            yield place / ARCHIVE
            return
        if not (request.content_type or "").startswith("application/json"):
            raise UnsupportedMediaType(request.content_type or "nothing")
        given = sent(StudySent, request)
        yield (
            archive_of(upload_for(who, given["upload"]))
            if "upload" in given
            else written(given, place)
        )


def written(given: dict[str, Any], place: Path) -> Path:
    """The folder that says what was sent as JSON."""
    for name, content in given.get("files", {}).items():
        where = f"files.{name}"
        try:
            check_relative(name)
            data = base64.b64decode(content, validate=True)
        except Wrong as wrong:
            raise ValidationError({where: f"{wrong.what} {wrong.remedy}"}) from None
        except (binascii.Error, ValueError):
            raise ValidationError({where: "This is no base64."}) from None
        target = place / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except (OSError, ValueError):
            raise ValidationError({where: "No file can have this name."}) from None
    try:
        toml = tomli_w.dumps(_without_null(given["study"]), multiline_strings=True)
        (place / TOML).write_text(toml, "utf-8")
        (place / CSV).write_text(rows_text(given["stimuli"]), "utf-8", newline="")
    except (TypeError, ValueError, OSError) as error:
        raise ValidationError(
            {"study": f"This cannot be written as study.toml: {error}."}
        ) from None
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
        raise Http404("There is no such upload in the project of this token.")
    return draft


def archive_of(draft: Draft) -> Path:
    path = folder_of(draft) / files.SOUNDS / ARCHIVE
    if not path.is_file():
        raise ValidationError({"upload": "This upload is not whole yet. Send the rest of it."})
    return path
