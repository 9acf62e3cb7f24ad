"""The metrics page of a study: whose it is, what it shows, and the job that it starts."""

import html
import json
import os
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from analysis.models import AnalysisRun
from config.missing_packages import Installation
from listening.common import plugins
from listening.models import Stimulus
from metrics.core.metric import Metric, make_metric
from metrics.models import MetricScore, ScoringRun
from tests.factories import make_study
from tests.metrics.test_beside_raters import part, row
from tests.plugged import METRIC

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(monkeypatch):
    monkeypatch.setattr("listening.audio.expected_path", lambda name: f"/nowhere/{name}")
    return make_study(conditions=2, items=2, task={"block_size": 2})


@pytest.fixture
def owner(study) -> Client:
    client = Client()
    client.force_login(study.owner)
    return client


def keep(stimulus: Stimulus, value: float | None, reason: str = "", failed: bool = False) -> None:
    metric = make_metric("srmr")
    MetricScore.objects.create(
        sha256=stimulus.sha256,
        metric="srmr",
        version=metric.version,
        parameters=metric.parameters_dict(),
        value=value,
        reason=reason,
        failed=failed,
        computed_at=timezone.now(),
    )


def text(response) -> str:
    return " ".join(response.content.decode().split())


@pytest.fixture
def queued(monkeypatch):
    found = []
    monkeypatch.setattr("metrics.jobs.score_shard.delay", found.append)
    return found


@pytest.fixture
def committed(django_capture_on_commit_callbacks):
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.mark.medium
def test_the_table_has_means_counts_intervals_and_reasons_by_condition(study, owner):
    a, b, c, _ = study.stimuli.order_by("condition__key", "key")
    keep(a, 2.0)
    keep(b, 4.0)
    keep(c, None, "silent")
    page = text(owner.get(f"/studies/{study.key}/metrics/"))
    assert "<strong>3.000</strong>" in page
    assert "◂0.000 to 15.706" in page  # 3 ± 12.706 · 1.414 / √2, and no SRMR is below 0
    assert "◂ ▸ The interval exceeds the metric’s range" in page
    assert page.count('data-label="cond-0"') == page.count("metrics/metric/?metric=") > 0
    assert "1 × silent" in page
    assert "Listen to the clip" in page
    assert "1 not scored yet" in page
    assert "cond-0" in page


@pytest.mark.medium
def test_runs_of_a_synthesis_stand_beside_the_mean_over_clips(study, owner):
    a, b, *_ = study.stimuli.order_by("condition__key", "key")
    keep(a, 2.0)
    keep(b, 4.0)
    address = f"/studies/{study.key}/metrics/"
    assert "2 runs" not in text(owner.get(address))
    Stimulus.objects.filter(pk=b.pk).update(run=2)
    assert "2 runs: 3 ± 1.4" in text(owner.get(address))


@pytest.mark.medium
def test_a_study_without_scores_says_what_to_do(study, owner):
    page = text(owner.get(f"/studies/{study.key}/metrics/"))
    assert "No scores yet" in page
    assert "reverb_consistency_norm" in page


@pytest.mark.medium
def test_a_study_without_clips_says_so(study, owner, monkeypatch):
    monkeypatch.setattr("listening.selectors.stimulus_rows", lambda key: [])
    assert "No clips yet" in text(owner.get(f"/studies/{study.key}/metrics/"))
    response = owner.post(f"/studies/{study.key}/metrics/score/")
    assert response.status_code == 400
    assert "has no stimuli" in text(response)


@pytest.mark.medium
def test_the_form_starts_a_run_and_the_page_and_its_json_follow_it(study, owner, queued, committed):
    with committed():
        response = owner.post(f"/studies/{study.key}/metrics/score/", {"preset": "fast"})
    run = ScoringRun.objects.get()
    assert (response.status_code, run.asked_by) == (302, study.owner.username)
    assert queued == list(run.shards.values_list("pk", flat=True))
    page = text(owner.get(response.url))
    assert "Waiting for a worker." in page
    assert '<noscript><meta http-equiv="refresh"' in page
    told = owner.get(f"/studies/{study.key}/metrics/state/").json()
    assert (told["works"], told["done"]) == (True, 0)
    assert told["total"] == 4 * len(run.metrics)
    owner.post(f"/studies/{study.key}/metrics/runs/{run.pk}/cancel/")
    page = text(owner.get(response.url))
    assert "The last run was cancelled" in page
    assert "refresh" not in page
    with committed():
        owner.post(f"/studies/{study.key}/metrics/runs/{run.pk}/continue/")
    assert len(queued) == 2


@pytest.mark.medium
def test_ticked_metrics_are_scored_and_nothing_ticked_is_a_sentence(
    study, owner, queued, committed
):
    address = f"/studies/{study.key}/metrics/score/"
    with committed():
        owner.post(address, {"preset": "own", "metric": ["srmr_norm", "srmr"]})
    assert [m["metric"] for m in ScoringRun.objects.get().metrics] == ["srmr_norm", "srmr"]
    for form, said in [
        ({"preset": "own"}, "no metric is selected"),
        ({"preset": "own", "metric": "srmrr"}, "unknown metric srmrr"),
        ({"preset": "slow"}, "no preset is called"),
    ]:
        response = owner.post(address, form)
        assert response.status_code == 400
        assert said in text(response)


@pytest.mark.medium
def test_a_queue_that_does_not_answer_is_a_sentence(study, owner, monkeypatch, committed):
    def broken(shard: int) -> None:
        raise OperationalError("down")

    monkeypatch.setattr("metrics.jobs.score_shard.delay", broken)
    monkeypatch.setattr("django.db.transaction.on_commit", lambda what: what())
    page = owner.post(f"/studies/{study.key}/metrics/score/", follow=True)
    assert b"The job queue does not respond" in page.content


@pytest.mark.medium
def test_a_metric_has_a_page_of_its_own(study, owner):
    a, b, c, _ = study.stimuli.order_by("condition__key", "key")
    keep(a, 2.0)
    keep(b, 4.0)
    keep(c, None, "too short")
    page = text(owner.get(f"/studies/{study.key}/metrics/metric/", {"metric": "srmr"}))
    for said in ("higher is better", "(default)", "too short", "2.0000", a.key, "<circle"):
        assert said in page
    assert "◂0.000 to 15.706" in page  # and no SRMR is below 0
    assert "mono at 16000 Hz (channels averaged, other rates resampled)" in page
    heard = reverse("study-preview-clip", args=[study.key, a.key])
    assert f'<audio controls preload="none" src="{heard}"' in page
    missing = owner.get(f"/studies/{study.key}/metrics/metric/", {"metric": "srmrr"})
    assert missing.status_code == 404


@pytest.mark.medium
def test_scores_leave_as_files(study, owner):
    a, *_ = study.stimuli.order_by("condition__key", "key")
    keep(a, 2.0)
    table = owner.get(f"/studies/{study.key}/metrics/scores.csv").content.decode().splitlines()
    assert len(table) == 2
    assert table[1].startswith(f"{a.key},cond-0,")
    lines = owner.get(f"/studies/{study.key}/metrics/scores.jsonl").content.decode().splitlines()
    assert json.loads(lines[0])["value"] == 2.0


@pytest.mark.medium
def test_too_many_conditions_are_cut_and_it_is_said(study, owner, monkeypatch):
    monkeypatch.setattr("metrics.web.page.MOST_CONDITIONS", 1)
    keep(study.stimuli.first(), 2.0)
    page = text(owner.get(f"/studies/{study.key}/metrics/"))
    assert "Only the first 1 conditions are shown. The files contain 1 more" in page


@pytest.mark.medium
def test_own_scores_are_imported_by_the_page_or_refused_whole(study, owner):
    a, b, *_ = study.stimuli.order_by("condition__key", "key")
    address = f"/studies/{study.key}/metrics/import/"

    def upload(content: str, **form):
        file = SimpleUploadedFile("mine.csv", content.encode())
        return owner.post(address, {"file": file, **form}, follow=True)

    response = upload(f"stimulus,mos_net\n{a.key},3.5\nnobody,1\n")
    assert response.status_code == 400
    assert "mine.csv, row 3: no clip of the study is called" in html.unescape(text(response))
    assert not MetricScore.objects.exists()
    page = text(upload(f"stimulus,mos_net\n{a.key},3.5\n{b.key},\n"))
    assert "Imported: mos_net (2)." in page
    assert '<span class="badge">imported</span>' in page
    assert "Choose a file first" in text(owner.post(address))
    other = SimpleUploadedFile("mine.exe", f"stimulus,mos_net\n{b.key},1\n".encode())
    assert "Choose a file that ends in .csv, .tsv, .txt, .json, .jsonl, or is called" in text(
        owner.post(address, {"file": other})
    )
    espnet = SimpleUploadedFile("utt2pmos", f"{a.key} 3.5\n{b.key} 4\n".encode())
    assert "Imported: pmos (2)." in text(owner.post(address, {"file": espnet}, follow=True))


@pytest.mark.medium
def test_only_the_owner_and_superusers_see_it(study, owner):
    address = f"/studies/{study.key}/metrics/"
    assert Client().get(address).url.startswith("/login/")
    stranger = Client()
    stranger.force_login(User.objects.create_user("stranger"))
    assert stranger.get(address).status_code == 404
    assert stranger.post(address + "score/").status_code == 404
    chief = Client()
    chief.force_login(User.objects.create_superuser("chief"))
    assert chief.get(address).status_code == 200
    assert owner.get("/studies/nothing/metrics/").status_code == 404


@pytest.mark.medium
def test_what_is_kept_of_the_page_changes_with_scores_and_texts(study, owner, monkeypatch):
    url = f"/studies/{study.key}/metrics/"
    stimulus = Stimulus.objects.filter(study=study).first()
    keep(stimulus, None, "Broke", failed=True)
    assert "1 × Broke" in text(owner.get(url))
    monkeypatch.setattr("metrics.web.page.heard_stimuli", None)
    assert "1 × Broke" in text(owner.get(url))  # kept: nothing is read again
    monkeypatch.undo()
    monkeypatch.setattr("listening.audio.expected_path", lambda name: f"/nowhere/{name}")
    MetricScore.objects.update(value=2.345, reason="", failed=False)
    assert "2.345" in text(owner.get(url))
    MetricScore.objects.update(value=3.456, computed_at=timezone.now())
    assert "3.456" in text(owner.get(url))
    assert "no clip here has text" in text(owner.get(url))
    stimulus.item.text = "words"
    stimulus.item.save()
    assert "no clip here has text" not in text(owner.get(url))
    MetricScore.objects.all().delete()
    assert "No scores yet" in text(owner.get(url))


@pytest.mark.medium
def test_the_page_says_first_what_the_newest_analysis_says_of_metrics(study, owner):
    keep(study.stimuli.order_by("pk")[0], 2.0)
    address = f"/studies/{study.key}/metrics/"
    assert "Run an analysis with these scores" in text(owner.get(address))
    told = part(row("srmr", 0.6, 0.5, 0.7), row("length_s", 0.5, 0.3, 0.6))
    result = {"parts": [{**told, "key": "against_people", "problem": ""}]}
    result |= {"estimates": [], "shares": []}
    AnalysisRun.objects.create(
        study=study,
        estimator="x",
        version="1",
        state="done",
        result=json.dumps(result),
        finished_at=timezone.now(),
    )
    page = text(owner.get(address))
    assert "SRMR has the largest correlation with raters: SRCC 0.60 [0.50, 0.70]" in page
    assert "The metric is below it by 0.30 [0.19, 0.40]" in page
    assert "length_s may correlate as well. Their intervals overlap or are unknown" in page
    assert page.index("Correlation with raters") < page.index("Scores by condition")


@pytest.mark.medium
def test_a_metric_of_a_package_is_offered_with_its_origin_and_a_broken_one_with_its_error(
    study, owner, lab
):
    lab("lab_peak", METRIC.format(name="Peak", key="lab_peak"))
    lab("lab_broken", "import no_such_package")
    plugins.load(Metric.registry)
    page = text(owner.get(f"/studies/{study.key}/metrics/"))
    assert "from lab_peak 1.5" in page
    assert "<strong>lab_broken 1.5</strong>: ModuleNotFoundError" in page


@pytest.fixture
def rest(tmp_path, monkeypatch):
    """Write how far the rest of the packages is, as the installer does."""
    state = tmp_path / "installation.json"
    monkeypatch.setattr("config.missing_packages.INSTALLATION", state)

    def write(problem: str = "") -> Path:
        state.write_text(json.dumps(vars(Installation(3, 41, 812, 2300, problem))))
        return state

    return write


@pytest.mark.medium
def test_stored_scores_are_shown_while_metrics_are_installed_and_new_ones_wait(
    study, owner, rest, queued, committed
):
    keep(study.stimuli.order_by("key").first(), 2.0)
    rest()
    url = f"/studies/{study.key}/metrics/"
    page = text(owner.get(url))
    words = "Installing speech metrics and models: 3 of 41 packages, 812 of 2,300 MB."
    assert f'{words}</p> <progress max="2300" value="812"' in page
    assert "<strong>2.000</strong>" in page
    assert owner.get(f"{url}state/").json() == {"state": "none", "installation": words}
    with committed():
        owner.post(f"{url}score/", {"preset": "own", "metric": "srmr"})
    assert len(queued) == 1
    page = text(owner.get(url))
    assert "Waiting for a worker." in page
    assert words in page


@pytest.mark.medium
def test_an_installation_that_failed_is_tried_again_at_the_press_of_a_button(study, owner, rest):
    state = rest("The disk is full. Delete what is not needed.")
    url = f"/studies/{study.key}/metrics/"
    page = text(owner.get(url))
    assert "could not be installed (3 of 41 packages, 812 of 2,300 MB). The disk is full." in page
    assert owner.get(f"{url}state/").json()["installation"] == ""
    assert owner.post(f"{url}install/").status_code == 302
    assert "Installing speech metrics and models: 3 of 41" in text(owner.get(url))
    os.utime(state, (0, 0))
    page = text(owner.get(url))
    assert "was interrupted" in page
    assert "start it with <code>make run</code>" in page
    state.unlink()
    assert "nstallation" not in text(owner.get(url)).partition("<main")[2]
