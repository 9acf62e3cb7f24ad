"""Studies of webMUSHRA and of the P.808 toolkit become study folders; what is lost is named."""

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from listening.design.othertools.conversion import plain_text
from listening.models import Condition, Stimulus, Study
from tests.listening.test_studies import media  # noqa: F401

WEBMUSHRA = """
testname: Codecs
testId: codec test
bufferSize: 2048
remoteService: service/write.php
pages:
    - type: generic
      id: hello
      name: Welcome
      content: <p>Welcome!<br/>Use <b>headphones</b>.</p><img src="a.png">
    - type: volume
      id: vol
      name: Volume
      content: Set the volume.
      stimulus: audio/ref1.wav
    - type: mushra
      id: trial1
      name: Rate the quality
      content: Reminder: rate the Basic Audio Quality of each.
      showWaveform: true
      enableLooping: true
      reference: audio/ref1.wav
      createAnchor35: true
      stimuli:
          C1: audio/one1.wav
          C2: audio/two1.wav
    -
      - random
      - type: mushra
        id: trial1
        name: Another
        content: Look at this one.
        reference: audio/ref2.wav
        createAnchor35: true
        stimuli:
            C1: audio/one2.wav
            C2: audio/two2.wav
      - type: likert_single_stimulus
        id: lss
        name: How good is it?
        stimuli:
            C1: audio/one1.wav
            C2: audio/two1.wav
        response:
          - {value: 1, label: Bad}
          - {value: 2, label: Good}
      - type: bs1116
        id: hidden
    - type: finish
      name: Thank you
      content: Goodbye.
      showResults: true
      questionnaire:
        - {type: number, name: age, label: Age, min: 18, max: 99, optional: true}
        - type: likert
          name: gender
          label: Gender
          response: [{value: female, label: Female}, {value: other, label: Other}]
"""


def run(*arguments: object) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def sounds(folder: Path, *names: str) -> None:
    """Noise of half a second, no two alike."""
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        wave = 0.1 * np.random.default_rng(number).standard_normal(12_000)
        soundfile.write(folder / name, wave, 24_000)


def imported(folder: Path) -> Study:
    User.objects.create_user("ada")
    run("import_study", folder)
    return Study.objects.get()


@pytest.mark.django_db
@pytest.mark.slow
@pytest.mark.usefixtures("media")
def test_a_webmushra_configuration_becomes_a_study(tmp_path: Path) -> None:
    root = tmp_path / "webmushra"
    sounds(root / "audio", *(f"{n}{i}.wav" for n in ("ref", "one", "two") for i in (1, 2)))
    (root / "configs").mkdir()
    (root / "configs" / "mine.yaml").write_text(WEBMUSHRA)
    said = run("import_webmushra", root / "configs" / "mine.yaml", "--out", tmp_path / "out")
    assert "To mend" not in said
    for lost in (
        "1 text holds “: ” without quotes",
        "remoteService (the study): Earnest keeps the answers itself",
        "page “hello”: <img> in its text",
        "page “hidden” (bs1116)",
        "the text of page “trial1”",
        "a second page “trial1” is the item “trial1-2”",
        "stimulus (vol)",
    ):
        assert lost in said
    study = imported(tmp_path / "out")
    assert (study.key, study.title) == ("codec-test", "Codecs")
    assert study.texts["welcome"] == "Welcome!\nUse headphones."
    assert study.texts["end"] == "Goodbye."
    mushra, likert = study.tasks.order_by("order")
    assert mushra.instructions == "Reminder: rate the Basic Audio Quality of each."
    assert (mushra.method, mushra.block_size, likert.method) == ("mushra", 2, "mos")
    roles = dict(Condition.objects.values_list("key", "role"))
    assert roles == {"reference": "reference", "anchor35": "anchor", "C1": "test", "C2": "test"}
    (anchor,) = Stimulus.objects.filter(condition__key="anchor35", item__key="trial1")
    wave, rate_hz = soundfile.read(tmp_path / "out" / "audio" / "anchor35" / "trial1.flac")
    power = np.abs(np.fft.rfft(wave)) ** 2
    assert power[np.fft.rfftfreq(len(wave), 1 / rate_hz) > 4_500].sum() < 1e-4 * power.sum()
    assert anchor.duration_s == 0.5
    (asked,) = study.questionnaires
    assert [q["key"] for q in asked["questions"]] == ["age", "gender"]


def test_what_a_configuration_lacks_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(WEBMUSHRA)
    with pytest.raises(CommandError, match=r"files that are not there: .* 2 more\. .*--root"):
        run("import_webmushra", config, "--out", tmp_path / "out")
    config.write_text("pages: [{type: bs1116, id: a}]")
    with pytest.raises(CommandError, match=r"No page of it asks.*task of the method bs1116"):
        run("import_webmushra", config, "--out", tmp_path / "out")
    config.write_text("just: [words")
    where = r"mine\.yaml: This is no YAML: line 1, column 13: expected ',' or '\]'"
    with pytest.raises(CommandError, match=where):
        run("import_webmushra", config, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


CASES = Path(__file__).resolve().parents[1] / "data" / "foreign" / "webmushra"


def webmushra(tmp_path: Path, config: Path) -> tuple[str, list[str]]:
    """What the command says of a configuration about three folders of sounds, and stimuli.csv."""
    for folder in ("human", "sysx", "sysy"):
        sounds(tmp_path / "root" / "audio" / folder, "clip1.wav", "clip2.wav", "clip3.wav")
    said = run("import_webmushra", config, "--root", tmp_path / "root", "--out", tmp_path / "out")
    return said, (tmp_path / "out" / "stimuli.csv").read_text("utf-8").splitlines()


@pytest.mark.medium
def test_pages_of_one_label_have_their_conditions_from_file_names(tmp_path: Path) -> None:
    said, lines = webmushra(tmp_path, CASES / "w3_one_label.yaml")
    assert (
        "Guessed: all 9 clips of the task likert-1 have the label “Clip”, so conditions (human, "
        "sysx, sysy) and items are read from the names of files: the folder is the system." in said
    )
    cells = [line.split(",")[1:3] for line in lines[1:]]
    assert sorted(cells) == sorted(
        [system, f"clip{n}"] for system in ("human", "sysx", "sysy") for n in (1, 2, 3)
    )


@pytest.mark.medium
def test_yes_no_and_leading_zeros_of_a_configuration_stay_as_written(tmp_path: Path) -> None:
    _, lines = webmushra(tmp_path, CASES / "w7_yes_no.yaml")
    assert {line.split(",")[1] for line in lines[1:]} == {"sysx", "no", "010"}
    study = (tmp_path / "out" / "study.toml").read_text("utf-8")
    for label in ("yes", "no", "12:30"):
        assert f'label = "{label}"' in study
    assert 'label = "True"' not in study


def test_a_key_that_stands_twice_in_a_configuration_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "twice.yaml"
    config.write_text((CASES / "w7_yes_no.yaml").read_text().replace("      no:", "      sysx:"))
    with pytest.raises(CommandError, match=r"line 10, column 7: the key “sysx” stands there twice"):
        run("import_webmushra", config, "--out", tmp_path / "out")


CFG = """
[create_input]
number_of_clips_per_session:4
number_of_trapping_per_session:1
number_of_gold_clips_per_session:1
condition_pattern: _(?P<c>c[0-9])
[acr_html]
allowed_max_hit_in_project:3
hit_base_payment:0.5
quantity_bonus: 0.1
[Storage]
StorageAccountKey: secret-key
"""


def p808_folder(folder: Path) -> Path:
    clips = [f"s{i}_c{c}.wav" for i in (1, 2) for c in (1, 2)]
    sounds(folder / "audio", *clips, "gold.wav", "trap_4.wav", "train.wav", "r1.wav", "r2.wav")
    site = "https://store.example/x/audio"
    rows = {
        "clips": ["rating_clips,references,note"]
        + [f"{site}/{c}?sig=1,{site}/r{c[1]}.wav,x" for c in clips],
        "gold": ["gold_clips,gold_clips_ans", f"{site}/gold.wav,5"],
        "trapping": ["trapping_clips,trapping_ans", f"{site}/trap_4.wav,4"],
        "training": ["training_clips", f"{site}/train.wav"],
    }
    for name, lines in rows.items():
        (folder / f"{name}.csv").write_text("\n".join(lines))
    (folder / "master.cfg").write_text(CFG)
    return folder


def p808(folder: Path, method: str, *more: str) -> str:
    files = [f"--clips={folder}/clips.csv", f"--cfg={folder}/master.cfg"]
    files += [f"--{name}_clips={folder}/{name}.csv" for name in more]
    where = [f"--audio={folder}/audio", f"--out={folder}/{method}"]
    return run("import_p808", f"--method={method}", *files, *where)


@pytest.mark.medium
def test_tables_of_the_toolkit_are_read_in_the_layouts_of_spreadsheets(tmp_path: Path) -> None:
    folder = p808_folder(tmp_path)
    for name in ("clips", "gold"):
        path = folder / f"{name}.csv"
        text = path.read_text().replace(",", ";")
        path.write_bytes(f"sep=;\r\n{text}\r\n;;\r\n".encode("utf-16"))
    said = p808(folder, "acr", "gold")
    assert "Wrote" in said
    assert "table of clips: The file is read as separated by semicolons" in said
    assert "table of clips: Row 6 has only empty cells and is not read" in said


@pytest.mark.django_db
@pytest.mark.slow
@pytest.mark.usefixtures("media")
def test_files_of_the_p808_toolkit_become_a_study(tmp_path: Path) -> None:
    folder = p808_folder(tmp_path)
    said = p808(folder, "acr", "gold", "trapping", "training")
    assert "To mend" not in said
    assert "quantity_bonus: Earnest pays nothing by itself" in said
    assert "[Storage]: clips are taken from your folder" in said
    assert "column “note” of the table of clips" in said
    assert "secret-key" not in said
    study = imported(folder / "acr")
    assert study.sessions_per_rater == 3
    assert study.payment == {"by": "us", "currency": "USD", "per_session": 0.5}
    (task,) = study.tasks.all()
    assert (task.method, task.block_size, task.ratings_per_stimulus) == ("mos", 4, 10)
    kinds = {kind["kind"]: kind.get("tolerance", 0) for kind in task.traps["kinds"]}
    assert kinds == {"gold": 1, "trapping": 0}
    rated = Stimulus.objects.filter(study=study, trap="")
    cells = set(rated.values_list("condition__key", "item__key"))
    assert cells == {(f"c{c}", f"s{i}") for c in (1, 2) for i in (1, 2)}
    assert "the references of clips: only dcr and ccr play them" in said


@pytest.mark.parametrize("method", ["dcr", "ccr"])
def test_pairs_have_their_reference(tmp_path: Path, method: str) -> None:
    folder = p808_folder(tmp_path)
    said = p808(folder, method)
    assert "To mend" not in said
    table = (folder / method / "stimuli.csv").read_text()
    assert table.count(",reference,") == 2


def test_clips_that_are_not_there_are_named(tmp_path: Path) -> None:
    folder = p808_folder(tmp_path)
    (folder / "audio" / "s1_c1.wav").unlink()
    with pytest.raises(CommandError, match=r"1 clip is not below.*s1_c1\.wav"):
        p808(folder, "acr")
    assert not (folder / "acr").exists()


@pytest.mark.parametrize("path", ["../outside.wav", "/etc/hostname", "x" * 300, "a\0b"])
def test_a_configuration_takes_no_file_outside_of_its_folder(tmp_path: Path, path: str) -> None:
    sounds(tmp_path, "outside.wav", *(f"in/audio/{n}{i}.wav" for n in ("ref", "one") for i in "12"))
    config = tmp_path / "in" / "mine.yaml"
    sounds(tmp_path, "in/audio/two1.wav")
    config.write_text(WEBMUSHRA.replace("audio/two2.wav", repr(path).replace("\\x", "\\\\x")))
    with pytest.raises(CommandError, match=r"files that are not there: .*\(C2 of page"):
        run("import_webmushra", config, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("clips.csv", "", "The table of clips has no column “rating_clips”. Add it."),
        (
            "clips.csv",
            "rating_clips\n" + "x" * 200_000,
            "The table of clips cannot be read: .*field",
        ),
        (
            "clips.csv",
            "rating_clips\nhttps://[x/a.wav",
            r"1 clip is not below .*\(none of this name",
        ),
        ("clips.csv", "rating_clips\n" + "x" * 300, r"1 clip is not below .*\(none of this name"),
        ("master.cfg", CFG.replace("0.5", "nan"), "hit_base_payment is “nan”. Write a number"),
        ("master.cfg", CFG.replace("0.5", "-1"), "hit_base_payment is “-1”. Write a number"),
    ],
)
def test_a_file_of_the_toolkit_that_is_none_is_named(
    tmp_path: Path, file: str, content: str, words: str
) -> None:
    folder = p808_folder(tmp_path)
    (folder / file).write_text(content)
    with pytest.raises(CommandError, match=words):
        p808(folder, "acr")
    assert not (folder / "acr").exists()


def test_words_of_html() -> None:
    text, lost = plain_text("<h1>Hi</h1><p>a &amp; b<br>c</p><script>x()</script><a href=x>d</a>")
    assert (text, lost) == ("Hi\n\na & b\nc\n\nd", ["<script>", "<a>"])
