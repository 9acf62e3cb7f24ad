"""The commands around study folders: what they print, and how they end."""

import io
import shutil
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit

import numpy as np
import pytest
import soundfile
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from listening import studies
from listening.audio.store import stored_names
from listening.design import studyfile
from listening.design.studyfile.entries import OUTCOMES
from listening.management.commands import import_study
from listening.models import Slot, Study
from listening.studies import study_as_file
from tests.factories import make_user
from tests.listening.folders import CSV, STUDY, TASK, TOML, make_folder, write_sound
from tests.listening.test_studies import media  # noqa: F401

pytestmark = pytest.mark.django_db
DEMO = Path(__file__).resolve().parents[2] / "demo"
MAC = Path(__file__).resolve().parents[1] / "data" / "sound_files" / "mac"


def run(*arguments: object) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


@pytest.mark.medium
def test_importing_and_opening(tmp_path: Path, settings, monkeypatch) -> None:
    settings.EARNEST_PUBLIC_URL = "https://listen.example.org"
    monkeypatch.delattr("listening.studies.states.check_study")  # each clip is decoded once for it
    User.objects.create_user("ada")
    said = run("import_study", make_folder(tmp_path), "--owner", "ada", "--open")
    study = Study.objects.get()
    assert study.owner.get_username() == "ada"
    assert study.state == "open"
    assert "Imported “small”: 1 task, 2 conditions, 2 items, 4 stimuli." in said
    assert "Warning: There is no consent text." in said
    assert (
        f"12 presentations planned. Raters start at https://listen.example.org/r/{study.link}/"
        in said
    )


@pytest.mark.medium
def test_an_import_that_ends_before_it_opens_can_simply_be_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_user("ada")
    folder, before = make_folder(tmp_path), set(stored_names())
    with monkeypatch.context() as broken:
        broken.setattr(import_study.studies, "open_study", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run("import_study", folder, "--open")
    assert not Study.objects.exists()
    assert set(stored_names()) == before
    assert "Open, with" in run("import_study", folder, "--open")


@pytest.mark.medium
def test_a_study_that_cannot_be_opened_stays_a_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_user("ada")
    refused = Mock(side_effect=import_study.studies.StudyError("It has a problem."))
    monkeypatch.setattr(import_study.studies, "open_study", refused)
    with pytest.raises(CommandError, match=r"^The study was not opened\. It has a problem\.$"):
        run("import_study", make_folder(tmp_path), "--open")
    assert Study.objects.get().state == Study.State.DRAFT


@pytest.mark.medium
@pytest.mark.parametrize("zipped", [False, True])
def test_files_of_macos_and_windows_are_ignored_and_named(tmp_path: Path, zipped: bool) -> None:
    User.objects.create_user("researcher")
    folder = make_folder(tmp_path / "study", csv=CSV.replace("audio/b2.wav", "audio/clip.mp3"))
    for path in MAC.iterdir():
        shutil.copy(path, folder / "audio")
    (folder / "Thumbs.db").write_bytes(b"x")
    source = Path(shutil.make_archive(str(folder), "zip", folder)) if zipped else folder
    said = run("import_study", source)
    assert "Ignored, as macOS or Windows put them there: “Thumbs.db”, “audio/._clip.mp3”." in said
    clip = Study.objects.get().stimuli.get(key="b2")
    assert clip.duration_s > 2.4  # of 2.5 s, with its ends cut


def test_a_row_for_a_file_of_macos_is_named(tmp_path: Path) -> None:
    User.objects.create_user("researcher")
    folder = make_folder(tmp_path, csv=CSV.replace("audio/b2.wav", "audio/._b2.wav"))
    (folder / "audio" / "._b2.wav").write_bytes(b"x")
    with pytest.raises(SystemExit):
        run("import_study", folder)
    (problem,) = studyfile.read_folder(folder).problems
    assert (problem.row, problem.remedy) == (5, "Remove its row.")
    assert "macOS or Windows" in problem.what


@pytest.mark.medium
def test_one_loudness_is_told_as_both_ears_get_it(tmp_path: Path) -> None:
    User.objects.create_user("researcher")
    loud = TOML.replace("[study]\n", "[study]\nloudness_lufs = -23\n")
    said = run("import_study", make_folder(tmp_path, loud))
    assert "Loudness at both ears: -23 LUFS (gains of " in said
    clip = Study.objects.get().stimuli.first()
    assert clip is not None
    assert clip.loudness_lufs is not None
    assert clip.loudness_lufs + clip.gain_db == pytest.approx(-23, abs=0.01)


FAINT = """
[[tasks.criteria]]
key = "laugh"
question = "How convincing is the laugh?"
options = { absent = "It is not there" }
"""


@pytest.mark.medium
@pytest.mark.parametrize(
    ("stated", "more", "kept_s"),
    [("", FAINT, 1.5), ("", "", 1.05), ('ends = "alike"', FAINT, 1.05)],
)
def test_a_breath_at_the_end_stays_where_a_question_asks_for_it(
    tmp_path: Path, stated: str, more: str, kept_s: float
) -> None:
    """A breath of 50 dB below the peak is more than the 40 dB that ends are cut at."""
    User.objects.create_user("researcher")
    toml = TOML.replace("[study]\n", f"[study]\n{stated}\n") + more
    folder = make_folder(tmp_path, toml)
    rng = np.random.default_rng(1)
    spoken, breath = (
        rng.uniform(-level, level, n) for level, n in ((0.5, 16_000), (0.0016, 8_000))
    )
    soundfile.write(folder / "audio" / "a1.wav", np.concatenate([spoken, breath]), 16_000)
    said = run("import_study", folder)
    study = Study.objects.get()
    assert study.stimuli.get(key="a1").duration_s == pytest.approx(kept_s, abs=0.011)
    asked = "the question “laugh” asks whether a sound is there"
    assert (f"The ends of clips are not trimmed: {asked}" in said) == (kept_s == 1.5)
    assert ("Clips are trimmed where" in said) == bool(stated)
    again = studyfile.toml_text(study_as_file(study))
    assert ("ends = " in again) == bool(more)


@pytest.mark.medium
def test_clips_that_raters_switch_between_keep_their_own_lengths(tmp_path: Path) -> None:
    User.objects.create_user("researcher")
    folder = make_folder(tmp_path, TOML.replace('"mos"', '"rank"'))
    write_sound(folder / "audio" / "b1.wav", seconds=2.0)
    run("import_study", folder)
    lengths = dict(Study.objects.get().stimuli.values_list("key", "duration_s"))
    assert lengths == pytest.approx({"a1": 0.5, "a2": 0.5, "b1": 2.0, "b2": 0.5}, abs=0.011)


@pytest.mark.medium
def test_tasks_that_need_different_numbers_of_raters_are_told_at_opening(tmp_path: Path) -> None:
    User.objects.create_user("ada")
    more = TASK.replace('key = "mos"', 'key = "more"').replace("stimulus = 3", "stimulus = 5")
    said = run("import_study", make_folder(tmp_path / "differ", TOML + more), "--open")
    assert "Sessions needed: “mos” 6, “more” 10. When a task has enough" in said
    for name, toml in (
        ("equal", TOML + more.replace("stimulus = 5", "stimulus = 3")),
        ("one", (TOML + more).replace("[study]\n", '[study]\ntask_plan = "one"\n')),
    ):
        folder = make_folder(tmp_path / name, toml.replace('key = "small"', f'key = "{name}"'))
        assert "Sessions needed" not in run("import_study", folder, "--open")


def test_mistakes_are_listed_by_file_and_the_command_fails(tmp_path: Path) -> None:
    User.objects.create_user("researcher")
    toml = TOML.replace('title = "A small study"', "")
    csv = CSV.replace("audio/b2.wav", "audio/no.wav").replace("b1,sys-b", "b1,sys-x")
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("import_study", str(make_folder(tmp_path, toml, csv)), stderr=out)
    assert ended.value.code == 1
    lines = out.getvalue().splitlines()
    assert lines[0] == f"Nothing was imported: {len(lines) - 3} problems."
    assert lines[1] == "study.toml"
    assert lines[2] == "  study.title: This field is missing. Add title = …"
    table = lines.index("stimuli.csv")
    assert lines[table + 1].startswith("  row 2, item: The item “i1” lacks “sys-b”")
    assert lines[table + 2].startswith("  row 4, condition: “sys-x” is not declared as a condition")
    assert lines[table + 3].startswith("  row 5, file: There is no file “audio/no.wav”")
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("users", "arguments", "words"),
    [
        ([], [], "Say whose study it is: --owner NAME"),
        (["ada", "bob"], [], "Say whose study it is: --owner NAME"),
        (["ada"], ["--owner", "eve"], "no account “eve”; there are: ada.*make_account eve"),
    ],
)
def test_a_study_needs_an_owner(
    tmp_path: Path, users: list[str], arguments: list[str], words: str
) -> None:
    for name in users:
        User.objects.create_user(name)
    with pytest.raises(CommandError, match=words):
        run("import_study", make_folder(tmp_path), *arguments)


@pytest.mark.medium
def test_the_only_user_owns_what_is_imported(tmp_path: Path) -> None:
    User.objects.create_user("ada")
    run("import_study", make_folder(tmp_path))
    assert Study.objects.get().owner.get_username() == "ada"


@pytest.mark.medium
def test_a_second_import_needs_replace(tmp_path: Path) -> None:
    User.objects.create_user("ada")
    folder = make_folder(tmp_path)
    run("import_study", folder)
    with pytest.raises(CommandError, match=r"already.*--replace"):
        run("import_study", folder)
    User.objects.create_user("ben")
    said = run("import_study", folder, "--replace", "--owner", "ben")
    assert "Imported “small”" in said
    assert "still belongs to ada" in said


@pytest.mark.medium
def test_an_ordinary_account_is_made_and_its_password_set_by_the_link_that_is_printed(
    client: Client,
) -> None:
    said = run("make_account", "eve", "--email", "eve@example.org")
    eve = User.objects.get()
    assert (eve.is_superuser, eve.is_staff, eve.has_usable_password()) == (False, False, False)
    path = urlsplit(said.splitlines()[-1]).path
    page = client.get(path, follow=True)
    new = {"new_password1": "correct horse battery", "new_password2": "correct horse battery"}
    short = {"new_password1": "short", "new_password2": "short"}
    assert "too short" in client.post(page.request["PATH_INFO"], short).content.decode()
    assert client.post(page.request["PATH_INFO"], new).url == "/login/"
    assert client.login(username="eve", password="correct horse battery")
    assert "Invalid link" in client.get(path).content.decode()
    with pytest.raises(CommandError, match="already exists"):
        run("make_account", "eve")
    assert "/password/" in run("password_link", "eve")
    with pytest.raises(CommandError, match="no account “mallory”"):
        run("password_link", "mallory")


def test_a_lost_password_is_mailed_where_there_is_a_mail_server(
    client: Client, settings, mailoutbox
) -> None:
    user = User.objects.create_user("eve", "eve@example.org", "correct horse battery")
    assert client.get("/password/lost/").status_code == 404
    assert "Reset your password by email" not in client.get("/login/").content.decode()
    settings.EARNEST_MAIL = {"backend": "django.core.mail.backends.locmem.EmailBackend"}
    settings.EARNEST_PUBLIC_URL = "https://listen.example.org"
    assert "Reset your password by email" in client.get("/login/").content.decode()
    said = [
        client.post("/password/lost/", {"email": email}, follow=True).context["messages"]
        for email in ("eve@example.org", "nobody@example.org")
    ]
    assert len({str(next(iter(each))) for each in said}) == 1  # it tells nobody who has an account
    (mail,) = mailoutbox
    assert mail.to == [user.email]
    assert "https://listen.example.org/password/" in mail.body


@pytest.mark.medium
def test_exporting(tmp_path: Path) -> None:
    User.objects.create_user("ada")
    run("import_study", make_folder(tmp_path / "study"))
    said = run("export_study_folder", "small", tmp_path / "out")
    assert "Wrote study.toml, stimuli.csv and 4 sound files" in said
    assert (tmp_path / "out" / "audio" / "a1.wav").exists()
    with pytest.raises(CommandError, match="not empty"):
        run("export_study_folder", "small", tmp_path / "out")
    with pytest.raises(CommandError, match=r"no study “smal”\. Studies: small"):
        run("export_study_folder", "smal", tmp_path / "other")


@pytest.mark.medium
def test_opening_later(tmp_path: Path) -> None:
    User.objects.create_user("ada")
    run("import_study", make_folder(tmp_path))
    assert "Open, with 12 presentations planned" in run("open_study", "small")
    assert Study.objects.get().state == "open"
    Study.objects.update(state="closed")
    with pytest.raises(CommandError, match=r"was not opened.*closed"):
        run("open_study", "small")


@pytest.mark.slow
def test_the_demo_becomes_rows_and_is_made_once(media: Path) -> None:  # noqa: F811
    said = run("ensure_demo")
    study = Study.objects.get()
    assert (study.key, study.state, study.owner.get_username()) == ("demo", "open", "researcher")
    assert not study.owner.has_usable_password()
    assert "changepassword researcher" in said
    assert [t.key for t in study.tasks.order_by("order")] == ["att", "mos"]
    att, mos = study.tasks.order_by("order")
    human = {"kind": "human", "count": 2, "expected": ["Human"], "pass_at_least": 1}
    assert att.traps["kinds"][1] == human
    labels = [step["label"] for step in att.criteria.get().scale["steps"]]
    assert labels == ["Human", "Unclear", "Machine"]
    assert len(mos.criteria.get().scale["steps"]) == 9
    assert study.stimuli.filter(trap="").count() == 70
    assert set(study.completion_codes) == set(OUTCOMES)
    assert len(set(study.completion_codes.values())) == len(OUTCOMES)
    stored = [path for path in media.rglob("*") if path.is_file()]
    assert len(stored) == 73 + 78  # originals, served copies
    assert len({s.served for s in study.stimuli.all()}) == 78
    for task in (att, mos):
        slots = Slot.objects.filter(task=task)
        assert slots.count() == 70 * task.ratings_per_stimulus
        sizes = {block.slots.count() for block in task.blocks.all()}
        assert sizes == {task.block_size}
    assert "already" in run("ensure_demo")
    assert Study.objects.count() == 1


def test_the_demo_belongs_to_the_researcher_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked(Exception):
        """Ends the command before it imports."""

    def ask(folder: Path, owner: User) -> None:
        raise Asked(folder.name, owner)

    User.objects.create_user("researcher", password="their own")
    monkeypatch.setattr(studies, "create_study", ask)
    with pytest.raises(Asked) as asked:
        run("ensure_demo")
    name, owner = asked.value.args
    assert name == "demo"
    assert owner.check_password("their own")


@pytest.mark.medium
def test_the_demo_leaves_other_studies_alone(tmp_path: Path) -> None:
    User.objects.create_user("ada")
    run("import_study", make_folder(tmp_path))
    assert "There is a study already" in run("ensure_demo")
    assert Study.objects.get().key == "small"


@pytest.mark.medium
def test_a_folder_of_sounds_becomes_a_study_without_a_line_written_by_hand(tmp_path: Path) -> None:
    User.objects.create_user("ada")
    for name in ("vits_s1", "vits_s2", "human_s1"):
        write_sound(tmp_path / "wavs" / f"{name}.wav")
    texts = "s1|Hello.\ns9|Nobody says this.\n"
    (tmp_path / "texts.txt").write_bytes(texts.encode("utf-16"))
    said = run("scan_audio", tmp_path, "--texts", tmp_path / "texts.txt")
    assert "Read so: names are system, then sentence." in said
    assert "human  1 of 2 sentences" in said
    assert "Missing: “human of s2”." in said
    assert "Ignored: “texts.txt” does not have the extension of an audio file." in said
    assert "No sentence has the name of this line: s9" in said
    with pytest.raises(CommandError, match="was not touched"):
        run("scan_audio", tmp_path)
    (tmp_path / "study.toml").write_text(STUDY + TASK + "allow_missing = true\n")
    said = run("import_study", tmp_path)
    assert "Only stimuli.csv names the conditions “human”, “vits”" in said
    assert Study.objects.get().items.get(key="s1").text == "Hello."


def test_names_that_can_be_read_in_two_ways_are_asked_for_a_pattern(tmp_path: Path) -> None:
    for name in ("alice_hi", "alice_bye", "bob_hi", "bob_bye"):
        write_sound(tmp_path / f"{name}.wav")
    with pytest.raises(CommandError, match=r"(?s)in 2 ways.*--pattern '\{system:1\}_\{sentence\}'"):
        run("scan_audio", tmp_path)
    assert not (tmp_path / "stimuli.csv").exists()
    assert "bob    2 of 2" in run("scan_audio", tmp_path, "--pattern", "{system}_{sentence}.wav")
