"""The Celery application: jobs are found in each room's jobs.py, queues are set in settings."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")  # prepare has run them; they import every page

app = Celery("earnest")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="jobs")
app.autodiscover_tasks(["analysis.web"], related_name="jobs")
app.autodiscover_tasks(["analysis.web"], related_name="planning_jobs")
