"""Whatever study can be read: written and read again, it is equal."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from listening.design.studyfile import (
    ConditionEntry,
    CriterionEntry,
    ItemEntry,
    StimulusEntry,
    StudyFile,
    TaskEntry,
    csv_text,
    read_folder,
    toml_text,
)
from listening.design.studyfile.entries import LOW_CUTS_HZ
from listening.design.studyfile.stimuli_csv import COLUMNS, _near
from listening.design.studyfile.values import INVISIBLE, composed

DEMO = Path(__file__).resolve().parents[2] / "demo"

# Text as reading leaves it: composed, trimmed, without control characters.
any_text = (
    st.text(st.characters(exclude_categories=("Cc", "Cs")) | st.sampled_from("\n\t\"\\',;#="))
    .map(composed)
    .filter(lambda s: composed(s) == s)
)
one_line = any_text.map(
    lambda s: composed(INVISIBLE.sub("", s.replace("\n", " ").replace("\t", " ")))
)
short = one_line.filter(lambda s: len(s) <= 80)
names = one_line.filter(lambda s: 0 < len(s) <= 40 and " ~ " not in s and composed(s) == s)
ids = names.filter(lambda s: not any(c.isspace() for c in s))
slugs = st.text("abcXYZ019-_", min_size=1, max_size=20)
file_parts = names.filter(
    lambda s: not set(s) & set("/\\:~") and s not in (".", "..") and len(s.encode()) < 200
)
MEANT = ("expected", "versus")  # attributes that name labels and stimuli
columns = names.filter(lambda s: s not in (*COLUMNS, *MEANT) and not _near(s))
small = st.integers(1, 1000)


@st.composite
def tasks(draw: st.DrawFn, key: str, trap_kinds: list[str], conditions: list[str]) -> TaskEntry:
    method = draw(st.sampled_from(["mos", "att"]))
    labels = {"mos": ["1", "3", "5"], "att": ["Human", "Machine"]}[method]
    traps: dict[str, Any] = {}
    reopens = draw(st.booleans())
    if trap_kinds:
        kinds = [
            {"kind": kind, "count": 1, "expected": labels[:n], "pass_at_least": 1}
            for n, kind in enumerate(trap_kinds, start=1)
        ]
        voids = {"voids": "session"} if reopens and draw(st.booleans()) else {}
        traps = {"placement": "outside", "per": 1, "kinds": kinds} | voids
    reason = st.fixed_dictionaries(
        {
            "required": st.booleans(),
            "min_chars": st.integers(0, 2000),
            "prompt": any_text.filter(lambda s: len(s) <= 300),
            "good": st.lists(any_text.filter(bool), max_size=2, unique=True),
            "poor": st.just([]),
        }
    )
    options: dict[str, Any] = {}
    if method == "mos":
        options = draw(st.sampled_from([{}, {"step": 0.5}, {"step": 1, "names": {"1": "Ünter"}}]))
    per_session = draw(st.integers(1, 2))
    return TaskEntry(
        key=key,
        method=method,
        block_size=1,
        ratings_per_stimulus=draw(st.integers(1, 50)),
        min_raters=draw(st.none() | st.integers(1, 50)),
        title=draw(any_text.filter(lambda s: len(s) <= 200)),
        instructions=draw(any_text),
        options=options,
        conditions=tuple(draw(st.sampled_from([[], conditions]))),
        blocks_per_session=per_session,
        blocks_per_rater=draw(st.integers(per_session, 100)),
        repeat_items=True,
        repeats=draw(st.integers(0, per_session)),
        allow_missing=draw(st.booleans()),
        show_text=draw(st.booleans()),
        autoplay=draw(st.booleans()),
        reopen_invalid=reopens,
        justification=draw(reason if method == "att" else st.just({}) | reason),
        traps=traps,
        criteria=tuple(
            CriterionEntry(
                k,
                draw(any_text.filter(lambda s: 0 < len(s) <= 300)),
                draw(any_text),
                {} if method == "att" else draw(st.sampled_from([{}, {"step": 0.5}])),
            )
            for k in draw(st.lists(slugs, min_size=1, max_size=2, unique=True))
        ),
    )


@st.composite
def studies(draw: st.DrawFn) -> StudyFile:
    attributes = st.dictionaries(names, any_text, max_size=2)
    conditions = [
        ConditionEntry(key, draw(short), draw(short), "", role, draw(attributes))
        for key, role in zip(
            draw(st.lists(names, min_size=2, max_size=3, unique=True)),
            ("test", "reference", "anchor"),
            strict=False,
        )
    ]
    items = [
        ItemEntry(
            key=key,
            text=draw(any_text),
            dimension=draw(short),
            position=draw(st.none() | st.integers(0, 2**31 - 1)),
            language=draw(st.sampled_from(["en", "zh-Hans"])),
        )
        for key in draw(st.lists(names, min_size=1, max_size=3, unique=True))
    ]
    kinds = draw(st.lists(ids.filter(lambda s: len(s) < 40), max_size=1))
    cells = [(c.key, i.key, "") for i in items for c in conditions]
    cells += [(conditions[0].key, items[0].key, kind) for kind in kinds]
    keys = draw(st.lists(ids, min_size=len(cells), max_size=len(cells), unique=True))
    extra = draw(st.lists(columns, max_size=2, unique=True))
    folders = draw(st.lists(file_parts, min_size=1, max_size=2))
    stimuli = [
        StimulusEntry(
            *(key, condition, item, "/".join([*folders, f"{n}.wav"]), trap),
            {name: value for name in extra if (value := draw(any_text))},
        )
        for n, (key, (condition, item, trap)) in enumerate(zip(keys, cells, strict=True))
    ]
    task_keys = draw(st.lists(slugs, min_size=1, max_size=2, unique=True))
    texts = st.dictionaries(st.sampled_from(["welcome", "consent", "end"]), any_text.filter(bool))
    words = any_text.filter(lambda s: 0 < len(s) <= 200)
    wish = draw(st.dictionaries(st.sampled_from(["title", "text"]), words, max_size=2))
    huggins = {"key": "huggins", "trials": draw(st.integers(1, 20)), "on_fail": "continue"}
    return StudyFile(
        key=draw(slugs),
        title=draw(any_text.filter(lambda s: 0 < len(s) <= 200)),
        language=draw(st.sampled_from(["en", "de-CH", "zh-Hans"])),
        seed=draw(st.integers(-(2**62), 2**62)),
        task_plan=draw(st.sampled_from(["one", "all"])),
        sessions_per_rater=draw(small),
        lease_minutes=draw(st.integers(1, 10_080) | st.floats(1, 10_080)),
        texts=draw(texts),
        completion_codes=draw(st.sampled_from([{}, {"complete": "C0-DE_1", "partial": "P"}])),
        publication=draw(
            st.sampled_from([{}, {"ratings_licence": "CC-BY-4.0", "audio_licence": "CC0-1.0"}])
        ),
        ethics=draw(st.sampled_from([{}, {"controller": "A lab", "approval": "17/26"}])),
        stop=draw(
            st.sampled_from(
                [
                    {},
                    {"rule": "half_width", "act": "ask", "looks": [0.5, 1.0], "target": 0.2},
                    {"rule": "planned_looks", "act": "close", "looks": 4, "futility": False},
                ]
            )
        ),
        payment=draw(st.sampled_from([{}, {"by": "us", "per_hour": 9.5, "currency": "USD"}])),
        hypotheses=draw(st.sampled_from([(), ("A is ahead of B.", "B不如C")])),
        break_every=draw(st.integers(0, 1000)),
        loudness_lufs=draw(st.none() | st.integers(-50, -10)),
        sample_rate_hz=draw(st.none() | st.integers(8_000, 192_000)),
        low_cut_hz=draw(st.sampled_from(LOW_CUTS_HZ)),
        checks=draw(st.just(()) | st.just(({"key": "volume", **wish}, huggins))),
        conditions=tuple(conditions),
        tasks=tuple(draw(tasks(key, kinds, [c.key for c in conditions])) for key in task_keys),
        items=tuple(items),
        stimuli=tuple(stimuli),
    )


def written(study: StudyFile, folder: Path) -> Path:
    (folder / "study.toml").write_text(toml_text(study), "utf-8", newline="\n")
    (folder / "stimuli.csv").write_text(csv_text(study), "utf-8", newline="")
    for stimulus in study.stimuli:
        path = folder / stimulus.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(studies())
def test_a_study_written_and_read_again_is_equal(study: StudyFile) -> None:
    with TemporaryDirectory() as folder:
        reading = read_folder(written(study, Path(folder)))
    assert [str(p) for p in reading.problems] == []
    assert reading.study is not None
    assert reading.study == study


@pytest.mark.medium
def test_the_demo_written_and_read_again_is_equal(tmp_path: Path) -> None:
    study = read_folder(DEMO).study
    assert study is not None
    again = read_folder(written(study, tmp_path)).study
    assert again == study
    assert again != replace(study, seed=study.seed + 1)
    assert csv_text(study) == (DEMO / "stimuli.csv").read_text("utf-8")


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    study = read_folder(DEMO).study
    assert study is not None
    again = read_folder(written(study, tmp_path)).study
    assert again is not None
    assert (toml_text(again), csv_text(again)) == (toml_text(study), csv_text(study))
