"""Registers listening with Django."""

from django.apps import AppConfig


class ListeningConfig(AppConfig):
    name = "listening"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Sign-on checks more than allauth; what other rooms do with a study is logged and told."""
        from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider

        from listening.accounts.sign_on import Provider
        from listening.common.signals import acted, analysed, closed, look_failed, look_made
        from listening.models.study_log import note_action
        from listening.notifications.occurrences import note_analysis
        from listening.recruitment.closing import look_when_closed
        from listening.studies.stopping import note_failed_look, store_look

        OpenIDConnectProvider.oauth2_adapter_class = Provider
        acted.connect(note_action, dispatch_uid="listening.models.study_log")
        analysed.connect(note_analysis, dispatch_uid="listening.notifications")
        closed.connect(look_when_closed, dispatch_uid="listening.recruitment.closing")
        look_failed.connect(note_failed_look, dispatch_uid="listening.studies.stopping.failed")
        look_made.connect(store_look, dispatch_uid="listening.studies.stopping")
