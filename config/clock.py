"""The Celery application of beat: it sends names of jobs at their time, and needs no models.

Its own, as a process that had imported every page and job only to send their names held three
times the memory.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from celery import Celery
from django.apps import apps
from django.conf import settings
from django.utils.log import configure_logging

from config.operations import error_reports, heartbeats
from listening.common.job_queues import mark  # noqa: F401  # connected: jobs say when they were sent

apps.populate(())  # none of them: the heartbeat is a statement of its own
configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
app = Celery("earnest", fixups=[])
app.config_from_object("django.conf:settings", namespace="CELERY")
error_reports.start()
heartbeats.connect()
