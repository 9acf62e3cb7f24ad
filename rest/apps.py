"""Registers the REST API with Django."""

from django.apps import AppConfig


class RestConfig(AppConfig):
    name = "rest"
    default_auto_field = "django.db.models.BigAutoField"
