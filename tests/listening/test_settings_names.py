"""The names of long-form conditions are read as in Clark et al. (2019), or refused with help."""

import pytest

from listening.design.settings import BadName, form_named


@pytest.mark.parametrize(
    ("name", "setting", "context", "rated"),
    [
        ("Ri", "isolation", (None, 0), ("R", 1)),
        ("Ti", "isolation", (None, 0), ("T", 1)),
        ("Rp", "paragraph", (None, 0), ("R", 0)),
        ("Tp", "paragraph", (None, 0), ("T", 0)),
        ("R1R1", "context", ("R", 1), ("R", 1)),
        ("R1T1", "context", ("R", 1), ("T", 1)),
        ("T1T1", "context", ("T", 1), ("T", 1)),
        ("Text1T1", "context", ("Text", 1), ("T", 1)),
        ("T2T1", "context", ("T", 2), ("T", 1)),
        ("T1T2", "context", ("T", 1), ("T", 2)),
        ("R2R1", "context", ("R", 2), ("R", 1)),
        ("Text3R2", "context", ("Text", 3), ("R", 2)),
        ("T1R1", "context", ("T", 1), ("R", 1)),
        ("R10T12", "context", ("R", 10), ("T", 12)),
    ],
)
def test_a_name_says_what_is_heard_and_what_is_rated(name, setting, context, rated):
    form = form_named(name)
    assert form.setting == setting
    assert (form.context_voice, form.context_lines) == context
    assert (form.rated_voice, form.rated_lines) == rated


@pytest.mark.parametrize(
    ("name", "lines"),
    [("Ri", 1), ("Tp", 2), ("R1T1", 2), ("T2T1", 3), ("T1T2", 3), ("Text2T3", 5)],
)
def test_a_name_says_how_many_lines_a_paragraph_must_have(name: str, lines: int) -> None:
    assert form_named(name).needed_lines == lines


@pytest.mark.parametrize(
    ("name", "voices"),
    [("Ri", "R"), ("R1T1", "RT"), ("Text1T1", "T"), ("Text1R1", "R"), ("T1T2", "T")],
)
def test_text_needs_nobody_to_speak_it(name: str, voices: str) -> None:
    assert form_named(name).voices == set(voices)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("r1t1", "R1T1"),
        ("R1-T1", "R1T1"),
        ("R1 T1", "R1T1"),
        ("RI", "Ri"),
        ("tp", "Tp"),
        ("TEXT1T1", "Text1T1"),
        ("text1_t1", "Text1T1"),
    ],
)
def test_a_slip_of_the_hand_is_understood(wrong: str, meant: str) -> None:
    with pytest.raises(BadName) as caught:
        form_named(wrong)
    assert wrong in caught.value.what
    assert caught.value.remedy == f"Did you mean “{meant}”?"


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ("R1Text1", "Text is read before the stimulus and never rated"),
        ("Text1", "Text is read before the stimulus and never rated"),
        ("Texti", "Text is read before the stimulus and never rated"),
        ("R0T1", "at least one line; sentences without context are Ri and Ti"),
        ("T1T0", "at least one line"),
        ("R1", "Write Ri, Ti, Rp, Tp"),
        ("X1T1", "Write Ri, Ti, Rp, Tp"),
        ("", "Write Ri, Ti, Rp, Tp"),
        ("R100T1", "Write Ri, Ti, Rp, Tp"),
        ("R1T1T1", "Write Ri, Ti, Rp, Tp"),
        ("R١T1", "Write Ri, Ti, Rp, Tp"),
    ],
)
def test_what_names_no_condition_is_refused_with_help(wrong: str, remedy: str) -> None:
    with pytest.raises(BadName) as caught:
        form_named(wrong)
    assert remedy in caught.value.remedy
