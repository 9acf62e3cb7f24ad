"""Every job runs in a worker that has just started, whatever was imported before in other tests."""

import json
import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.db import connection

# One interpreter loads what a worker loads; each job then runs in a child of its own, so that no
# job finds what another one has imported. Those that import SciPy share one child: a second each.
COLD = """\
import json, os, sys
import django
django.setup()
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
settings.CACHES["default"]["KEY_PREFIX"] = sys.argv[2]
from config.celery import app
app.loader.import_default_modules()
given = json.loads(sys.argv[3])
jobs = {name for name in app.tasks if not name.startswith("celery.")}
print("jobs", json.dumps(sorted(jobs)))
sys.stdout.flush()
for calls in given:
    if os.fork():
        os.wait()
        continue
    for name, arguments in calls:
        try:
            app.tasks[name](*arguments)
            said = "done"
        except BaseException as error:
            said = type(error).__name__
        print("ran", json.dumps([name, arguments, said]), flush=True)
    os._exit(0)
"""
NOBODY = 10**9  # no row has this number
GIVEN = {
    "analysis.jobs.check_corpus": [["no-study", "mark"]],
    "analysis.jobs.fit_pairs": [[NOBODY]],
    "analysis.jobs.make_leaderboard": [[NOBODY]],
    "analysis.jobs.make_run_file": [[NOBODY]],
    "analysis.jobs.run_analysis": [[NOBODY]],
    "listening.jobs.recount": [
        ["times", "no-study"],
        ["clips", str(NOBODY)],
        ["progress", "no-study"],
        ["reason-evidence", str(NOBODY)],
    ],
    "listening.jobs.send_invitations": [[[], "Subject", "{link}", False]],
    "listening.jobs.send_message": [[NOBODY]],
    "listening.jobs.sync_recruitment": [[NOBODY]],
    "metrics.jobs.score_shard": [[NOBODY]],
    "metrics.jobs.suggest_codes": [["no-study", NOBODY, "", "ada"]],
}
WITH_SCIPY = {
    "analysis.jobs.check_plan": ["planning/check/cold", {}],
    "analysis.jobs.count_rules": ["no-study", "rules", {}, "mark"],
    "analysis.jobs.estimate_pilot": ["planning/pilot/cold", "no-study"],
}
# What jobs say of rows that are not there, and of a judge that no setting names.
MISSING = {"done", "DoesNotExist", "Http404", "Unavailable"}


@pytest.mark.slow
@pytest.mark.django_db
def test_every_job_runs_in_a_worker_that_has_just_started():
    calls = [[(name, arguments)] for name, given in GIVEN.items() for arguments in given]
    calls += [[(entry["task"], [])] for entry in settings.CELERY_BEAT_SCHEDULE.values()]
    calls.append(list(WITH_SCIPY.items()))
    wanted = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    wanted |= {"EARNEST_VAR": str(settings.EARNEST_VAR), "EARNEST_OFFLINE": "1"}
    command = [sys.executable, "-c", COLD, str(connection.settings_dict["NAME"])]
    command += [settings.CACHES["default"]["KEY_PREFIX"], json.dumps(calls)]
    done = subprocess.run(command, env=wanted, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    jobs = next(json.loads(rest) for kind, rest in lines if kind == "jobs")
    ran = [json.loads(rest) for kind, rest in lines if kind == "ran"]
    assert {name for name, *_ in ran} == set(jobs)  # a new job gets a line in GIVEN
    assert [each for each in ran if each[2] not in MISSING] == []
