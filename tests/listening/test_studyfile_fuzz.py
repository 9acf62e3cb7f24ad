"""Whatever stands in a folder's files: a list of problems, never an exception, never nothing."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from listening.design.studyfile import Reading, read_folder
from listening.design.studyfile.reader import fields_of
from tests.listening.folders import CSV, TOML, make_folder

patient = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
noise = st.binary(max_size=60) | st.text(max_size=30).map(lambda s: s.encode("utf-8", "replace"))
odd = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.dates()
    | st.just("mos")
    | st.just("sys-a")
).filter(lambda v: v is not None)
values = st.recursive(
    odd, lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=5), x)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("fuzz"))


def outcome(folder: Path, toml: bytes, csv: bytes) -> Reading:
    (folder / "study.toml").write_bytes(toml)
    (folder / "stimuli.csv").write_bytes(csv)
    reading = read_folder(folder)
    assert (reading.study is None) == bool(reading.problems)
    assert all(str(problem) and "\0" not in str(problem) for problem in reading.problems)
    return reading


def damaged(whole: bytes, place: int, length: int, new: bytes) -> bytes:
    place %= len(whole)
    return whole[:place] + new + whole[place + length :]


@pytest.mark.slow
@patient
@given(st.integers(0, 5000), st.integers(0, 40), noise)
def test_damaged_tables(folder: Path, place: int, length: int, new: bytes) -> None:
    outcome(folder, TOML.encode(), damaged(CSV.encode(), place, length, new))
    outcome(folder, damaged(TOML.encode(), place, length, new), CSV.encode())


def tables(path: str, **inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A table with fields of ours, of which each may hold anything."""
    fields = {key: inner.get(key, values) | values for key in fields_of(path)}
    return st.fixed_dictionaries({}, optional=fields)


criteria = st.lists(tables("tasks.criteria"), max_size=2)
traps = tables("tasks.traps", kinds=st.lists(tables("tasks.traps.kinds"), max_size=2))
right_task = {"key": "t", "method": "mos", "block_size": 1, "ratings_per_stimulus": 1}
any_task = tables(
    "tasks",
    criteria=criteria,
    traps=traps,
    justification=tables("tasks.justification"),
    options=values,
).map(lambda table: right_task | table)
any_study = st.fixed_dictionaries(
    {
        "study": tables(
            "study", texts=tables("study.texts"), completion_codes=tables("study.completion_codes")
        ),
        "conditions": st.lists(tables("conditions"), max_size=2)
        | st.just([{"key": "sys-a"}, {"key": "sys-b"}]),
        "tasks": st.lists(any_task, min_size=1, max_size=2),
    }
)


@pytest.mark.slow
@settings(patient, max_examples=10)  # each has hundreds of fields
@given(any_study)
def test_any_value_in_any_field(study: dict[str, Any]) -> None:
    try:
        toml = tomli_w.dumps(study).encode()
    except (TypeError, ValueError):  # surrogates, or a key that TOML cannot hold
        return
    with TemporaryDirectory() as space:
        outcome(make_folder(Path(space)), toml, CSV.encode())


@pytest.mark.slow
@patient
@given(st.lists(st.text(max_size=6) | st.sampled_from(["sys-a", "i1", "audio/a1.wav"]), min_size=4))
def test_any_cell_in_a_row(folder: Path, cells: list[str]) -> None:
    row = ",".join(cells[:4]).encode("utf-8", "surrogatepass")
    outcome(folder, TOML.encode(), CSV.encode() + row + b"\n")
