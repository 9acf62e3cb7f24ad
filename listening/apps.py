"""Registers listening with Django."""

from django.apps import AppConfig


class ListeningConfig(AppConfig):
    name = "listening"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """What other rooms do with a study stands in its log; sign-on checks more than allauth."""
        from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider

        from listening.accounts.sign_on import Provider
        from listening.events import note_of_room
        from listening.signals import acted

        OpenIDConnectProvider.oauth2_adapter_class = Provider
        acted.connect(note_of_room, dispatch_uid="listening.events")
