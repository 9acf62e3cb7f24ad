"""Registers listening with Django."""

from django.apps import AppConfig


class ListeningConfig(AppConfig):
    name = "listening"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """What other rooms do with a study stands in its log; that an analysis ended is told."""
        from listening.events import note_of_room
        from listening.notifications.hearing import note_analysis
        from listening.signals import acted, analysed

        acted.connect(note_of_room, dispatch_uid="listening.events")
        analysed.connect(note_analysis, dispatch_uid="listening.notifications")
