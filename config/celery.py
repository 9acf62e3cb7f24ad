"""The Celery application: jobs are found in each room's jobs.py, queues are set in settings."""

import os

from celery import Celery
from click import Option

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")  # prepare has run them; they import every page

app = Celery("earnest")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.user_options["worker"].add(
    Option(("--clock",), is_flag=True, help="Send the jobs that are due.")
)
app.user_options["worker"].add(
    Option(("--rest-after",), type=float, default=0, help="End after S seconds without a job.")
)
app.steps["worker"].update(("config.run.worker_steps:Clock", "config.run.worker_steps:Rest"))
app.autodiscover_tasks(related_name="jobs")
app.autodiscover_tasks(["analysis.web"], related_name="jobs")
app.autodiscover_tasks(["analysis.web"], related_name="planning_jobs")
app.autodiscover_tasks(["analysis.web"], related_name="look_jobs")
