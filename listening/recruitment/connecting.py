"""A researcher's token: tried, sealed, and what its workspace allows found out."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone
from redis.exceptions import RedisError

from listening.models import Connection, Draft, Project, Study
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.prolific import Prolific, ProlificError, Refused
from listening.recruitment.prolific.client import API, TOKEN, TRIES, Hold

FEATURES = {  # name -> what a researcher reads
    "fixed_screen_out": "A fixed payment for people who are screened out",
    "secure_links": "Signed links: who arrives was sent by Prolific",
    "dynamic_payment": "A part of the reward, by our decision",
}
PROBE_NAME = "Earnest tries what this workspace allows (deleted at once)"


def is_play() -> bool:
    """Whether this server talks to a double of Prolific: no real money moves."""
    return bool(settings.EARNEST_PROLIFIC_API != API)


def pages_of_participants() -> str:
    """Where raters go back to; a double has these pages beside its API."""
    return settings.EARNEST_PROLIFIC_API if is_play() else "https://app.prolific.com"


class SharedHold(Hold):
    """Until when Prolific asked not to be asked again by this connection, in any process."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.name = f"prolific/hold/{connection.pk}"

    def read(self) -> float:
        with suppress(RedisError):
            return float(cache.get(self.name) or 0.0)
        return self.until

    def write(self, until: float) -> None:
        self.until = until
        with suppress(RedisError):
            if until:
                cache.set(self.name, until, timeout=max(until - time.time(), 1.0))
            else:
                cache.delete(self.name)


def client_of(connection: Connection, *, tries: int = TRIES) -> Prolific:
    """By a connection's token; pages that somebody waits for ask with one try."""
    hold, api = SharedHold(connection), settings.EARNEST_PROLIFIC_API
    return Prolific(connection.token, api=api, hold=hold, tries=tries)


Holder = User | Project


def connection_of(holder: Holder | None) -> Connection | None:
    """The connection of a person, or of a project; one whose token was forgotten, too."""
    field = "of_project" if isinstance(holder, Project) else "owner"
    return Connection.objects.filter(**{field: holder}).first() if holder is not None else None


def connection_for(study: Study | Draft) -> Connection | None:
    """By which a study is recruited, or will be: that of its project, else that of its owner."""
    return connection_of(study.project or study.owner)


def connect(holder: Holder, token: str) -> Connection:
    """Keeps a token that works; RecruitmentError where it does not, and nothing is changed."""
    token = token.strip()
    if not token:
        raise RecruitmentError("Paste the token that Prolific shows under Settings, API token.")
    if not TOKEN.fullmatch(token):
        raise RecruitmentError(
            "This is not a token: a token has only Latin letters, digits and signs, without "
            "spaces. Copy it from Prolific again."
        )
    with Prolific(token, api=settings.EARNEST_PROLIFIC_API) as prolific:
        try:
            me = prolific.me()
            workspaces = prolific.workspaces()
        except Refused as refused:
            if refused.is_token or refused.status == 403:
                raise RecruitmentError(
                    "Prolific does not know this token. Copy it once more, whole."
                ) from None
            raise RecruitmentError(f"Prolific said: {refused}") from None
        except ProlificError as error:
            raise RecruitmentError(f"{error} The token was not kept; try again.") from None
    if not workspaces:
        raise RecruitmentError("This account has no workspace at Prolific. Make one there first.")
    connection = connection_of(holder) or Connection(
        owner=None if isinstance(holder, Project) else holder,
        of_project=holder if isinstance(holder, Project) else None,
    )
    connection.token = token
    connection.account = str(me.get("email") or me.get("id") or "")[:200]
    connection.save()
    if connection.workspace not in {each.id for each in workspaces}:
        choose_workspace(connection, workspaces[0].id)
    return connection


def choose_workspace(connection: Connection, workspace: str, project: str = "") -> None:
    """From now on drafts go there; what it allows is found out anew."""
    with client_of(connection) as prolific:
        titles = {each.id: each.title for each in prolific.workspaces()}
        if workspace not in titles:
            raise RecruitmentError("This account has no such workspace at Prolific.")
        projects = {each.id: each.title for each in prolific.projects(workspace)}
        if project and project not in projects:
            raise RecruitmentError("This workspace has no such project at Prolific.")
        chosen = project or next(iter(projects), "")
        connection.workspace, connection.workspace_title = workspace, titles[workspace]
        connection.project, connection.project_title = chosen, projects.get(chosen, "")
        connection.currency = prolific.balance(workspace).currency
        connection.features = probe(prolific, connection.project)
    connection.problem, connection.tried_at = "", timezone.now()
    connection.save()


def probe(prolific: Prolific, project: str) -> dict[str, bool]:
    """What the workspace allows: a draft with each feature is made, which costs nothing, and
    deleted; a feature is known to be missing only where its draft is refused."""
    features: dict[str, bool] = {}
    for name in FEATURES:
        try:
            draft = prolific.create_study(_draft_with(name, project))
        except Refused as refused:
            if refused.status in (400, 403):
                features[name] = False
            continue
        except ProlificError:
            continue
        features[name] = True
        prolific.delete_draft(draft.id)
    return features


def _draft_with(feature: str, project: str) -> dict[str, Any]:
    code: dict[str, Any] = {
        "code": "EARNEST0",
        "code_type": "COMPLETED",
        "actor": "participant",
        "actions": [{"action": "MANUALLY_REVIEW"}],
    }
    codes = [code]
    if feature == "fixed_screen_out":
        action = {
            "action": "FIXED_SCREEN_OUT_PAYMENT",
            "fixed_screen_out_reward": 20,
            "slots": 1,
        }
        codes.append(code | {"code": "EARNEST1", "code_type": "SCREENED_OUT", "actions": [action]})
    if feature == "dynamic_payment":
        action = {"action": "DYNAMIC_PAYMENT"}
        codes.append(
            code
            | {
                "code": "EARNEST1",
                "code_type": "OTHER",
                "actor": "researcher",
                "actions": [action],
            }
        )
    body: dict[str, Any] = {
        "name": PROBE_NAME,
        "internal_name": PROBE_NAME,
        "description": PROBE_NAME,
        "external_study_url": settings.EARNEST_PUBLIC_URL + "/",
        "prolific_id_option": "url_parameters",
        "completion_codes": codes,
        "total_available_places": 1,
        "estimated_completion_time": 10,
        "reward": 200,
        "device_compatibility": [],
        "peripheral_requirements": [],
        "filters": [],
    }
    if project:
        body["project"] = project
    if feature == "secure_links":
        body["is_external_study_url_secure"] = True
    return body


def disconnect(connection: Connection) -> None:
    """Forgets the token; what was recruited with it stays, and can be connected again."""
    if connection.hooks:
        with client_of(connection) as prolific:
            for subscription in connection.hooks.values():
                try:
                    prolific.unsubscribe(subscription)
                except ProlificError:
                    continue  # it will be refused here, and disabled there after five days
    connection.token, connection.hook_secret, connection.hooks = "", "", {}
    connection.save(update_fields=["token", "hook_secret", "hooks"])
