"""Pages for people: what the API has, made from its schema; one's tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from listening.access.rights import projects_of
from listening.accounts.sign_on import STRONG
from listening.common.views import logged_in_get, logged_in_page, logged_in_post
from rest import tokens
from rest.models import ApiToken
from rest.schema import schema
from rest.tokens import TokenError

MOST_SHOWN = 100
again = reauthentication_required(app="allauth.account")
GROUPS = {  # by what follows /api/v1/: a heading
    "methods": "Methods and plans",
    "presets": "Methods and plans",
    "plans": "Methods and plans",
    "studies": "Studies",
    "validations": "Studies",
    "uploads": "Uploads",
    "webhooks": "Webhooks",
}
OF_STUDY = {  # by what follows the study's key
    "sessions": "Sessions",
    "decisions": "Sessions",
    "ratings": "Ratings",
    "results": "Results",
    "metrics": "Metrics",
}


@logged_in_get
def reference(request: HttpRequest) -> HttpResponse:
    """Every address of the API, in the words of its schema."""
    url = settings.EARNEST_PUBLIC_URL
    context = {"groups": operations(), "url": url, "scopes": tokens.SCOPES}
    return render(request, "rest/reference.html", context)


def operations() -> dict[str, list[dict[str, Any]]]:
    """By heading: each path and method, what it takes and what it answers."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in schema()["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(_group(path), []).append(_operation(path, method, operation))
    return groups


def _group(path: str) -> str:
    parts = path.removeprefix(f"{settings.EARNEST_PATH}/api/v1/").split("/")
    return OF_STUDY.get(parts[2], "Studies") if len(parts) > 2 else GROUPS[parts[0]]


def _operation(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    parameters = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    sent = operation.get("requestBody", {}).get("content", {})
    answers = [
        (code, sorted(each.get("content", {})) or ["nothing"])
        for code, each in sorted(operation["responses"].items())
        if code.startswith("2")
    ]
    return {
        "method": method.upper(),
        "path": path,
        "summary": operation.get("summary", ""),
        "words": operation.get("description", ""),
        "parameters": parameters,
        "sent": [(kind, list(_fields(each.get("schema", {})))) for kind, each in sent.items()],
        "answers": answers,
    }


def _fields(shape: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The fields of a body, by their names; none of what is no object."""
    name = shape.get("$ref", "").rpartition("/")[2]
    known = schema()["components"]["schemas"].get(name, shape)
    for field, field_schema in known.get("properties", {}).items():
        needed = field in known.get("required", ())
        yield {"name": field, "needed": needed, "words": field_schema.get("description", "")}


# --- Tokens ---------------------------------------------------------------------------------------


@logged_in_page
def tokens_page(request: HttpRequest) -> HttpResponse:
    return _page(request)


def _page(
    request: HttpRequest, new_token: str = "", typed: Any = None, status: int = 200
) -> HttpResponse:
    rows = ApiToken.objects.filter(owner=int(request.user.pk or 0)).select_related("project")
    shown_tokens = list(rows[: MOST_SHOWN + 1])
    context = {
        "tokens": shown_tokens[:MOST_SHOWN],
        "url": settings.EARNEST_PUBLIC_URL,
        "left_out": len(shown_tokens) > MOST_SHOWN,
        "now": timezone.now(),
        "scopes": tokens.SCOPES.items(),
        "days": tokens.DAYS,
        "projects": projects_of(request.user),
        "made": new_token,
        "typed": typed or {"scopes": [tokens.READ], "days": "90"},
        "longest": tokens.LONGEST_NAME,
    }
    return render(request, "rest/tokens.html", context, status=status)


@never_cache
@logged_in_post
def tokens_do(request: HttpRequest) -> HttpResponse:
    action = ACTIONS.get(request.POST.get("action", ""))
    if action is None:
        messages.error(request, "This action does not exist.")
        return redirect("tokens")
    return action(request)


@again  # type: ignore[untyped-decorator]
def _make(request: HttpRequest) -> HttpResponse:
    """The page that follows shows the token, and no other page ever does."""
    form = request.POST
    project = None
    try:
        if number := _number(form.get("project", "")):
            project = projects_of(request.user).filter(pk=number).first()
            if project is None:
                raise TokenError("You are not a member of this project.")
        new_token = tokens.make_token(
            request.user,
            form.get("name", ""),
            form.getlist("scope"),
            _number(form.get("days", "")),
            project,
            by_provider=bool(request.session.get(STRONG)),
        )
    except TokenError as error:
        messages.error(request, str(error))
        typed = form.dict() | {"scopes": form.getlist("scope")}
        return _page(request, typed=typed, status=400)
    return _page(request, new_token=new_token)


def _revoke(request: HttpRequest) -> HttpResponse:
    mine = ApiToken.objects.filter(owner=int(request.user.pk or 0))
    ended = tokens.revoke_token(mine, _number(request.POST.get("token", "")), request.user)
    words = f"Token “{ended.name}” revoked." if ended else "It was already revoked."
    messages.success(request, words)
    return redirect("tokens")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


ACTIONS: dict[str, Callable[[HttpRequest], HttpResponse]] = {"make": _make, "revoke": _revoke}
