"""The live monitor of one study: a WebSocket for its owner that ticks once a second."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from importlib import import_module
from typing import Any, ClassVar

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError
from django.urls import path
from redis.exceptions import RedisError

from listening.access.rights import visible_studies
from listening.accounts.required_login import lacks_second_factor
from listening.selectors.progress import Snapshot, latest_progress

NOT_LOGGED_IN = 4403
NO_SUCH_STUDY = 4404
TOO_MANY = 4429
TRY_LATER = 1013


class StudyMonitor(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # Channels is untyped
    """Sends a study's progress when it changed, and a heartbeat when it did not."""

    channel_layer_alias = ""  # none: the shared aggregate is enough, and outlives a lost Valkey
    tick_s = 1.0
    heartbeat_s = 15.0
    rights_s = 3.0  # how often it asks whether this account may still watch, whatever is sent
    most_open = 30  # sockets of one account in one web process
    open_of: ClassVar[Counter[int]] = Counter()  # by account; the loop's thread alone counts

    async def connect(self) -> None:
        self.ticking: asyncio.Task[None] | None = None
        self.account: int | None = None
        self.study = str(self.scope["url_route"]["kwargs"]["key"])
        await self.accept()  # first, so that the browser learns the reason of a refusal
        refusal = await self._refusal()
        if refusal is None:
            await self.close(code=TRY_LATER)
        elif refusal:
            await self.close(code=refusal)
        elif self.open_of[self.scope["user"].pk] >= self.most_open:
            await self.close(code=TOO_MANY)
        else:
            self.account = self.scope["user"].pk
            self.open_of[self.account] += 1
            self.ticking = asyncio.create_task(self._tick())

    async def disconnect(self, code: int) -> None:
        if self.ticking is not None:
            self.ticking.cancel()
        if self.account is not None:
            self.open_of[self.account] -= 1
            if not self.open_of[self.account]:
                del self.open_of[self.account]
            self.account = None

    async def receive(self, *args: Any, **kwargs: Any) -> None:
        """The page has nothing to say; what comes is ignored, whatever it is."""

    async def _refusal(self) -> int | None:
        """0 when this user may watch this study, now; else the code to close with.

        None while the database is away: nobody can say, and nothing is sent meanwhile.
        """
        try:
            return int(await database_sync_to_async(self._check_right)())
        except DatabaseError:
            return None

    def _check_right(self) -> int:
        user = self.scope["user"]
        if not user.is_authenticated:
            return NOT_LOGGED_IN
        try:
            user.refresh_from_db()
        except ObjectDoesNotExist:
            return NOT_LOGGED_IN
        sessions = import_module(settings.SESSION_ENGINE).SessionStore
        session = sessions(self.scope["session"].session_key)  # empty when ended or too old
        if session.get(HASH_SESSION_KEY) != user.get_session_auth_hash():
            return NOT_LOGGED_IN
        if lacks_second_factor(user, session):
            return NOT_LOGGED_IN
        mine = visible_studies(user).filter(key=self.study)
        return 0 if mine.exists() else NO_SUCH_STUDY

    async def _tick(self) -> None:
        shown = ""
        refusal: int | None = 0
        sent_at = checked_at = time.monotonic()
        while True:
            if time.monotonic() - checked_at >= self.rights_s or refusal is None:
                checked_at, refusal = time.monotonic(), await self._refusal()
                if refusal:
                    await self.close(code=refusal)
                    return
            known = refusal is not None
            snapshot = await database_sync_to_async(self._snapshot)() if known else None
            if snapshot and snapshot["version"] != shown:
                shown, sent_at = snapshot["version"], time.monotonic()
                await self.send_json({"type": "progress", "progress": snapshot["progress"]})
            elif time.monotonic() - sent_at >= self.heartbeat_s:
                sent_at = time.monotonic()
                await self.send_json({"type": "heartbeat", "counting": snapshot is not None})
            await asyncio.sleep(self.tick_s)

    def _snapshot(self) -> Snapshot | None:
        """None while the database or the cache is away: the next tick asks again."""
        try:
            return latest_progress(self.study)
        except (DatabaseError, RedisError):
            return None


BELOW = f"{settings.EARNEST_PATH}/".lstrip("/")
websocket_urlpatterns: list[Any] = [
    path(f"{BELOW}ws/studies/<slug:key>/", StudyMonitor.as_asgi(), name="study-monitor"),
]
