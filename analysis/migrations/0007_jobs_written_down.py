"""What waits for its job is written down as asked for: what waits for ever is done at last."""

import hashlib
import json
from typing import Any

from django.db import migrations
from django.utils import timezone

WAIT = {
    "analysis.jobs.run_analysis": ("AnalysisRun", ("queued", "running")),
    "analysis.jobs.make_run_file": ("RunFile", ("queued", "running")),
    "analysis.jobs.make_leaderboard": ("Leaderboard", ("waiting",)),
}


def write_down(apps: Any, schema_editor: Any) -> None:
    now = timezone.now()
    asked = apps.get_model("listening", "AskedJob")
    for job, (model, states) in WAIT.items():
        rows = apps.get_model("analysis", model).objects.filter(state__in=states)
        for pk in rows.values_list("pk", flat=True):
            # as in listening.models.requested_jobs.mark_of
            mark = hashlib.sha256(json.dumps([job, pk], sort_keys=True).encode()).hexdigest()
            fields = {"job": job, "given": [pk], "asked_at": now, "sent_at": now}
            asked.objects.get_or_create(mark=mark, defaults=fields)


class Migration(migrations.Migration):

    dependencies = [
        ("analysis", "0006_leaderboards"),
        ("listening", "0040_asked_jobs"),
    ]

    operations = [migrations.RunPython(write_down, migrations.RunPython.noop)]
