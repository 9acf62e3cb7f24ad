"""Who may do what: every route as everybody, against one table; and projects with their members."""

import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import middleware as auth_middleware
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotFound
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone

from analysis.models import AnalysisRun
from config import urls
from listening import studies
from listening.access import rights as access
from listening.models import (
    Connection,
    Draft,
    MemberInvitation,
    Membership,
    Project,
    Study,
    StudyEvent,
)
from listening.recruitment.connecting import connection_for
from tests.factories import arrive, make_study, make_user
from tests.listening.test_researcher_pages import messages_of, page_of, words_of
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db
LOOK, ANALYSE, EDIT, OWN = "look", "analyse", "edit", "own"
SEEING = ("viewer", "analyst", "editor", "owner")
ROLES = ("reviewer", *SEEING)
WANTED = {  # every route of a study or a project, and the right that it takes
    LOOK: (
        *("study", "log", "log-csv", "results", "results-state", "results-file", "metrics"),
        *("metrics-state", "metrics-metric", "planning", "so-far", "so-far-box", "study-preview"),
        *("study-preview-clip", "study-preview-sound", "project", "results-clips", "report-card"),
        *("report-card-file", "raters", "raters-plot", "rater", "pilot", "versions", "design"),
        *("study-messages", "study-messages-do", "rater-rules", "draft", "draft-questions"),
        *("draft-questionnaires", "draft-raters", "draft-review", "draft-state", "draft-files"),
        *("draft-clip", "draft-preview", "draft-preview-clip", "draft-preview-sound"),
        *("draft-precision", "reviews", "review-job", "review-agreement", "review-events"),
        *("validity", "corpus", "draft-corpus"),
    ),
    ANALYSE: (
        *("results-run", "results-again", "results-cancel", "results-make", "results-ratings"),
        *("results-sessions", "results-questionnaires", "results-scores", "planning-pilot"),
        *("metrics-score", "metrics-cancel", "metrics-continue", "metrics-csv"),
        *("metrics-install", "metrics-jsonl", "metrics-import", "raters-csv", "definition"),
        *("results-combine", "ratings", "draft-folder", "review-items", "review-codebook"),
        *("review-events-csv", "review-quotes", "review-quotes-file", "preregistration"),
        *("corpus-run", "corpus-file", "draft-corpus-run", "draft-corpus-file"),
    ),
    EDIT: (
        *("study-state", "raters-judge", "simulated-delete", "manage", "manage-do", "recruiting"),
        *("recruiting-do", "ledger", "invitations", "invitations-do", "invitations-csv"),
        *("results-share", "results-unshare", "results-unshare-leaderboard", "pilot-do"),
        *("wording", "draft-save", "draft-upload", "draft-do", "reviews-do"),
        *("review-suggestions", "review-suggest", "validity-do"),
    ),
    OWN: ("project-do", "project-prolific", "project-prolific-do"),
}
MORE = {  # actions that take another right than their route
    ("manage-do", "delete"): OWN,
    ("manage-do", "move"): OWN,
    ("manage-do", "retention"): OWN,
    ("manage-do", "erase"): OWN,
    ("project-do", "leave"): LOOK,
    ("study-messages-do", "limits"): EDIT,
    ("draft-do", "delete"): OWN,
    ("draft-do", "move"): OWN,
}
ABOUT_NO_STUDY = {  # of one's own, or for everybody
    *("account_login", "mfa_authenticate", "mfa_login_webauthn", "account", "account-do"),
    *("mfa_index", "mfa_list_webauthn", "account_reauthenticate", "mfa_reauthenticate"),
    *("mfa_reauthenticate_webauthn", "mfa_activate_totp", "mfa_deactivate_totp"),
    *("mfa_add_webauthn", "mfa_edit_webauthn", "mfa_remove_webauthn", "mfa_view_recovery_codes"),
    *("mfa_generate_recovery_codes", "openid_connect_login", "openid_connect_callback"),
    *("home", "login", "logout", "password", "password-lost", "password-set", "studies"),
    *("deleted-studies", "projects", "join", "prolific", "prolific-do", "prolific-hook", "gallery"),
    *("help", "help-page", "help-image", "help-markdown", "llms"),
    "study-schema",
    *("example-preview", "example-preview-clip", "example-preview-sound", "landing", "session"),
    # a signed link, which ends when its maker's right does: tests/listening/test_preview_doors.py
    *("linked-preview", "linked-preview-clip", "linked-preview-sound"),
    *("check-sound", "api-state", "api-checks", "api-answers", "api-questionnaires", "api-skips"),
    *("shared-results", "shared-clip", "new-study"),
    *("api-comments", "api-loaded", "api-withdraw", "readyz", "metrics", "operations"),
    *("messages", "messages-do", "messages-confirm"),
    # a desk is for whoever has its link: tests/listening/test_review_desk.py
    *("my-reviews", "review-desk", "review-next", "review-verdicts", "review-clip"),
    # about several studies: tests/analysis/test_boards.py
    *("leaderboards", "leaderboard", "leaderboard-do", "leaderboard-share", "leaderboard-unshare"),
    *("leaderboard-file", "shared-leaderboard", "shared-leaderboard-file"),
    *("rest-reference", "tokens", "tokens-do"),
}
VALUES = {"key": "voices", "source": "panel", "form": "csv", "kind": "json", "name": "a.csv"}
VALUES |= {"code": "labs-draft", "stimulus": "a", "check": "volume", "seed": "0" * 32}


def routes(patterns=None) -> dict[str, URLPattern]:
    found: dict[str, URLPattern] = {}
    for each in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(each, URLPattern):
            found[f"{each.pattern}"] = each
        elif getattr(each, "app_name", None) != "admin":
            found |= routes(each.url_patterns)
    return found


def address_of(route: URLPattern, project: int) -> str:
    names = route.pattern.regex.groupindex
    known = VALUES | {"pk": project if "project" in route.name else 1, "project": project}
    return reverse(route.name, kwargs={name: known.get(name, 1) for name in names})


def about_a_study(route: URLPattern) -> bool:
    """Whether its address names a study, a draft or a project."""
    return re.search(r"(studies|drafts)/[<(]|^projects/<", str(route.pattern)) is not None


def is_for_scripts(route: URLPattern) -> bool:
    """Of the API, which knows tokens alone: tests/rest/test_rest_access.py has its table."""
    return str(route.name).startswith("api-v1-")


@pytest.fixture(autouse=True)
def _empty_cache():
    empty_cache()


@pytest.fixture
def lab():
    """A project with a member of each role, and a study of its owner."""
    project = Project.objects.create(name="Lab")
    for role in ROLES:
        Membership.objects.create(project=project, user=make_user(role), role=role)
    study = make_study(key="voices")
    Study.objects.update(project=project)
    study.refresh_from_db()
    Draft.objects.create(owner=study.owner, project=project, code="labs-draft")
    return project


def people(project: Project) -> dict[str, User | AnonymousUser]:
    """Everybody who may ask; whom the study belonged to before is a stranger now."""
    members = {each.role: each.user for each in project.memberships.all()}
    others = {"stranger": make_user("researcher"), "superuser": make_user("root")}
    User.objects.filter(username="root").update(is_superuser=True)
    return {"nobody": AnonymousUser(), **others, **members}


def expected(who: str, wants: str) -> str:
    if who in ("nobody", "stranger", "reviewer"):
        return "log in" if who == "nobody" else "unknown"
    rights = ("", LOOK, ANALYSE, EDIT, OWN)
    if who == "superuser" or ROLES.index(who) >= rights.index(wants):
        return "in"
    return "role"


def outcome(client: Client, url: str, method: str, form: dict[str, str]) -> str:
    answer = getattr(client, method)(url, form)
    if answer.status_code == 405:
        return ""
    if answer.status_code == 302 and answer.url.startswith("/login/"):
        return "log in"
    if answer.status_code == 404:
        said = answer.content.decode()
        return "in" if said == "passed" else "unknown" if "of yours" in said else said
    return {403: "role"}.get(answer.status_code, f"{answer.status_code}: asked nobody")


def said_plainly(request: HttpRequest, exception: Exception) -> HttpResponse:
    """In place of the page, which is made over a thousand times otherwise."""
    return HttpResponseNotFound(str(exception))


@pytest.mark.slow
def test_every_route_asks_the_one_place_that_decides_and_gets_what_the_table_says(lab, monkeypatch):
    check = access._check

    def stop_where_it_passes(wants: str, may: frozenset[str]) -> None:
        check(wants, may)
        raise Http404("passed")  # what comes after is other tests' to try

    monkeypatch.setattr(access, "_check", stop_where_it_passes)
    monkeypatch.setattr(urls, "handler404", said_plainly, raising=False)
    wanted = {name: right for right, names in WANTED.items() for name in names}
    tried = set()
    refused: set[tuple[str, str]] = set()  # methods that a route does not have, for nobody
    for who, user in people(lab).items():
        client = Client()
        if user.is_authenticated:
            user = User.objects.get(pk=user.pk)  # some were changed meanwhile
        monkeypatch.setattr(auth_middleware, "get_user", lambda request, user=user: user)
        for route in routes().values():
            if is_for_scripts(route):
                continue
            if not about_a_study(route):
                assert route.name in ABOUT_NO_STUDY, f"{route.pattern} is not in the table"
                continue
            tried.add(route.name)
            url = address_of(route, lab.pk)
            cases = [("", wanted[route.name])]
            cases += [(act, right) for (name, act), right in MORE.items() if name == route.name]
            for action, right in cases:
                form = {"action": action, "do": action}
                got = {
                    method: outcome(client, url, method, form)
                    for method in ("get", "post")
                    if (route.name, method) not in refused
                }
                refused |= {(route.name, method) for method, said in got.items() if not said}
                assert set(got.values()) - {""} == {expected(who, right)}, (who, route.name, action)
    assert tried == set(wanted)


@pytest.mark.medium
def test_what_a_role_may_not_do_is_not_offered(client, lab):
    arrive(Study.objects.get(), simulated=False)
    seen = {}
    for role in SEEING:
        client.force_login(make_user(role))
        seen[role] = page_of(client, "/studies/voices/") + page_of(
            client, "/studies/voices/raters/"
        )
    for words in ("Pause</button>", "Actions…", ">Recruiting and payments<", ">General<"):
        assert [role for role in SEEING if words in seen[role]] == ["editor", "owner"], words
    AnalysisRun.objects.create(study=Study.objects.get(), estimator="mean_score", state="cancelled")
    for role, offered in {"viewer": False, "analyst": True}.items():
        client.force_login(make_user(role))
        results, metrics = (
            page_of(client, f"/studies/voices/{p}/") for p in ("results", "metrics")
        )
        for words, page in {
            "/results/run/": results,
            "ratings.csv": results,
            "/score/": metrics,
        }.items():
            assert (words in page) is offered, (role, words)
    refused = client.post("/studies/voices/state/", {"to": "closed"})
    assert refused.status_code == 403
    assert "This takes the role editor in the project" in words_of(refused.content.decode())


@pytest.mark.medium
def test_prolific_ids_are_for_who_runs_the_study(client, lab):
    arrive(Study.objects.get(), prolific_id="5f1c0a", simulated=False)
    shown = []
    for name, user in people(lab).items():
        if name not in ("nobody", "stranger", "reviewer"):
            client.force_login(User.objects.get(pk=user.pk))
            shown += [name] * ("5f1c0a" in page_of(client, "/studies/voices/raters/"))
    assert sorted(shown) == ["editor", "owner"]


# --- Projects ------------------------------------------------------------------------------------


def do(client, project: Project, **form: object) -> list[str]:
    return messages_of(client.post(f"/projects/{project.pk}/do/", form, follow=True))


def link_for(client, project: Project, **form: object) -> str:
    (said,) = do(client, project, action="invite", **{"role": "editor", "days": 7, **form})
    return urlsplit(said.rpartition(" ")[2]).path


@pytest.mark.medium
def test_somebody_without_an_account_joins_by_a_link_that_works_once(client, lab):
    client.force_login(make_user("owner"))
    path = link_for(client, lab, whom="Grace")
    assert "Grace, as editor" in words_of(page_of(client, f"/projects/{lab.pk}/"))
    token = path.split("/")[2]
    assert token not in str(MemberInvitation.objects.values_list())
    new = Client()
    assert "owner invites you as editor" in words_of(page_of(new, path))
    form = {"username": "grace", "password1": "short", "password2": "short"}
    assert "too short" in new.post(path, form).content.decode()
    assert not User.objects.filter(username="grace").exists()
    form |= dict.fromkeys(("password1", "password2"), "correct horse battery")
    answer = new.post(path, form, follow=True)
    assert messages_of(answer) == ["You joined the project Lab, as editor."]
    assert "voices" in page_of(new, "/studies/")
    grace = User.objects.get(username="grace")
    assert (grace.is_superuser, grace.is_staff) == (False, False)
    assert Client().get(path).status_code == 404
    assert MemberInvitation.objects.get().used_by == "grace"


@pytest.mark.medium
def test_a_link_that_is_over_or_taken_back_leads_nowhere(client, lab):
    client.force_login(make_user("owner"))
    first, second = link_for(client, lab), link_for(client, lab, days=1)
    newest = MemberInvitation.objects.first()
    assert newest is not None
    said = do(client, lab, action="revoke", invitation=newest.pk)
    assert said == ["The link no longer works."]
    MemberInvitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    client.force_login(make_user("stranger"))
    for path in (first, second):
        assert client.get(path).status_code == 404
        assert client.post(path).status_code == 404
    client.force_login(make_user("owner"))
    assert "offered" in do(client, lab, action="invite", role="god", days=7)[0]


@pytest.mark.medium
def test_who_is_logged_in_joins_with_that_account_and_keeps_a_role_they_have(client, lab):
    client.force_login(make_user("owner"))
    path = link_for(client, lab, role="viewer")
    client.force_login(make_user("editor"))
    assert "in this project already, as editor" in messages_of(client.post(path, follow=True))[0]
    client.force_login(make_user("stranger"))
    client.post(path)
    assert Membership.objects.get(user__username="stranger").role == "viewer"


@pytest.mark.medium
def test_a_project_keeps_an_owner(client, lab):
    client.force_login(make_user("owner"))
    mine = Membership.objects.get(role="owner")
    editor = Membership.objects.get(role="editor")
    for form in (
        {"action": "role", "member": mine.pk, "role": "viewer"},
        {"action": "role", "member": mine.pk, "role": ""},
        {"action": "leave"},
    ):
        assert "keeps an owner" in do(client, lab, **form)[0]
    assert do(client, lab, action="role", member=editor.pk, role="owner") == [
        "editor is owner now."
    ]
    assert do(client, lab, action="leave") == ["You have left Lab."]
    assert client.get("/studies/voices/").status_code == 404


@pytest.mark.medium
def test_a_study_moves_into_a_project_and_its_members_see_it(client):
    study = make_study(key="voices")
    client.force_login(study.owner)
    assert (
        "name of 1 to 120" in messages_of(client.post("/projects/", {"name": " "}, follow=True))[0]
    )
    client.post("/projects/", {"name": "Lab"})
    lab = Project.objects.get()
    viewer = make_user("viewer")
    Membership.objects.create(project=lab, user=viewer, role="viewer")
    alien = Project.objects.create(name="Alien")
    move = {"action": "move", "project": alien.pk}
    answer = client.post("/studies/voices/manage/do/", move, follow=True)
    assert "not an editor or owner" in messages_of(answer)[0]
    client.post("/studies/voices/manage/do/", move | {"project": lab.pk})
    client.force_login(viewer)
    assert "in Lab" in words_of(page_of(client, f"/studies/?project={lab.pk}"))
    client.force_login(study.owner)
    client.post("/studies/voices/manage/do/", move | {"project": ""})
    client.force_login(viewer)
    assert client.get("/studies/voices/").status_code == 404
    said = [e.details["project"]["to"] for e in StudyEvent.objects.filter(what="moved")]
    assert said == ["its owner alone", "Lab"]


@pytest.mark.medium
def test_a_study_of_a_project_is_recruited_with_the_projects_token(client, lab):
    study = Study.objects.get()
    own = Connection.objects.create(owner=study.owner, token="own")
    assert connection_for(study) is None
    client.force_login(make_user("editor"))
    assert "can connect Prolific" in words_of(page_of(client, "/studies/voices/recruiting/"))
    labs = Connection.objects.create(of_project=lab, token="labs")
    assert connection_for(study) == labs
    copy = studies.copy_study(study, make_user("editor"))
    assert connection_for(copy) == labs
    study.project = None
    assert connection_for(study) == own
