"""What the pages of a draft send: changed fields, pieces of files, and the buttons."""

from __future__ import annotations

import json
from tempfile import TemporaryFile
from typing import IO, Any, cast
from zipfile import ZipFile

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
)
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from listening.access import ANALYSE, EDIT, LOOK, OWN, projects_of
from listening.audio.pieces import piece_of
from listening.design import draft_fields, draft_parts, draft_toml
from listening.design.scanning import EXTENSIONS, UnclearNames, texts_in
from listening.design.studyfile.files import Shelf
from listening.design.studyfile.shapes import Wrong
from listening.drafts import folder, making, merging, moving, sounds
from listening.drafts.merging import Merged
from listening.models import Draft
from listening.studies import StudyError, StudyProblems
from listening.views.draft_consent import compose_consent
from listening.views.draft_sidebar import sidebar
from listening.views.drafts import own_draft

MOST_CHANGES = 200  # fields in one request
PARTS = {  # button -> what it does to study.toml; whether it could
    "add-source": lambda top, given: draft_parts.add_source(top, given.get("kind", "")),
    "remove-source": lambda top, given: draft_parts.remove_source(top, given.get("source", "")),
    "add-language": lambda top, given: draft_parts.add_language(top, given.get("language", "")),
    "remove-language": lambda top, given: draft_parts.remove_language(
        top, given.get("language", "")
    ),
    "remove-task": lambda top, given: draft_parts.remove_task(top, given.get("task", "")),
    "compose": lambda top, given: compose_consent(top),
}
NAMED = 5  # lines of pasted texts
SHOWN_AT = {"role": "draft", "rename": "draft", "texts": "draft", "arrange": "draft"}
SHOWN_AT |= {"move": "draft-review", "add-source": "draft-raters", "remove-source": "draft-raters"}
SHOWN_AT |= {"compose": "draft-raters", "add-language": "draft-questions"}


# --- Fields, as they are typed --------------------------------------------------------------------


@never_cache
@login_required
@require_POST
def save(request: HttpRequest, code: str) -> HttpResponse:
    """Changed fields; what comes back is the sidebar, and what others changed meanwhile.

    409 where both changed one field: those are not saved, all others are.
    """
    draft = own_draft(request, code, EDIT)
    try:
        sent = json.loads(request.body)
        changes, seen = dict(sent["changes"]), int(sent["revision"])
        over = None if sent.get("anyway") is True else list(sent.get("over", ()))
        assert len(changes) <= MOST_CHANGES
    except (ValueError, TypeError, KeyError, AssertionError):
        return JsonResponse({"message": "This is no change of a draft."}, status=400)
    try:
        merged = merging.save_fields(draft, changes, seen, over)
    except draft_fields.UnknownField as field:
        return JsonResponse({"message": f"There is no field {field}."}, status=400)
    except folder.Unreadable as problem:
        return JsonResponse({"message": str(problem)}, status=422)
    return _news(request, draft, merged)


@never_cache
@login_required
@require_GET
def state(request: HttpRequest, code: str) -> HttpResponse:
    """What others changed since the revision that a page shows; asked for while it is open."""
    draft = own_draft(request, code, LOOK)
    seen = request.GET.get("seen", "")
    if seen.isdecimal() and int(seen) >= draft.revision:
        return JsonResponse({"revision": draft.revision})
    return _news(request, draft, merging.news(draft, int(seen) if seen.isdecimal() else 0))


def _news(request: HttpRequest, draft: Draft, merged: Merged) -> HttpResponse:
    figures = render_to_string("researcher/_draft_figures.html", sidebar(draft), request)
    known = {"revision": draft.revision, "figures": figures, **merged.as_dict()}
    return JsonResponse(known, status=409 if merged.collisions else 200)


# --- Files ----------------------------------------------------------------------------------------


@never_cache
@login_required
@require_GET
def files(request: HttpRequest, code: str) -> HttpResponse:
    """What is there already, so that an upload goes on where it stopped."""
    draft = own_draft(request, code)
    asked, size = request.GET.get("path"), request.GET.get("size", "")
    if asked is None:
        prefix = f"{sounds.SOUNDS}/"
        sizes = {k.removeprefix(prefix): n for k, n in sounds.names_of(draft).items()}
        return JsonResponse({"files": sizes})
    received = sounds.received_of(draft, asked, int(size) if size.isdecimal() else 0)
    return JsonResponse({"received": received, "sha256": sounds.sha256_at(draft, asked)})


@never_cache
@login_required
@require_POST
def upload(request: HttpRequest, code: str) -> HttpResponse:
    """A piece of a file; the last one says what is in it, or why it is no sound."""
    draft = own_draft(request, code, EDIT)
    path, zipped = request.GET.get("path", ""), sounds.is_zip(request.GET.get("path", ""))
    try:
        size, offset = int(request.GET["size"]), int(request.GET["offset"])
    except (KeyError, ValueError):
        return JsonResponse({"problem": "The size is missing."}, status=400)
    largest = sounds.LARGEST_ZIP_BYTES if zipped else sounds.LARGEST_BYTES
    if not 0 < size <= largest:
        what = "The file is empty." if size < 1 else f"More than {largest // 1024**2:,} MB."
        return JsonResponse({"problem": what}, status=422)
    if offset == 0 and sounds.is_full(draft):
        what = f"A draft holds at most {sounds.MOST_FILES:,} files. Import the folder instead."
        return JsonResponse({"problem": what}, status=422)
    try:
        whole = sounds.receive(draft, path, size, offset, request.body)
    except sounds.WrongPiece as wrong:
        return JsonResponse({"received": wrong.received}, status=409)
    except Wrong as wrong:
        return JsonResponse({"problem": f"{wrong.what} {wrong.remedy}"}, status=422)
    except OSError as error:
        return JsonResponse({"problem": f"It cannot be kept: {error.strerror}."}, status=507)
    if not whole:
        return JsonResponse({"received": offset + len(request.body)})
    return JsonResponse(_what_came(draft, path, zipped))


def _what_came(draft: Draft, path: str, zipped: bool) -> dict[str, Any]:
    if zipped:
        problems = sounds.unzip(draft, path)
        return {"done": True, "problem": " ".join(map(str, problems[:NAMED]))}
    if path.rpartition(".")[2].casefold() not in EXTENSIONS:
        return {"done": True}
    name = f"{sounds.SOUNDS}/{path}"
    return {"done": True, "problem": sounds.facts_of(draft, [name])[name].get("problem", "")}


@login_required
@require_GET
def clip(request: HttpRequest, code: str, name: str) -> HttpResponseBase:
    """A sound as it was uploaded."""
    draft = own_draft(request, code)
    try:
        path = Shelf(folder.folder_of(draft)).file(name)
    except Wrong:
        raise Http404 from None
    if path.suffix[1:].casefold() not in EXTENSIONS:
        raise Http404
    response = piece_of(path, request.headers.get("Range", ""))
    response["Accept-Ranges"] = "bytes"
    response["Cache-Control"] = "private, no-cache"
    return response


@login_required
@require_GET
def download(request: HttpRequest, code: str) -> HttpResponseBase:
    """The study folder as it is now: for scripts, for the archive, to change what no page shows."""
    draft = own_draft(request, code, ANALYSE)
    source = folder.folder_of(draft)
    name = folder.table_of(draft).get("study", {}).get("key") or "study"
    file = cast(IO[bytes], TemporaryFile())  # noqa: SIM115  closed by the response
    with ZipFile(file, "w") as opened:  # sounds hardly pack
        for path in sorted(p for p in source.rglob("*") if p.is_file()):
            opened.write(path, f"{name}/{path.relative_to(source).as_posix()}")
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=f"{name}.zip")


# --- Buttons --------------------------------------------------------------------------------------


@login_required
@require_POST
def act(request: HttpRequest, code: str) -> HttpResponse:
    do = request.POST.get("do", "")
    draft = own_draft(request, code, OWN if do in ("delete", "move") else EDIT)
    try:
        if do == "delete":
            folder.delete(draft)
            messages.success(request, "The draft and its sounds are deleted.")
            return redirect("new-study")
        if do in ("make", "open"):
            return _make_or_open(request, draft, do)
        if do == "move":
            return _move(request, draft)
        _edit(request, draft, do)
    except folder.ChangedMeanwhile:
        words = (
            "The draft was changed in another window meanwhile. This is the newest; do it again."
        )
        messages.warning(request, words)
    except folder.Unreadable as problem:
        messages.error(request, str(problem))
    except UnclearNames as unclear:
        messages.warning(request, unclear.what)
    return redirect(SHOWN_AT.get(do, "draft-questions"), code=draft.code)


def _edit(request: HttpRequest, draft: Draft, do: str) -> None:
    given = request.POST
    if do == "arrange":
        found = sounds.arrange(draft, given.get("pattern", "").strip())
        if not folder.table_of(draft):
            words = "There is no study.toml in it: start with another card, or add one."
            messages.warning(request, words)
        if found is not None:
            words = f"{len(found.systems)} systems, {len(found.sentences)} sentences: {found.how}."
            messages.success(request, words)
        return

    def make(top: draft_toml.Table, rows: folder.Rows) -> None:
        if do == "role":
            sounds.mark(top, rows, given.get("condition", ""), given.get("role", ""))
        elif do == "rename":
            if not sounds.rename(top, rows, given.get("condition", ""), given.get("name", "")):
                messages.error(request, "Another system has this name, or it cannot be used.")
        elif do == "texts":
            _put_texts(request, rows, given.get("texts", ""))
        elif do in PARTS and not PARTS[do](top, given):
            messages.error(request, "That is there already, or cannot be used.")

    seen = given.get("revision", "")
    folder.change(draft, make, int(seen) if seen.isdecimal() else 0)


def _move(request: HttpRequest, draft: Draft) -> HttpResponse:
    asked = request.POST.get("project", "")
    number = int(asked) if asked.isdecimal() and len(asked) < 10 else 0
    project = projects_of(request.user, EDIT).filter(pk=number).first()
    if asked and project is None:
        messages.error(request, "You are in no such project as editor or owner.")
        return redirect("draft-review", code=draft.code)
    moving.move(draft, project)
    where = f"It is in the project {project} now." if project else "It is its owner’s alone now."
    messages.success(request, where)
    mine = project is not None or draft.owner_id == request.user.pk
    return redirect("draft-review", code=draft.code) if mine else redirect("new-study")


def _put_texts(request: HttpRequest, rows: folder.Rows, pasted: str) -> None:
    sentences = list(dict.fromkeys(row["item"] for row in rows))
    texts, unknown = texts_in(pasted, sentences)
    for row in rows:
        row["text"] = texts.get(row["item"], row.get("text", ""))
    messages.success(request, f"{len(texts)} of {len(sentences)} sentences have got their text.")
    for line in unknown[:NAMED]:
        messages.warning(request, f"No sentence has the name of this line: {line[:100]}")
    if len(unknown) > NAMED:
        messages.warning(request, f"… and {len(unknown) - NAMED} more lines.")


def _make_or_open(request: HttpRequest, draft: Draft, do: str) -> HttpResponse:
    assert request.user.is_authenticated
    try:
        if do == "open":
            anyway = "anyway" in request.POST
            study = making.open_made(draft, anyway=anyway, by=request.user.get_username())
            messages.success(request, "The study is open: raters can start. Their link is below.")
            return redirect("study", key=study.key)
        making.make(draft, request.user)
    except StudyProblems:
        pass  # the page lists them
    except StudyError as error:
        for line in str(error).splitlines():
            messages.error(request, line)
    return redirect("draft-review", code=draft.code)
