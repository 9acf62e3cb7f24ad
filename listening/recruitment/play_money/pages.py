"""The participant's side as small pages: studies, places, completion; a cookie says who it is."""

from __future__ import annotations

import re
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any

from listening.recruitment.play_money import money, people, submissions
from listening.recruitment.play_money.routing import Reply, Request, Routes
from listening.recruitment.play_money.state import ApiError, Json, State

ROUTES = Routes()
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}"
    "form{display:inline-block;margin:.25rem .5rem .25rem 0}button,input,select{font:inherit;"
    "padding:.3rem .7rem}li{margin:.5rem 0}.box{border:1px solid #999;padding:1rem}"
)


def page(
    title: str, *parts: str, status: int = 200, headers: dict[str, str] | None = None
) -> Reply:
    """`parts` are HTML."""
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width">'
    links = '<p><a href="/">Studies</a> · <a href="/submissions">Submissions</a></p>'
    body = f"{links}<h1>{escape(title)}</h1>{''.join(parts)}"
    text = f'<!doctype html><html lang="en"><head>{head}{view}</head><body>{body}</body></html>'
    return Reply(status, text, headers or {}, "text/html; charset=utf-8")


def redirect(url: str, participant: str = "") -> Reply:
    headers = {"Location": url}
    if participant:
        headers["Set-Cookie"] = f"participant={participant}; Path=/; SameSite=Lax; HttpOnly"
    return Reply(303, "", headers, "text/html; charset=utf-8")


def problem(error: ApiError) -> Reply:
    return page(
        "That does not work",
        f'<p id="problem">{escape(str(error.detail))}</p>',
        status=error.status,
    )


def _button(path: str, name: str, text: str) -> str:
    return f'<form method="post" action="{path}"><button id="{name}">{escape(text)}</button></form>'


def _who(request: Request) -> Json | None:
    """Named in the request, or by the cookie."""
    cookie: SimpleCookie = SimpleCookie()
    try:
        cookie.load(request.headers.get("cookie", ""))
    except CookieError:
        cookie.clear()
    cookie_name = cookie["participant"].value if "participant" in cookie else ""
    name = request.query.get("participant") or cookie_name
    participant: Json | None = request.state.data["participants"].get(name)
    return participant


def _require_participant(request: Request) -> Json:
    who = _who(request)
    if who is None:
        raise ApiError(403, "Choose a participant first.")
    return who


def _money(state: State, minor: Any) -> str:
    return f"{state.setting('currency')} {float(minor) / 100:.2f}"


def _mine(request: Request, name: str) -> Json:
    submission = request.state.get("submissions", name)
    if submission["participant"] != _require_participant(request)["id"]:
        raise ApiError(404, "Not a submission of this participant.")
    return submission


# --- Choosing ------------------------------------------------------------------------------------


@ROUTES.add("GET", "/")
def home(request: Request) -> Reply:
    """All studies that the participant may take now."""
    state, who = request.state, _who(request)
    if who is None:
        return page("Who takes part?", _choice(state), _button("/participants", "new", "A new one"))
    items = [
        f'<li><a href="/studies/{study["id"]}">{escape(study["fields"]["name"])}</a>'
        f" – {_money(state, study['fields']['reward'])},"
        f" {study['fields']['estimated_completion_time']} minutes</li>"
        for study in state.all("studies", status="ACTIVE")
        if not submissions.why_not(state, study, who)
    ]
    listed = f'<ul id="studies">{"".join(items)}</ul>' if items else "<p>No studies now.</p>"
    me = f'<p>Participant <code id="participant">{who["id"]}</code></p>'
    if request.query.get("participant"):
        return redirect("/", who["id"])
    return page("Studies", me, listed, "<h2>Somebody else</h2>", _choice(state))


def _choice(state: State) -> str:
    options = [f"<option>{name}</option>" for name in state.data["participants"]]
    if not options:
        return "<p>There are no participants yet.</p>"
    chosen = f'<select name="participant" aria-label="Participant">{"".join(options)}</select>'
    return f'<form method="get" action="/">{chosen}<button id="choose">Choose</button></form>'


@ROUTES.add("POST", "/participants")
def new_participant(request: Request) -> Reply:
    return redirect("/", people.create(request.state)["id"])


@ROUTES.add("GET", "/studies/{id}")
def study(request: Request, name: str) -> Reply:
    state, who = request.state, _require_participant(request)
    row = state.get("studies", name)
    own = state.all("submissions", study_id=name, participant=who["id"])
    fields = row["fields"]
    text = re.sub(r"<[^>]*>", " ", fields["description"])
    parts = [f'<p class="box">{escape(text)}</p><p>{_money(state, fields["reward"])}</p>']
    if needs := fields.get("peripheral_requirements"):
        parts.append(f"<p>You need: {escape(', '.join(needs))}</p>")
    parts += [_link(each) for each in own]
    why_not = submissions.why_not(state, row, who)
    if why_not:
        parts.append(f'<p id="why-not">{escape(why_not)}</p>')
    else:
        parts.append(_button(f"/studies/{name}/reserve", "reserve", "Take part in this study"))
    return page(fields["name"], *parts)


def _link(submission: Json) -> str:
    status, url = submission["status"], f"/submissions/{submission['id']}"
    return f'<p><a class="submission" href="{url}">Your submission</a>: {escape(status)}</p>'


@ROUTES.add("POST", "/studies/{id}/reserve")
def reserve(request: Request, name: str) -> Reply:
    who = _require_participant(request)
    submission = submissions.reserve(request.state, request.state.get("studies", name), who)
    return redirect(f"/submissions/{submission['id']}", who["id"])


# --- A place in a study --------------------------------------------------------------------------


@ROUTES.add("GET", "/submissions")
def all_submissions(request: Request) -> Reply:
    state, who = request.state, _require_participant(request)
    items = []
    for each in state.all("submissions", participant=who["id"]):
        name = escape(state.get("studies", each["study_id"])["fields"]["name"])
        bonuses = [_money(state, bonus) for bonus in each["bonus_payments"]]
        extra = f", bonuses {', '.join(bonuses)}" if bonuses else ""
        link = f'<a href="/submissions/{each["id"]}">{name}</a>'
        items.append(f"<li>{link}: <span>{escape(each['status'])}</span>{extra}</li>")
    return page("Submissions", f'<ul id="submissions">{"".join(items)}</ul>')


@ROUTES.add("GET", "/submissions/complete")
def complete(request: Request) -> Reply:
    """Where a study sends its participants at the end, with a code in `cc`."""
    state, who, code = request.state, _require_participant(request), request.query.get("cc", "")
    submission = _open_for(state, who, code)
    if submission is None:
        raise ApiError(404, "There is no open submission.")
    if submission["status"] in ("ACTIVE", "TIMED-OUT"):
        submissions.submit(state, submission, code)
    return redirect(f"/submissions/{submission['id']}", who["id"])


def _open_for(state: State, who: Json, code: str) -> Json | None:
    """The open submission that knows the code; else any open one; else one with this code."""
    mine = state.all("submissions", participant=who["id"])[::-1]
    ranks: list[list[Json]] = [[], [], [], []]
    for each in mine:
        codes = state.get("studies", each["study_id"])["fields"]["completion_codes"]
        knows = any(c["code"] == code and c["actor"] == "participant" for c in codes)
        if each["status"] in ("ACTIVE", "TIMED-OUT"):
            ranks[(0 if each["status"] == "ACTIVE" else 1) if knows else 2].append(each)
        elif each["code"] == code:
            ranks[3].append(each)
    return next((each for rank in ranks for each in rank), None)


TEXTS = {
    "AWAITING REVIEW": "Submitted: the researcher will look at it.",
    "APPROVED": "Approved.",
    "PARTIALLY APPROVED": "Partially approved.",
    "SCREENED OUT": "Screened out: thank you for your time.",
    "RETURNED": "Returned.",
    "REJECTED": "Rejected.",
    "TIMED-OUT": "The time is over.",
    "RESERVED": "Your place is held for 10 minutes.",
    "ACTIVE": "You are taking part.",
}


@ROUTES.add("GET", "/submissions/{id}")
def submission(request: Request, name: str) -> Reply:
    state, mine = request.state, _mine(request, name)
    status, at = mine["status"], f"/submissions/{name}"
    title = state.get("studies", mine["study_id"])["fields"]["name"]
    text = escape(TEXTS.get(status) or str(status))
    parts = [f'<p class="box" id="status" data-status="{escape(status)}">{text}</p>']
    if mine["code"]:
        parts.append(f'<p>Code: <code id="entered">{escape(mine["code"])}</code></p>')
    if mine["return_requested"] and status == "AWAITING REVIEW":
        parts.append('<p id="return-requested">You were asked to return this submission.</p>')
    if status in ("RESERVED", "ACTIVE"):
        parts.append(_button(f"{at}/open", "open", "Open study link"))
    if status in ("ACTIVE", "TIMED-OUT"):
        label = '<label>Completion code <input name="code" id="code" autocomplete="off"></label>'
        parts.append(f'<form method="post" action="{at}/complete">{label}')
        parts.append('<button id="submit">Submit</button></form>')
        parts.append(_button(f"{at}/complete", "nocode", "I have no code"))
    if status in (*money.OPEN,):
        parts.append(_button(f"{at}/return", "return", "Return this submission"))
    bonuses = [_money(state, bonus) for bonus in mine["bonus_payments"]]
    if bonuses:
        parts.append(f'<p id="bonuses">Bonuses: {", ".join(bonuses)}</p>')
    return page(title, *parts)


@ROUTES.add("POST", "/submissions/{id}/open")
def open_study(request: Request, name: str) -> Reply:
    return redirect(submissions.start(request.state, _mine(request, name)))


@ROUTES.add("POST", "/submissions/{id}/return")
def give_back(request: Request, name: str) -> Reply:
    submissions.give_back(request.state, _mine(request, name))
    return redirect(f"/submissions/{name}")


@ROUTES.add("POST", "/submissions/{id}/complete")
def enter_code(request: Request, name: str) -> Reply:
    submissions.submit(request.state, _mine(request, name), request.form.get("code"))
    return redirect(f"/submissions/{name}")
