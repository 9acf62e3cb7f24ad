"""Registers listening with Django."""

from django.apps import AppConfig


class ListeningConfig(AppConfig):
    name = "listening"
    default_auto_field = "django.db.models.BigAutoField"
