"""Who may do what through the API: every route and method as everybody, against one table."""

from datetime import timedelta

import pytest
from django.http import Http404
from django.urls import reverse
from django.utils import timezone

from listening.access import rights
from listening.models import Draft, Membership, Project, Study
from rest import tokens
from rest.models import ApiToken
from rest.routes import api
from tests.factories import make_study, make_user
from tests.listening.test_access import ROLES, VALUES, expected
from tests.own_cache import empty_cache
from tests.rest.asking import Script, token_of

pytestmark = pytest.mark.django_db
LOOK, ANALYSE, EDIT = "look", "analyse", "edit"
READ, RATINGS, WRITE = "read", "ratings", "write"
TABLE = {  # route and method -> the token's scope, and its owner's right
    ("api-v1-study", "GET"): (READ, LOOK),
    ("api-v1-study", "PUT"): (WRITE, EDIT),
    ("api-v1-study", "PATCH"): (WRITE, EDIT),
    ("api-v1-state", "POST"): (WRITE, EDIT),
    ("api-v1-findings", "GET"): (READ, LOOK),
    ("api-v1-preview", "GET"): (READ, LOOK),
    ("api-v1-copies", "POST"): (WRITE, EDIT),
    ("api-v1-progress", "GET"): (READ, LOOK),
    ("api-v1-sessions", "GET"): (RATINGS, ANALYSE),
    ("api-v1-decisions", "POST"): (WRITE, EDIT),
    ("api-v1-ratings", "GET"): (RATINGS, ANALYSE),
    ("api-v1-results", "GET"): (READ, LOOK),
    ("api-v1-file", "GET"): (READ, LOOK),
    ("api-v1-runs", "GET"): (READ, LOOK),
    ("api-v1-runs", "POST"): (WRITE, ANALYSE),
    ("api-v1-run", "GET"): (READ, LOOK),
    ("api-v1-run", "DELETE"): (WRITE, ANALYSE),
    ("api-v1-scoring-runs", "GET"): (READ, LOOK),
    ("api-v1-scoring-runs", "POST"): (WRITE, ANALYSE),
    ("api-v1-scoring-run", "GET"): (READ, LOOK),
    ("api-v1-scoring-run", "DELETE"): (WRITE, ANALYSE),
    ("api-v1-scores", "GET"): (READ, ANALYSE),
    ("api-v1-upload", "GET"): (READ, EDIT),
    ("api-v1-upload", "PUT"): (WRITE, EDIT),
    ("api-v1-upload", "DELETE"): (WRITE, EDIT),
}
OF_ACCOUNT = {  # of what the token reaches, or of its account
    ("api-v1-methods", "GET"): READ,
    ("api-v1-presets", "GET"): READ,
    ("api-v1-preset", "GET"): READ,
    ("api-v1-plans", "POST"): READ,
    ("api-v1-studies", "GET"): READ,
    ("api-v1-studies", "POST"): WRITE,
    ("api-v1-validations", "POST"): WRITE,
    ("api-v1-uploads", "POST"): WRITE,
    ("api-v1-webhooks", "GET"): READ,
    ("api-v1-webhooks", "POST"): WRITE,
    ("api-v1-webhook", "DELETE"): WRITE,
}
SCOPES = TABLE.keys() | OF_ACCOUNT.keys()


@pytest.fixture(autouse=True)
def _empty_cache():
    empty_cache()


@pytest.fixture
def lab():
    project = Project.objects.create(name="Lab")
    for role in ROLES:
        Membership.objects.create(project=project, user=make_user(role), role=role)
    study = make_study(key="voices", items=2)
    Study.objects.update(project=project)
    Draft.objects.create(owner=study.owner, project=project, code="labs-draft")
    make_user("root", is_superuser=True)
    return project


def methods_of(route):
    view = route.callback.cls
    return [each.upper() for each in view.http_method_names if hasattr(view, each)]


def address_of(route):
    names = route.pattern.regex.groupindex
    return reverse(route.name, kwargs={name: VALUES.get(name, 1) for name in names})[8:]


def outcome(answer):
    assert answer["Content-Type"] == "application/problem+json", answer.content
    assert answer["Cache-Control"] == "private, no-store"
    told = answer.json()
    if answer.status_code == 404:
        said = {"passed": "in"}.get(told["detail"], told["detail"])
        return "unknown" if "of yours" in said else said
    return {401: "log in", 403: "role"}.get(answer.status_code, told)


@pytest.mark.slow
def test_every_method_asks_the_one_place_that_decides_and_gets_what_the_table_says(
    lab, monkeypatch
):
    check = rights._check

    def stop_where_it_passes(wants, may):
        check(wants, may)
        raise Http404("passed")

    monkeypatch.setattr(rights, "_check", stop_where_it_passes)
    people = {"nobody": Script(), "stranger": Script(token_of("researcher"))}
    people |= {role: Script(token_of(role)) for role in ROLES}
    people["root"] = Script(token_of("root"))  # no superuser through a token
    tried = set()
    for route in api:
        for method in methods_of(route):
            tried.add((route.name, method))
            if (route.name, method) not in TABLE:
                assert (route.name, method) in OF_ACCOUNT
                continue
            right = TABLE[route.name, method][1]
            kind, body, query = "application/json", {}, ""
            if route.name == "api-v1-upload":
                kind, body = "application/octet-stream", b"x"
                query = {"PUT": "?size=1&offset=0", "GET": "?size=1"}.get(method, "")
            for who, script in people.items():
                path = address_of(route) + query
                answer = script.ask(method, path, body, content_type=kind)
                wanted = expected("stranger" if who == "root" else who, right)
                assert outcome(answer) == wanted, (who, route.name, method)
    assert tried == SCOPES


@pytest.mark.medium
def test_a_token_does_what_its_scopes_say_and_no_more(lab):
    scripts = {scope: Script(token_of("owner", scope)) for scope in tokens.SCOPES}
    for route in api:
        for method in methods_of(route):
            wanted = OF_ACCOUNT.get((route.name, method)) or TABLE[route.name, method][0]
            for scope in set(tokens.SCOPES) - {wanted}:
                answer = scripts[scope].ask(method, address_of(route), {})
                assert answer.status_code == 403, (route.name, method, scope)
                assert f"lacks the scope “{wanted}”" in answer.json()["detail"]


@pytest.mark.medium
def test_a_token_of_a_project_reaches_nothing_else(lab):
    make_study(key="private", items=2)
    Study.objects.filter(key="private").update(owner=make_user("owner"))
    everything, labs = Script(token_of("owner")), Script(token_of("owner", project=lab))
    listed = [each.get("studies").json()["results"] for each in (everything, labs)]
    keys = [[study["key"] for study in found] for found in listed]
    assert keys == [["private", "voices"], ["voices"]]
    assert everything.get("studies/private").status_code == 200
    assert labs.get("studies/private").status_code == 404
    assert labs.get("webhooks").status_code == 403
    Draft.objects.update(project=None, owner=make_user("owner"))
    assert labs.get("uploads/labs-draft?size=1").status_code == 404
    Membership.objects.filter(user=make_user("owner")).delete()  # out of the project
    assert labs.get("studies/voices").status_code == 404


@pytest.mark.medium
def test_a_token_that_is_over_says_why_and_opens_nothing(lab):
    token = token_of("owner")
    script, rows = Script(token), ApiToken.objects.filter(digest=tokens.digest(token))
    assert script.get("studies").status_code == 200
    row = rows.get()
    assert token not in str(ApiToken.objects.values_list())
    assert row.last_used_at is not None
    rows.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "expired on" in script.get("studies").json()["detail"]
    rows.update(expires_at=timezone.now() + timedelta(days=1))
    tokens.revoke_token(rows, row.pk, row.owner)
    answer = script.get("studies")
    assert "was revoked" in answer.json()["detail"]
    assert answer["WWW-Authenticate"] == 'Bearer realm="Earnest"'
    lab.needs_two_factor = True
    lab.save()
    fresh = Script(token_of("editor"))
    assert "second factor" in fresh.get("studies").json()["detail"]
    ApiToken.objects.update(by_provider=True)
    assert fresh.get("studies").status_code == 200
    make_user("editor").__class__.objects.filter(username="editor").update(is_active=False)
    assert fresh.get("studies").status_code == 401
    assert Script("earnest_guess").get("studies").status_code == 401


@pytest.mark.medium
def test_a_script_that_asks_too_often_hears_when_to_come_back(lab, monkeypatch):
    from rest.tokens import TokenThrottle

    monkeypatch.setattr(TokenThrottle, "rate", "2/min")
    one, other = Script(token_of("owner")), Script(token_of("editor"))
    assert [one.get("studies").status_code for _ in range(3)] == [200, 200, 429]
    answer = one.get("studies")
    assert 0 < int(answer["Retry-After"]) <= 60
    assert other.get("studies").status_code == 200
