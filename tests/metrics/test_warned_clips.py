"""Warnings about audio on the page of metrics: counted, heard, filtered by; in files, the API."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from metrics.core.metric import make_metric
from metrics.models import MetricScore
from metrics.scoring.clip_warnings import NoSuchWarning, warning_filter
from tests.factories import make_study
from tests.rest.asking import Script, token_of

CLIPPED, OFFSET = {"clipped": "8 % of its samples"}, {"dc_offset": "its mean is 0.4"}


@pytest.fixture
def study(monkeypatch):
    """Two conditions of two clips, scores 1 to 4; the first is clipped, the last two shifted."""
    monkeypatch.setattr("listening.audio.expected_path", lambda name: f"/nowhere/{name}")
    study = make_study(conditions=2, items=2, task={"block_size": 2})
    metric = make_metric("srmr")
    warnings = [CLIPPED, {}, OFFSET, OFFSET]
    for place, stimulus in enumerate(study.stimuli.order_by("condition__key", "key")):
        MetricScore.objects.create(
            sha256=stimulus.sha256,
            metric="srmr",
            version=metric.version,
            parameters=metric.parameters_dict(),
            value=place + 1.0,
            warnings=warnings[place],
            computed_at=timezone.now(),
        )
    study.conditions.filter(key="cond-0").update(label="First voice")
    return study


@pytest.fixture
def look(study):
    client = Client()
    client.force_login(study.owner)

    def at(path: str, status: int = 200) -> str:
        answer = client.get(f"/studies/{study.key}/metrics/{path}")
        assert answer.status_code == status
        return " ".join(answer.content.decode().split())

    return at


def values(csv: str) -> list[str]:
    return [row.split(",srmr,1,")[1].split(",")[0] for row in csv.split("\n")[1:] if row]


@pytest.mark.django_db
@pytest.mark.medium
def test_the_page_counts_warnings_per_kind_and_condition_and_plays_the_clips(
    study, look, monkeypatch
):
    page = look("")
    assert "Offset from zero: 2 clips" in page
    assert "cond-1 2 of 2. " in page
    assert "First voice 1 of 2. " in page
    assert "Its mean is 0.4 (1 score)" in page
    first = study.stimuli.order_by("condition__key", "key").first()
    assert page.count(f'aria-label="{first.key}"') == 1
    assert '<span class="badge">Clipped</span>' in look("metric/?metric=srmr")
    monkeypatch.setattr("metrics.scoring.clip_warnings.MOST", 1)
    assert "1 of 2 clips shown." in (page := look(""))
    assert 'metrics/scores.csv?only=dc_offset" download>Download all (CSV)' in page


@pytest.mark.django_db
@pytest.mark.medium
def test_the_table_and_its_files_leave_out_or_keep_what_is_asked_for(look):
    assert "<strong>1.500</strong>" in look("")
    without = look("?without=clipped")
    assert "<strong>2.000</strong>" in without
    assert "3 of 4 clips, without those with: clipped." in without
    assert 'value="clipped" checked' in without
    assert "scores.csv?without=clipped" in without
    assert "metric=srmr&amp;without=clipped" in without
    only = look("?only=dc_offset")
    assert "2 of 4 clips, only those with: offset from zero." in only
    assert "First voice</th>" not in only.split('id="scores-title"')[1].split("</table>")[0]
    assert "1 of 4 clips, without those with: any warning." in look(
        "metric/?metric=srmr&without=any"
    )
    assert "No clips match." in look("?only=narrow_band")
    assert "no warning is called loud; there are any, truncated" in look("?only=loud", 400)
    MetricScore.objects.filter(warnings=CLIPPED).update(warnings={"loud": "as a package finds"})
    assert "1 of 4 clips, only those with: loud." in look("?only=loud")


@pytest.mark.django_db
@pytest.mark.medium
def test_files_commands_and_the_api_filter_alike(study, tmp_path, capsys):
    client = Client()
    client.force_login(study.owner)
    home = f"/studies/{study.key}/metrics/"
    assert values(client.get(f"{home}scores.csv?without=any").content.decode()) == ["2.0"]
    assert client.get(f"{home}scores.csv?only=loud").status_code == 400
    script = Script(token_of(study.owner.username))
    place = f"studies/{study.key}/metrics/scores"
    told = json.loads(b"".join(script.get(f"{place}?only=clipped,dc_offset").streaming_content))
    assert [row["value"] for row in told["scores"]] == [1.0, 3.0, 4.0]
    assert told["scores"][0]["title"] == "SRMR"
    assert "no warning is called loud" in script.get(f"{place}?without=loud").json()["detail"]
    call_command("export_scores", study.key, "--without", "dc_offset,clipped")
    assert values(capsys.readouterr().out) == ["2.0"]
    with pytest.raises(CommandError, match=r"no clip of .* with a score: only those with: narrow"):
        call_command("export_scores", study.key, "--only", "narrow_band")


def test_a_filter_knows_codes_alone_and_any():
    kept = warning_filter(["clipped, dc_offset"], ["narrow_band"])
    assert kept.query == "?only=clipped&only=dc_offset&without=narrow_band"
    assert [kept.keeps(codes) for codes in ({"clipped"}, {"clipped", "narrow_band"}, ())] == [
        True,
        False,
        False,
    ]
    assert not warning_filter([], ["any"]).keeps({"truncated"})
    assert not warning_filter([""], [])
    with pytest.raises(NoSuchWarning, match="without: no warning is called loud"):
        warning_filter([], ["loud"])
