"""Sums made by the database against the same sums made here, of every kind of score."""

from statistics import fmean, stdev

import pytest
from django.utils import timezone

from metrics.core.metric import Material, make_metric
from metrics.models import MetricScore
from metrics.scoring.selectors import Keys, study_mark
from metrics.web.summary import interval, summed_series

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def keep(sha256, key, value, reason="", failed=False, **more):
    metric = make_metric(key)
    fields = {"version": metric.version, "parameters": metric.parameters_dict(), **more}
    MetricScore.objects.create(
        sha256=sha256,
        metric=key,
        value=value,
        reason=reason,
        failed=failed,
        computed_at=NOW,
        **fields,
    )


def stimuli(*rows):
    return [
        ({"sha256": sha, "stimulus": f"{sha}{c}", "condition": c}, Material(text=text))
        for sha, c, text in rows
    ]


def summed(rows, only=""):
    found = summed_series(Keys("mine", rows), {row["sha256"] for row, _ in rows}, only)
    return {series.label: sums for series, sums in found}


def test_each_clip_counts_once_per_condition_and_reasons_alike_together():
    rows = stimuli(
        *(("abcdef"[i], "one", "") for i in range(6)), ("a", "two", ""), ("a", "two", "")
    )
    for sha, value in zip("abc", (1.0, 2.5, 7.0), strict=True):
        keep(sha, "srmr", value)
    keep("d", "srmr", None, "too short: 0.1 s")
    keep("e", "srmr", None, "too short: 0.2 s")
    keep("nobody", "srmr", 99.0)
    sums = summed(rows)["srmr"]
    one, two = sums.by_condition["one"], sums.by_condition["two"]
    assert (one.n, one.n_undefined, one.n_failed) == (3, 2, 0)
    assert one.mean == pytest.approx(fmean((1.0, 2.5, 7.0)))
    assert one.sd == pytest.approx(stdev((1.0, 2.5, 7.0)))
    assert (one.low, one.high) == pytest.approx(interval((1.0, 2.5, 7.0)))
    assert (two.n, two.mean, two.sd, two.low) == (1, 1.0, None, None)
    assert (sums.wanted, sums.scored) == (6, 5)  # f was not scored, a counts once
    assert list(sums.reasons.values()) == [2]


def test_material_parameters_imports_and_absurd_values():
    rows = stimuli(("a", "one", "now"), ("b", "one", "now"))
    cer = make_metric("cer")
    keep("a", "cer", 0.5, given=Material(text="before").fingerprint(cer.needs))
    keep("b", "cer", None, "Broke", True, given=Material(text="now").fingerprint(cer.needs))
    keep("a", "srmr", 1.0, parameters={"no": "such"})
    for study, value in (("mine", 1e308), ("other", 3.0)):
        keep("a", "srmr", value, parameters={}, given=study_mark(study), origin="imported")
    keep("b", "srmr", 1e308, parameters={}, given=study_mark("mine"), origin="imported")
    found = summed(rows)
    assert (found["cer"].wanted, found["cer"].scored) == (2, 1)
    assert found["cer"].by_condition["one"].n_failed == 1
    assert found["cer"].reasons == {("Broke", True): 1}
    (told,) = [sums.by_condition["one"] for label, sums in found.items() if label == "srmr"]
    assert (told.n, told.mean) == (2, None)  # no overflow, and no number either
    assert set(summed(rows, "cer")) == {"cer"}
