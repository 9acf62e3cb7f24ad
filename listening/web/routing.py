"""The WebSocket routes of this room."""

from typing import Any

from django.conf import settings
from django.urls import path

from listening.web.researcher.live_monitor import StudyMonitor

BELOW = f"{settings.EARNEST_PATH}/".lstrip("/")
websocket_urlpatterns: list[Any] = [
    path(f"{BELOW}ws/studies/<slug:key>/", StudyMonitor.as_asgi(), name="study-monitor"),
]
