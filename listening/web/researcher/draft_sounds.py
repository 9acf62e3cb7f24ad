"""The buttons of a draft's page of sounds: what is made of clips, and lines heard in context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect

from listening.design import draft_context
from listening.design.draft_toml import Table
from listening.design.pasted_texts import UnclearTexts, texts_in
from listening.drafts import folder, made, sounds
from listening.models import Draft
from listening.web.posted_values import number_in, whole_number

NAMED = 5  # lines of pasted texts
WORDS = ("text", "transcript", "caption")  # columns of stimuli.csv that words are pasted into


def make_sounds(request: HttpRequest, draft: Draft) -> HttpResponse:
    """Makes some files and says how many are left, for a page that asks again; or all at once."""
    step = "step" in request.POST
    try:
        wishes = _wishes(request, draft)
        left = made.make_some(draft, wishes, made.MADE_AT_ONCE_S if step else inf)
        if left == 0:
            made.put(draft, wishes, _seen(request))
            conditions = ", ".join(dict.fromkeys(wish.condition for wish in wishes))
            clips = "1 clip was" if len(wishes) == 1 else f"{len(wishes)} clips were"
            messages.success(request, f"{clips} made: {conditions}.")
    except made.CannotMake as problem:
        if step:
            return JsonResponse({"problem": str(problem)}, status=422)
        messages.error(request, str(problem))
        return redirect("draft", code=draft.code)
    if step:
        return JsonResponse({"left": left, "total": len(wishes)})
    return redirect("draft", code=draft.code)


def _wishes(request: HttpRequest, draft: Draft) -> list[made.Wish]:
    given = request.POST
    if given.get("make") == "anchors":
        return made.anchors(draft)
    count = whole_number(given.get("count", ""), 1)
    return made.traps(
        draft, given.get("kind", ""), given.get("of", ""), count, given.get("file", "")
    )


def _seen(request: HttpRequest) -> int:
    return number_in(request, "revision")


def take_back(request: HttpRequest, draft: Draft) -> None:
    condition = request.POST.get("condition", "")
    count = made.take_back(draft, condition, _seen(request))
    messages.success(request, f"{count} clips of “{condition}” are taken back.")


# --- Changes of the table -------------------------------------------------------------------------


def _role(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    sounds.mark(top, rows, request.POST.get("condition", ""), request.POST.get("role", ""))


def _versus(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    sounds.compare_with(top, rows, request.POST.get("condition", ""))


def _rename(request: HttpRequest, top: Table, rows: folder.Rows) -> None:
    if not sounds.rename(
        top, rows, request.POST.get("condition", ""), request.POST.get("name", "")
    ):
        messages.error(request, "Another system has this name, or it cannot be used.")


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
        messages.warning(request, f"No sentence has the name of this line: {line[:100]}")
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
        words = "No names of sentences make paragraphs: write them like dialogue2_turn3."
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
