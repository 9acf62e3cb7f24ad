"""Files, folders and manifests as clips with their material; what is wrong is named by row."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from metrics.core import decoding
from metrics.core.metric import Turn
from metrics.management.commands import score_files
from metrics.scoring import inputs


@pytest.fixture
def folder(tmp_path):
    for name in ("a.wav", "b.wav", "calm/c.flac", "calm/deep/d.ogg"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.zeros(800), 8_000)
    (tmp_path / "notes.txt").write_text("no audio")
    (tmp_path / ".hidden.wav").write_text("no audio")
    return tmp_path


def manifest(folder, text, name="m.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8-sig")
    return path


def problems(*places):
    with pytest.raises(inputs.InputError) as caught:
        inputs.read_clips(places)
    return str(caught.value).splitlines()


def test_a_folder_gives_its_audio_with_subfolders_as_conditions(folder):
    clips = inputs.read_clips([folder])
    assert [(clip.stimulus, clip.condition) for clip in clips] == [
        ("a", ""),
        ("b", ""),
        ("calm/c", "calm"),
        ("calm/deep/d", "calm/deep"),
    ]


def test_a_manifest_gives_names_texts_turns_reference_and_attributes(folder):
    path = manifest(
        folder,
        "file,condition,text,language,turns,reference,caption,blank\n"
        'a.wav,calm,"Hello, you.",en,A 0-1.5; B 2-3,b.wav,a calm voice,\n\n'
        "calm/c.flac,,,,,,,\n",
    )
    first, second = inputs.read_clips([path])
    assert (first.stimulus, first.condition) == ("a", "calm")
    told = first.material
    assert (told.text, told.language) == ("Hello, you.", "en")
    assert told.turns == (Turn("A", 0.0, 1.5), Turn("B", 2.0, 3.0))
    assert told.attributes == {"caption": "a calm voice"}
    assert told.reference_path == str(folder / "b.wav")
    assert len(told.reference_sha256) == 64
    assert (second.stimulus, second.material.text) == ("calm/c", "")


def test_a_reference_that_many_rows_name_is_hashed_once(folder, monkeypatch):
    hashed = []
    real = decoding.file_sha256
    monkeypatch.setattr(decoding, "file_sha256", lambda path: hashed.append(path) or real(path))
    rows = "".join(f"a.wav,s{n},b.wav\n" for n in range(5))
    clips = inputs.read_clips([manifest(folder, f"file,stimulus,reference\n{rows}")])
    assert len({clip.material.reference_sha256 for clip in clips}) == len(hashed) == 1


def test_a_recording_of_the_same_words_is_told_apart_from_the_reference_voice(folder):
    rows = "file,stimulus,reference,reference_audio\na.wav,s,b.wav,\na.wav,t,,calm/c.flac\n"
    voice, words = inputs.read_clips([manifest(folder, rows)])
    assert voice.material.reference_audio_path == ""
    assert words.material.reference_audio_path == str(folder / "calm/c.flac")
    needs = ("reference_audio_path",)
    assert voice.material.fingerprint(needs) != words.material.fingerprint(needs)
    itself = manifest(folder, "file,reference_audio,run\na.wav,calm/../a.wav,2\n")
    (same,) = inputs.read_clips([itself])
    assert same.material.is_reference_audio  # a comparison with itself would only flatter
    assert (same.material.reference_audio_path, same.run) == ("", "2")
    assert (
        words.material.field_value("reference_audio_path") == words.material.reference_audio_sha256
    )
    with pytest.raises(inputs.InputError, match=r"row 2: there is no reference audio gone\.wav"):
        inputs.read_clips([manifest(folder, "file,reference_audio\na.wav,gone.wav\n")])


def test_a_manifest_of_json_lines_may_hold_lists(folder):
    rows = [
        {"file": "a.wav", "stimulus": "one", "synthesis_s": 1.5},
        {"file": "b.wav", "turns": [{"speaker": "A", "start_s": 0, "end_s": 1, "text": "hi"}]},
    ]
    path = manifest(folder, "\n".join(map(json.dumps, rows)), "m.jsonl")
    first, second = inputs.read_clips([path])
    assert (first.stimulus, first.material.attribute("synthesis_s")) == ("one", "1.5")
    assert second.material.turns == (Turn("A", 0.0, 1.0, "hi"),)


def test_every_problem_is_named_at_once_with_file_row_and_remedy(folder):
    path = manifest(
        folder,
        "file,stimulus,turns,reference\n"
        "gone.wav,,,\n"
        ",x,,\n"
        "a.wav,same,,\n"
        "b.wav,same,,\n"
        "b.wav,other,A 3-1,\n"
        "b.wav,more,,gone.wav\n"
        "s3://bucket/c.wav,,,\n"
        "b.wav,last,,https://example.org/d.wav\n",
    )
    found = problems(path, folder / "empty.jsonl", folder / "m2.csv")
    expected = [
        (f"{path}, row 2: ", "no file gone.wav; it is looked for in"),
        (f"{path}, row 3: ", "fill the column file"),
        (f"{path}, row 5: ", "'same' is at row 4 already; give each row a name of its own"),
        (f"{path}, row 6: ", "turns: A 3-1"),
        (f"{path}, row 7: ", "no reference gone.wav"),
        (f"{path}, row 8: ", "s3://bucket/c.wav is an address, and files of this machine are"),
        (f"{path}, row 9: ", "use score_dataset or earnest.score, or fetch_audio first"),
        (f"{folder / 'empty.jsonl'}: ", "there is no such file"),
        (f"{folder / 'm2.csv'}: ", "there is no such file"),
    ]
    assert len(found) == len(expected)
    for line, (where, said) in zip(found, expected, strict=True):
        assert line.startswith(where)
        assert said in line


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("m.csv", "file,file\na.wav,b.wav\n", "row 1: file more than once; name each column once"),
        ("m.csv", "file\na.wav,b\n", "row 2: 2 cells where the header has 1"),
        ("m.csv", "file,text\n", "no rows"),
        ("m.csv", 'file\n"a.wav\n', "row 2: a quote is not closed"),
        ("m.jsonl", "{\n", "line 1: no JSON"),
        ("m.jsonl", "[1]\n", "line 1: must be a JSON object"),
    ],
)
def test_a_table_that_cannot_be_read_is_named(folder, name, text, said):
    (line,) = problems(manifest(folder, text, name))
    assert said in line


def test_an_empty_folder_is_a_problem(tmp_path):
    assert problems(tmp_path) == [f"{tmp_path}: no audio files in this folder; name another one"]
    (tmp_path / "a.wma").touch()
    assert problems(tmp_path)[0].endswith("left out (1 .wma); save these as WAV or FLAC")


def test_a_name_that_no_file_can_have_is_a_problem_of_its_row(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"file": "x" * 5000}) + "\n")
    with pytest.raises(inputs.InputError, match="line 1: the file cannot be looked for"):
        inputs.read_clips([path])


def test_every_column_of_a_manifest_is_in_the_guide_and_in_the_help():
    guide = (Path(__file__).parents[2] / "docs/metrics.md").read_text(encoding="utf-8")
    (told,) = (line for line in guide.splitlines() if line.startswith("**A manifest**"))
    for column in inputs.KNOWN:
        assert f"`{column}`" in told
        assert column in score_files.EPILOG


def test_an_address_in_place_of_a_folder_is_refused_with_what_reads_it():
    with pytest.raises(inputs.InputError, match=r"s3://bucket/clips is .*score_dataset"):
        inputs.read_clips(["s3://bucket/clips"])
