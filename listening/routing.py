"""The WebSocket routes of this room."""

from typing import Any

from django.urls import path

from listening.consumers import StudyMonitor

websocket_urlpatterns: list[Any] = [
    path("ws/studies/<slug:key>/", StudyMonitor.as_asgi(), name="study-monitor"),
]
