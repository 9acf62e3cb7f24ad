"""Reasons for missing values on the terminal: each kind once."""

from metrics.management.run_output import Reasons


def test_each_kind_of_reason_is_told_once_and_counted():
    told = []
    reasons = Reasons(told.append)
    reasons.add("srmr", "a.wav", "too short: 2.1 s")
    reasons.add("srmr", "b.wav", "too short: 0.4 s")
    reasons.add("wer", "a.wav", "no weights: not in models,\nand fetching failed")
    assert told == [
        "srmr: a.wav: too short: 2.1 s",
        "wer: a.wav: no weights: not in models, and fetching failed",
    ]
    assert list(reasons.lines()) == [
        "srmr: 2 clips in all without a value like this: too short: 2.1 s"
    ]


def test_names_of_clips_in_reasons_make_no_further_kinds():
    told = []
    reasons = Reasons(told.append)
    for clip in ("a.wav", "b.wav", "c.wav"):
        reasons.add("srmr", clip, f"{clip}: cannot be read")
    assert len(told) == 1
    assert len(list(reasons.lines())) == 1
