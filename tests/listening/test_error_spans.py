"""Spans of the waveform: what answers may be, and the times and scores that are stored of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from listening.audio import lead_in_s
from listening.design.presets import write_preset
from listening.methods import method_named
from listening.methods.error_spans import (
    ErrorSpan,
    HeardPart,
    finds_spans,
    read_spans,
    shifted_label,
    uploaded_times,
    write_spans,
)
from listening.methods.marks import NO_ERRORS
from listening.models import Rating, Stimulus, Study
from listening.selectors import rating_rows
from listening.sessions import lifecycle
from listening.sessions.simulated_raters import KnownClip, Opinions, Truth
from listening.sessions.task_rules import Refused
from listening.studies import check_study, create_study, open_study
from listening.web.researcher.preview_studies import demo_folder, shown_presets
from tests import factories
from tests.factories import make_user
from tests.listening.folders import CONDITIONS, CSV, problems_of
from tests.listening.test_gallery import state_at
from tests.listening.test_methods_options import toml

KINDS = ("glitch", "noise")
HEARD = HeardPart(0.5, 2.0)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("1.000-1.200:glitch 1.100-1.500:noise", ""),
        ("1.000-1.200:glitch 1.200-1.500:glitch", ""),
        ("1.000-1.200:glitch 1.100-1.500:glitch", "do not overlap"),
        ("2.000-2.200:glitch 1.000-1.500:noise", "follow the time"),
        ("1.000-1.010:glitch", "at least 0.02 s"),
        ("1.0-1.2:glitch", "write it as"),
        ("01.000-1.200:glitch", "write “1.000"),
        ("1.000-1.200:pause", "no kind of error"),
        ("3:glitch", "is no span"),
        (" ".join(f"{n}.000-{n}.500:noise" for n in range(41)), "at most 40"),
    ],
)
def test_answers_are_written_as_pages_write_them(label: str, said: str) -> None:
    if said:
        with pytest.raises(ValueError, match=said):
            read_spans(label, KINDS)
    else:
        assert write_spans(read_spans(label, KINDS)) == label


@pytest.mark.parametrize(
    ("served", "stored"),
    [
        ("0.700-0.900:glitch", "1.000-1.200:glitch"),  # 0.2 s of silence before 0.5 s of the upload
        ("0.000-0.900:glitch", "0.500-1.200:glitch"),  # from the silence before the sound on
        ("2.300-2.500:glitch", "2.480-2.500:glitch"),  # in the silence behind it
        ("0.000-0.050:glitch 0.060-0.100:glitch", "0.500-0.520:glitch"),
        (NO_ERRORS, NO_ERRORS),
        ("4.000-4.500:glitch", "the clip ends before"),
    ],
)
def test_times_of_the_served_clip_become_those_of_the_upload(served: str, stored: str) -> None:
    if "ends" in stored:
        with pytest.raises(ValueError, match=stored):
            uploaded_times(served, HEARD, 0.2)
    else:
        assert uploaded_times(served, HEARD, 0.2) == stored


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("1.100-1.150:noise", True),  # any kind
        ("0.700-0.810:glitch", True),  # 0.19 s away
        ("0.700-0.790:glitch", False),  # 0.21 s away
        ("0.500-1.700:glitch", True),  # 0.5 s beyond it on both sides
        ("0.490-1.100:glitch", False),
        ("0.000-9.000:glitch", False),  # the whole clip finds nothing
        ("1.100-1.150:glitch 3.000-3.100:glitch 4.000-4.100:noise", True),
        ("1.100-1.150:glitch 3.000-3.100:glitch 4.000-4.100:noise 5.000-5.100:noise", False),
        (NO_ERRORS, False),
    ],
)
def test_a_trap_is_found_by_a_span_near_it_and_few_others(given: str, found: bool) -> None:
    expected = [ErrorSpan(1.0, 1.2, "glitch")]
    assert finds_spans(read_spans(given), expected) == found
    scale = method_named("marking").scale({"mark": "waveform", "kinds": list(KINDS)})
    assert method_named("marking").passes(given, [write_spans(expected)], scale) == found


def test_an_answer_is_stored_in_times_of_the_upload_and_scored_per_minute(db: None) -> None:
    study = factories.make_study(
        conditions=1,
        items=1,
        task={"method": "marking", "options": {"mark": "waveform"}, "block_size": 1},
    )
    Stimulus.objects.update(trimmed_s=0.75, duration_s=4.0)
    session = factories.arrive(study)
    trial = factories.current(session)
    later_s = lead_in_s(trial.stimulus.served, trial.pk, 0) - 0.75
    truth = "1.000-1.200:glitch 1.100-2.000:noise"
    for wrong in ("3:glitch", "99.000-99.500:glitch"):
        with pytest.raises(Refused):
            lifecycle.record_answer(session, factories.an_answer(trial, wrong))
    answer = factories.an_answer(trial, shifted_label(truth, later_s))
    lifecycle.record_answer(session, answer)
    stored = Rating.objects.get()
    spans = zip(read_spans(stored.label), read_spans(truth), strict=True)
    assert all(s.start_s == pytest.approx(t.start_s, abs=0.0011) for s, t in spans)
    assert stored.score == 2 / 4.0 * 60
    (row,) = rating_rows(study.key)
    assert (row["method"], row["estimand"]) == ("marking", "errors_per_minute")


@pytest.mark.parametrize(
    ("options", "expected", "said"),
    [
        ('mark = "waveform"', "1.000-1.200:glitch", ""),
        ('mark = "waveform"', "4:glitch", "write it as 1.240-1.530:glitch"),
        ('mark = "waveform"', "1.500-1.510:glitch", "a span lasts at least 0.02 s"),
        ('mark = "sound"', "[no errors]", 'mark is "words" or "waveform"'),
    ],
)
def test_a_study_names_where_errors_are_marked(
    tmp_path: Path, options: str, expected: str, said: str
) -> None:
    traps = '\n[tasks.traps]\nper = 1\n[[tasks.traps.kinds]]\nkind = "known"\ncount = 1\n'
    trap = '\n[[conditions]]\nkey = "traps"\nrole = "trap"\n'
    study = toml("marking", options, CONDITIONS + trap) + traps + "pass_at_least = 1\n"
    rows = [f"{row},," for row in CSV.splitlines()[1:]]
    rows.append(f"t,traps,it,audio/a1.wav,known,{expected}")
    table = "\n".join(["stimulus,condition,item,file,trap,expected", *rows])
    found = [problem.what for problem in problems_of(tmp_path, study, table)]
    assert bool(found) == bool(said)
    assert all(said in what for what in found[:1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("1.985-2.235:glitch", ""),
        ("99.500-99.700:glitch", "outside the part that raters hear"),  # behind its end
        ("0.000-0.050:glitch", "outside the part that raters hear"),  # trimmed from its start
    ],
)
def test_a_right_answer_that_nobody_hears_keeps_a_study_from_opening(
    db: None, expected: str, said: str
) -> None:
    study = factories.make_study(
        task={"method": "marking", "options": {"mark": "waveform"}, "block_size": 1},
        conditions=1,
        items=1,
    )
    clip = study.stimuli.first()
    Stimulus.objects.update(trimmed_s=0.75, duration_s=4.0)
    study.tasks.update(training=[{"stimulus": clip.key, "expected": [expected]}])
    problems = [each.what for each in check_study(study) if each.level == "problem"]
    found = [what for what in problems if "right answer" in what]
    assert bool(found) == bool(said)
    assert all(said in what for what in found)


def test_scripted_raters_mark_what_is_heard_of_a_trimmed_clip() -> None:
    clip = KnownClip("bad", "x", duration_s=3.07, later_s=0.4 - 1.0, lead_in_s=0.4)
    for number in range(40):
        rater = Opinions(Truth(5, {"bad": -1.3}), number)
        for span in read_spans(rater.spans(clip, KINDS, careless=number % 2 == 1), KINDS):
            assert 0.4 <= span.start_s < span.end_s <= 0.4 + 3.07


def test_practice_is_judged_and_explained_in_the_times_that_a_rater_sees(
    db: None, tmp_path: Path, client: Client
) -> None:
    """In a session after a random silence and trimming, in a preview after trimming alone."""
    folder = tmp_path / "mine"
    write_preset(shown_presets()["error_marking"], demo_folder(), folder)
    toml_path, table = folder / "study.toml", folder / "stimuli.csv"
    text = toml_path.read_text("utf-8").replace(
        "# [tasks.options]", '[tasks.options]\nmark = "waveform"'
    )
    toml_path.write_text(text.replace("7:glitch", "1.985-2.235:glitch"), "utf-8")
    cells = table.read_text("utf-8").replace("8:glitch", "2.767-3.017:glitch")
    table.write_text(cells, "utf-8")
    study = create_study(folder, make_user("ada"))
    client.force_login(study.owner)
    clip = study.stimuli.get(key="practice-stutter")
    assert clip.trimmed_s > 0.1
    state = state_at(client, "/studies/mine/preview/?task=marked_words")
    judged = state["preview_trials"][0]["judged"]
    assert judged["labels"] == [shifted_label("1.985-2.235:glitch", -clip.trimmed_s)]
    begin = 1.985 - clip.trimmed_s
    assert judged["right"]["expected"] == [f"{begin:.1f}–{begin + 0.25:.1f} s (Glitch)"]
    open_study(study, anyway=True)
    Study.objects.update(checks=[], questionnaires=[])
    study.refresh_from_db()
    session = factories.arrive(study)
    trial = factories.current(session)
    begin += lead_in_s(clip.served, trial.pk, 0)
    answer = factories.an_answer(trial, f"{begin:.3f}-{begin + 0.25:.3f}:noise")
    feedback = lifecycle.record_answer(session, answer).feedback
    assert feedback["right"] is True
    assert feedback["expected"] == [f"{begin:.1f}–{begin + 0.25:.1f} s (Glitch)"]
