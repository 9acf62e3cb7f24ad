"""What all hosts of an installation share, compared when a process starts and by `/readyz`.

Each process writes short fingerprints beside its heartbeat; none of them says what it stands for.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.core.checks import CheckMessage, register
from django.core.checks import Error as CheckError
from django.core.exceptions import ImproperlyConfigured

from config.environment import kept_secret
from config.run.embedded_servers import POSTGRES, VALKEY

FOLDER_ID = "folder_id"  # a file whose content tells a shared folder from a copy of it
STALE_S = 45.0  # a process that wrote nothing for so long has missed four heartbeats
LIVING = """
SELECT name, shares FROM operations_heartbeat
WHERE at > clock_timestamp() - make_interval(secs => %s) ORDER BY name
"""
REMEDIES = {
    "secret key": "Raters and researchers would lose their sessions. Mount one EARNEST_VAR on all "
    "hosts.",
    "EARNEST_VAR": "Drafts and clips would be missing, and sessions lost. Mount one folder on all "
    "hosts.",
    "MEDIA_STORE": "Clips would be missing. Set the same MEDIA_STORE on all hosts.",
    "REDIS_URL": "Limits and jobs would be counted twice. Set the same REDIS_URL on all hosts.",
}
SCORING = ("MEDIA_STORE", "REDIS_URL")  # all that machines share which score and do nothing else


def shared_parts(roles: str = "") -> dict[str, str]:
    """The fingerprint of each part, for a process with these roles; of servers that answer."""
    var: Path = settings.EARNEST_VAR
    parts = {
        "secret key": settings.SECRET_KEY,
        "EARNEST_VAR": kept_secret(var / FOLDER_ID),
        "MEDIA_STORE": _media(),
        "REDIS_URL": _valkey(),
    }
    wanted = SCORING if roles == "gpu" else tuple(parts)
    return {
        name: sha256(f"{name} {value}".encode()).hexdigest()[:16]
        for name, value in parts.items()
        if value and name in wanted
    }


def _media() -> str:
    store = settings.STORAGES["default"]
    if "s3" in store["BACKEND"]:
        return f"{store['OPTIONS']['bucket_name']}/{store['OPTIONS']['location']}"
    try:
        return kept_secret(Path(settings.MEDIA_ROOT) / FOLDER_ID)
    except ImproperlyConfigured:  # a machine that only reads clips
        return ""


def _valkey() -> str:
    """A name that the first who asks gives the server; empty while it is away."""
    if VALKEY in settings.EMBEDDED:
        return kept_secret(settings.EARNEST_VAR / FOLDER_ID)
    cache: dict[str, Any] = settings.CACHES["default"]
    name = f"{cache['KEY_PREFIX']}-server-id"
    try:
        with redis.Redis.from_url(cache["LOCATION"], **cache["OPTIONS"]) as client:
            client.set(name, secrets.token_hex(16), nx=True)
            return str(client.get(name))
    except redis.RedisError:
        return ""


def written(roles: str) -> str:
    """The parts as a heartbeat keeps them; empty where no other host can use this database."""
    return "" if POSTGRES in settings.EMBEDDED else json.dumps(shared_parts(roles))


def differing(
    own: Mapping[str, str], others: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """(part, process) for each part that a process of another host has otherwise."""
    here = socket.gethostname()
    for name, shares in others:
        if name.rpartition("@")[2] == here or not shares:
            continue
        theirs = json.loads(shares)
        yield from ((part, name) for part in own if theirs.get(part, own[part]) != own[part])


def problems(roles: str = "") -> list[str]:
    """A sentence for each part that this process does not share with the others that run now."""
    if POSTGRES in settings.EMBEDDED:
        return []
    import psycopg
    from django.db import connection

    try:
        with psycopg.connect(**connection.get_connection_params()) as session:
            others = session.execute(LIVING, [STALE_S]).fetchall()
    except (psycopg.errors.UndefinedColumn, psycopg.errors.UndefinedTable):
        return []  # nothing runs on a database that is not prepared
    found = dict(differing(shared_parts(roles), others))
    if "EARNEST_VAR" in found:  # the others are in it, or read from it
        found = {part: name for part, name in found.items() if part in ("EARNEST_VAR", "REDIS_URL")}
    return [
        f"This host and {name} do not have the same {part}. {REMEDIES[part]}"
        for part, name in found.items()
    ]


@register("hosts", deploy=True)
def check_hosts(**_: Any) -> list[CheckMessage]:
    """`manage.py check --deploy`: an error for each part that this host does not share."""
    return [CheckError(text, id="earnest.E001") for text in problems()]


def refuse_strangers(roles: str) -> None:
    """Raise ImproperlyConfigured where a process of these roles would not share what it must."""
    if found := problems(roles):
        raise ImproperlyConfigured(" ".join(found))
