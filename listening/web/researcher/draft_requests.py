"""What the pages of a draft send: changed fields, pieces of files, and the buttons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from tempfile import TemporaryFile
from typing import IO, Any, cast
from zipfile import ZipFile

from django.contrib import messages
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
from django.urls import reverse
from django.views.decorators.cache import never_cache

from listening.access.rights import ANALYSE, EDIT, LOOK, OWN, projects_of
from listening.audio.fetching import NotFetched
from listening.audio.links import piece_of
from listening.common.counted import counted
from listening.common.input_limits import WEB_ARCHIVE_BYTES, WEB_FILES, WEB_SOUND_BYTES
from listening.common.plain_json import is_storable, read_json
from listening.common.sound_files import EXTENSIONS, is_system_file
from listening.common.views import logged_in_get, logged_in_page, logged_in_post
from listening.design import draft_context, draft_fields, draft_questionnaires, draft_toml
from listening.design.draft_toml import Table
from listening.design.pasted_texts import UnclearTexts, texts_in
from listening.design.scanning import UnclearNames
from listening.design.studyfile import mistakes
from listening.design.studyfile.files import Shelf
from listening.design.studyfile.values import Wrong
from listening.drafts import anchors_and_traps, fetched, folder, making, merging, sounds
from listening.drafts import files as received
from listening.drafts.figures import reading_of
from listening.drafts.merging import Merged
from listening.models import Draft
from listening.studies import StudyError, StudyProblems
from listening.web.posted_values import number_in, whole_number
from listening.web.researcher.draft_fields import compose_consent
from listening.web.researcher.draft_mistakes import shown_mistakes
from listening.web.researcher.drafts import own_draft, sidebar
from listening.web.researcher.shown_findings import lines_of

WORDS = ("text", "transcript", "caption")  # columns of stimuli.csv that words are pasted into


def make_sounds(request: HttpRequest, draft: Draft) -> HttpResponse:
    """Makes some files and says how many are left, for a page that asks again; or all at once."""
    step = "step" in request.POST
    try:
        wishes = _wishes(request, draft)
        left = anchors_and_traps.make_some(
            draft, wishes, anchors_and_traps.MADE_AT_ONCE_S if step else inf
        )
        if left == 0:
            anchors_and_traps.put(draft, wishes, _revision_seen(request))
            conditions = ", ".join(dict.fromkeys(wish.condition for wish in wishes))
            clips = "1 clip was" if len(wishes) == 1 else f"{len(wishes)} clips were"
            messages.success(request, f"{clips} made: {conditions}.")
    except anchors_and_traps.CannotMake as problem:
        if step:
            return JsonResponse({"problem": str(problem)}, status=422)
        messages.error(request, str(problem))
        return redirect("draft", code=draft.code)
    if step:
        return JsonResponse({"left": left, "total": len(wishes)})
    return redirect("draft", code=draft.code)


def _wishes(request: HttpRequest, draft: Draft) -> list[anchors_and_traps.Wish]:
    form = request.POST
    if form.get("make") == "anchors":
        return anchors_and_traps.anchors(draft)
    count = whole_number(form.get("count", ""), 1)
    return anchors_and_traps.traps(
        draft, form.get("kind", ""), form.get("of", ""), count, form.get("file", "")
    )


def _revision_seen(request: HttpRequest) -> int:
    return number_in(request, "revision")


def take_back(request: HttpRequest, draft: Draft) -> None:
    condition = request.POST.get("condition", "")
    count = anchors_and_traps.take_back(draft, condition, _revision_seen(request))
    messages.success(request, f"Removed {counted(count, 'clip')} of “{condition}”.")


# --- Changes of the table -------------------------------------------------------------------------


def _role(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    sounds.mark(top, rows, request.POST.get("condition", ""), request.POST.get("role", ""))


def _versus(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    sounds.compare_with(top, rows, request.POST.get("condition", ""))


def _rename(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    if not sounds.rename(
        top, rows, request.POST.get("condition", ""), request.POST.get("name", "")
    ):
        messages.error(request, "Another system has this name, or the name cannot be used.")


def _texts(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    field = request.POST.get("field", "text")
    field = field if field in WORDS else "text"
    sentences = list(dict.fromkeys(row["item"] for row in rows))
    try:
        texts, unknown = texts_in(request.POST.get("texts", ""), sentences)
    except UnclearTexts as unclear:
        messages.error(request, f"No text was changed. {unclear}")
        return
    for row in rows:
        row[field] = texts.get(row["item"], row.get(field, ""))
    count = f"{len(texts)} of {len(sentences)} sentences have their {field} now"
    example = next((f": {key} “{text[:60]}”" for key, text in texts.items()), "")
    (messages.success if texts else messages.warning)(request, f"{count}{example}.")
    for line in unknown[:NAMED]:
        messages.warning(request, f"No sentence has this name: {line[:100]}")
    if len(unknown) > NAMED:
        messages.warning(request, f"… and {len(unknown) - NAMED} more lines.")


def _continues(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    """A sentence follows the one above it, or begins anew."""
    wanted = "item" in request.POST
    item = request.POST.get("item" if wanted else "anew", "")
    draft_context.continues(rows, item, wanted)


def _paragraphs(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    if "forget" in request.POST:
        draft_context.choose(top, rows, "")
        draft_context.forget(rows)
    elif count := draft_context.by_names(rows):
        messages.success(request, f"{count} paragraphs, by the names of the sentences.")
    else:
        words = "No paragraphs found in the sentence names. Name them like dialogue2_turn3."
        messages.warning(request, words)


def _context(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    """What raters get before a line."""
    form = request.POST.get("form", "")
    if why := draft_context.why_not(top, rows, form):
        messages.error(request, why)
    else:
        draft_context.choose(top, rows, form)


TABLE: Mapping[str, Callable[[HttpRequest, Table, folder.Rows], None]] = {
    "role": _role,
    "versus": _versus,
    "rename": _rename,
    "texts": _texts,
    "continues": _continues,
    "paragraphs": _paragraphs,
    "context": _context,
}


MOST_CHANGES = 200  # fields in one request
PARTS = {  # button -> what it does to study.toml; whether it could
    "add-source": lambda top, form: draft_fields.add_source(top, form.get("kind", "")),
    "remove-source": lambda top, form: draft_fields.remove_source(top, form.get("source", "")),
    "add-language": lambda top, form: draft_fields.add_language(top, form.get("language", "")),
    "remove-language": lambda top, form: draft_fields.remove_language(
        top, form.get("language", "")
    ),
    "remove-task": lambda top, form: draft_fields.remove_task(top, form.get("task", "")),
    "compose": lambda top, form: compose_consent(top),
    "stop-rule": lambda top, form: draft_fields.choose_stop_rule(top, form.get("rule", "")),
}
ANCHORED = {**draft_questionnaires.PARTS, **draft_questionnaires.OF_CRITERIA}
NAMED = 5  # files, mistakes and lines of pasted texts
LONGEST_NAME = 255  # that is remembered of a file that is ignored
OF_SOUNDS = ("arrange", "take-back", *TABLE)  # buttons that lead back to the sounds
SHOWN_AT = {"move": "draft-review", "add-source": "draft-raters", "remove-source": "draft-raters"}
SHOWN_AT |= dict.fromkeys(draft_questionnaires.PARTS, "draft-questionnaires")
SHOWN_AT |= {"compose": "draft-raters", "stop-rule": "draft-raters"}

# --- Fields, as they are typed --------------------------------------------------------------------


@never_cache
@logged_in_post
def save(request: HttpRequest, code: str) -> HttpResponse:
    """Changed fields; what comes back is the sidebar, and what others changed meanwhile.

    409 where both changed one field: those are not saved, all others are.
    """
    draft = own_draft(request, code, EDIT)
    try:
        sent = read_json(request.body)
        changes, seen = dict(sent["changes"]), int(sent["revision"])
        over = None if sent.get("anyway") is True else list(sent.get("over", ()))
        assert len(changes) <= MOST_CHANGES
        assert is_storable(changes)
    except (ValueError, TypeError, KeyError, AssertionError):
        return JsonResponse({"message": "This change is not supported."}, status=400)
    try:
        merged = merging.save_fields(draft, changes, seen, over)
    except draft_fields.UnknownField as field:
        return JsonResponse({"message": f"There is no field {field}."}, status=400)
    except folder.Unreadable as problem:
        return JsonResponse({"message": str(problem)}, status=422)
    return _news(request, draft, merged)


@logged_in_page
def state(request: HttpRequest, code: str) -> HttpResponse:
    """What others changed since the revision that a page shows; asked for while it is open."""
    draft = own_draft(request, code, LOOK)
    seen = request.GET.get("seen", "")
    if whole_number(seen, -1) >= draft.revision:
        return JsonResponse({"revision": draft.revision})
    return _news(request, draft, merging.news(draft, whole_number(seen)))


def _news(request: HttpRequest, draft: Draft, merged: Merged) -> HttpResponse:
    figures = render_to_string("researcher/_draft_figures.html", sidebar(draft), request)
    known = {"revision": draft.revision, "figures": figures, **merged.as_dict()}
    return JsonResponse(known, status=409 if merged.collisions else 200)


# --- Files ----------------------------------------------------------------------------------------


@logged_in_page
def files(request: HttpRequest, code: str) -> HttpResponse:
    """What is there already, so that an upload goes on where it stopped."""
    draft = own_draft(request, code)
    path, size = request.GET.get("path"), request.GET.get("size", "")
    if path is None:
        return JsonResponse({"files": received.uploaded(draft)})
    try:
        there = received.received_of(draft, path, int(size) if _is_size(size) else 0)
    except Wrong:
        there = 0  # the upload itself is refused, and says why
    return JsonResponse({"received": there})


@never_cache
@logged_in_post
def upload(request: HttpRequest, code: str) -> HttpResponse:
    """A piece of a file; the last one says what is in it, or why it is no sound."""
    draft, path = own_draft(request, code, EDIT), request.GET.get("path", "")
    response, status = _received(request, draft, path)
    if path and ("done" in response or (status == 422 and "problem" in response)):
        received.note_problem(draft, path, response.get("problem", ""))
    return JsonResponse(response, status=status)


def _received(request: HttpRequest, draft: Draft, path: str) -> tuple[dict[str, Any], int]:
    """What the page is told of a piece, and the status."""
    zipped = received.is_zip(path)
    try:
        numbers = [request.GET[name] for name in ("size", "offset")]
        if not all(map(_is_size, numbers)):
            raise ValueError
        size, offset = map(int, numbers)
    except (KeyError, ValueError):
        return {"problem": "The size is missing."}, 400
    largest = WEB_ARCHIVE_BYTES if zipped else WEB_SOUND_BYTES
    if not 0 < size <= largest:
        what = "The file is empty." if size < 1 else f"More than {largest // 1024**2:,} MB."
        return {"problem": what}, 422
    if is_system_file(path):
        received.ignore(draft, [path[:LONGEST_NAME]])
        return {"done": True}, 200
    if offset == 0 and received.is_full(draft):
        what = f"A draft holds at most {WEB_FILES:,} files. Import the folder instead."
        return {"problem": what}, 422
    try:
        whole = received.receive(draft, path, size, offset, request.body)
    except received.WrongPiece as wrong:
        return {"received": wrong.received}, 409
    except Wrong as wrong:
        return {"problem": f"{wrong.what} {wrong.remedy}"}, 422
    except OSError as error:
        return {"problem": f"The file cannot be stored: {error.strerror}."}, 507
    if not whole:
        return {"received": offset + len(request.body)}, 200
    return _finish_upload(draft, path, zipped), 200


def _is_size(text: str) -> bool:
    return text.isdecimal() and len(text) < 16


def _finish_upload(draft: Draft, path: str, zipped: bool) -> dict[str, Any]:
    if zipped:
        problems = received.unzip(draft, path)
        return {"done": True, "problem": " ".join(map(str, problems[:NAMED]))}
    if path.rpartition(".")[2].casefold() not in EXTENSIONS:
        return {"done": True}
    name = f"{received.SOUNDS}/{path}"
    return {"done": True, "problem": received.facts_of(draft, [name])[name].get("problem", "")}


@logged_in_get
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


@logged_in_get
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


@logged_in_post
def act(request: HttpRequest, code: str) -> HttpResponse:
    do = request.POST.get("do", "")
    draft = own_draft(request, code, OWN if do in ("delete", "move") else EDIT)
    anchor = ""
    try:
        if do == "delete":
            folder.delete(draft)
            messages.success(request, "The draft and its audio were deleted.")
            return redirect("new-study")
        if do == "forget-problems":
            received.forget_problems(draft)
            return _back(draft, "arrange", "")
        if do == "measure":
            return JsonResponse({"left": received.measure_some(draft)})
        if do == "make-sounds":
            return make_sounds(request, draft)
        if do == "fetch":
            return _fetch(request, draft)
        if do in ("make", "open"):
            return _make_or_open(request, draft, do)
        if do == "move":
            return _move(request, draft)
        anchor = _edit(request, draft, do)
    except folder.ChangedMeanwhile:
        words = "The draft was changed in another window. Repeat your change on this version."
        if "step" in request.POST:
            return JsonResponse({"problem": words}, status=409)
        messages.warning(request, words)
    except folder.Unreadable as problem:
        messages.error(request, str(problem))
    except UnclearNames as unclear:
        messages.warning(request, unclear.what)
    return _back(draft, do, request.POST.get("page", ""), anchor)


def _back(draft: Draft, do: str, page: str, anchor: str = "") -> HttpResponse:
    """To the page on which the button stands, and there to the control with this id."""
    if do not in OF_SOUNDS:
        address = reverse(SHOWN_AT.get(do, "draft-questions"), args=[draft.code])
        return redirect(f"{address}#{anchor}" if anchor else address)
    query = f"?page={page}" if page.isdecimal() else ""
    return redirect(reverse("draft", args=[draft.code]) + query)


def _edit(request: HttpRequest, draft: Draft, do: str) -> str:
    """Do what a button says; the id of the control to go to, where it is not the page's top."""
    form, anchor = request.POST, ""
    if do == "arrange":
        _arrange(request, draft)
        return anchor
    if do == "take-back":
        take_back(request, draft)
        return anchor

    def make(top: draft_toml.Table, rows: folder.Rows) -> None:
        nonlocal anchor
        if do in TABLE:
            TABLE[do](request, top, rows)
        elif do in ANCHORED:
            anchor = ANCHORED[do](top, {name: str(form[name]) for name in form})
        elif do in PARTS and not PARTS[do](top, form):
            messages.error(request, "It exists already, or the name cannot be used.")

    seen = form.get("revision", "")
    folder.change(draft, make, whole_number(seen))
    return anchor


def _fetch(request: HttpRequest, draft: Draft) -> HttpResponse:
    """Fetch some files and say how many are left, for a page that asks again; or all at once."""
    from listening.notifications.posting import download  # its library is heavy

    step = "step" in request.POST
    seconds = fetched.FETCHED_AT_ONCE_S if step else inf
    try:
        lines = request.POST.get("addresses", "")
        left, total = fetched.fetch_some(draft, lines, download, seconds)
    except NotFetched as problem:
        if step:
            return JsonResponse({"problem": str(problem)}, status=422)
        messages.error(request, str(problem))
        return _back(draft, "arrange", "")
    if left == 0:
        messages.success(request, f"{counted(total, 'file')} fetched.")
        with suppress(UnclearNames):  # the page asks how they are named
            _arrange(request, draft)

        def note(top: Table, rows: folder.Rows) -> None:
            fetched.note_sources(draft, rows)

        folder.change(draft, note, draft.revision, anyway=True)
    if step:
        return JsonResponse({"left": left, "total": total})
    return _back(draft, "arrange", "")


def _arrange(request: HttpRequest, draft: Draft) -> None:
    scanned = sounds.arrange(draft, request.POST.get("pattern", "").strip())
    if not folder.table_of(draft):
        words = "The folder has no study.toml. Add one, or start with another card."
        messages.warning(request, words)
    if scanned is not None:
        systems, sentences = len(scanned.systems), len(scanned.sentences)
        words = f"{counted(systems, 'system')}, {counted(sentences, 'sentence')}"
        words += f": {scanned.how}."
        messages.success(request, words)
    _name_unsent(request)


def _name_unsent(request: HttpRequest) -> None:
    """What the page did not send: hidden files, and what is no sound by its ending."""
    count = request.POST.get("unsent-count", "")
    if whole_number(count) == 0:
        return
    try:
        names = [str(name)[:200] for name in read_json(request.POST.get("unsent", "[]"))]
    except (ValueError, TypeError):
        names = []
    shown, left = ", ".join(names[:NAMED]), int(count) - len(names[:NAMED])
    more = f" and {left} more" if left > 0 else ""
    messages.warning(request, f"Not sent (hidden, or no sound by their ending): {shown}{more}.")


def _move(request: HttpRequest, draft: Draft) -> HttpResponse:
    chosen = request.POST.get("project", "")
    number = whole_number(chosen)
    project = projects_of(request.user, EDIT).filter(pk=number).first()
    if chosen and project is None:
        messages.error(request, "You are not an editor or owner of this project.")
        return redirect("draft-review", code=draft.code)
    making.move_to_project(draft, project)
    where = f"It is in the project {project} now." if project else "It is its owner’s alone now."
    messages.success(request, where)
    mine = project is not None or draft.owner_id == request.user.pk
    return redirect("draft-review", code=draft.code) if mine else redirect("new-study")


def _make_or_open(request: HttpRequest, draft: Draft, do: str) -> HttpResponse:
    assert request.user.is_authenticated
    try:
        if do == "open":
            anyway = "anyway" in request.POST
            study = making.open_study_of_draft(draft, anyway=anyway, by=request.user.get_username())
            messages.success(request, "The study is open: raters can start. Their link is below.")
            return redirect("study", key=study.key)
        making.make(draft, request.user)
    except StudyProblems as wrong:
        if not reading_of(draft).problems:  # else the page lists them
            grouped = mistakes(wrong.problems)[:NAMED]
            for each in shown_mistakes(grouped, folder.table_of(draft), folder.rows_of(draft)):
                messages.error(request, f"{each.page_name}: {each.field} {each.words}")
    except StudyError as error:
        for line in lines_of(error):
            messages.error(request, line)
    return redirect("draft-review", code=draft.code)
