"""A study made in the browser: from dropped files to an open study, and what is refused."""

from __future__ import annotations

import errno
import hashlib
import html
import io
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from listening.design.draft_toml import KINDS
from listening.drafts.figures import figures_of, reading_of
from listening.drafts.files import ignore, ignored_of, problems_of
from listening.drafts.folder import folder_of, place_of, rows_of, table_of
from listening.models import Draft, Membership, Project, Slot, Study
from tests.factories import make_study
from tests.listening.folders import make_folder, write_sound
from tests.listening.test_studies import media  # noqa: F401

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(client: Client, settings, tmp_path: Path) -> Client:
    settings.EARNEST_VAR = tmp_path / "var"
    client.force_login(User.objects.create_user("ada"))
    return client


def begun(client: Client, kind: str = "mos") -> Draft:
    assert client.post("/new/", {"kind": kind}).status_code == 302
    return Draft.objects.latest("pk")


def send(client: Client, draft: Draft, name: str, data: bytes, piece: int = 10**9):
    at = 0
    while True:
        url = f"/drafts/{draft.code}/upload/?path={name}&size={len(data)}&offset={at}"
        answer = client.post(url, data[at : at + piece], content_type="application/octet-stream")
        at += piece
        if answer.status_code != 200 or at >= len(data):
            return answer


def sound(tmp_path: Path, seed: int = 0) -> bytes:
    write_sound(tmp_path / "one.wav", seed)
    return (tmp_path / "one.wav").read_bytes()


def fill(client: Client, draft: Draft, tmp_path: Path, systems=("vits", "human"), lines=(1, 2, 3)):
    for n, system in enumerate(systems):
        for line in lines:
            done = send(client, draft, f"set/{system}/s{line}.wav", sound(tmp_path, 10 * n + line))
            assert done.json() == {"done": True, "problem": ""}
    client.post(f"/drafts/{draft.code}/do/", {"do": "arrange"})
    draft.refresh_from_db()


def save(client: Client, draft: Draft, changes: dict[str, object], **more: object):
    body = {"revision": draft.revision, "changes": changes, **more}
    url = f"/drafts/{draft.code}/save/"
    return client.post(url, json.dumps(body), content_type="application/json")


@pytest.mark.medium
def test_a_questionnaire_is_previewed_before_there_are_sounds(ada: Client) -> None:
    draft = begun(ada)
    added = {"do": "add-form", "when": "after", "revision": draft.revision}
    ada.post(f"/drafts/{draft.code}/do/", added)
    draft.refresh_from_db()
    save(ada, draft, {"questionnaires.1.title": "Nearly done"})
    gone = ada.get(f"/preview/drafts/{draft.code}/?form=2")  # as of a part that was just removed
    assert (gone.status_code, "not in the draft any more" in gone.text) == (404, True)
    assert "frame-ancestors 'self'" in gone["Content-Security-Policy"]  # in the frame beside it
    page = ada.get(f"/preview/drafts/{draft.code}/?form=1&lang=de", follow=True)
    assert page.redirect_chain[0][0].endswith("?lang=de&questionnaire=questionnaire-1")
    assert "Nearly done" in page.content.decode()
    review = ada.get(f"/drafts/{draft.code}/review/")
    findings = {each.what: each.address for each in review.context["findings"]}
    assert findings["Raters would read “Your question”."].endswith("#q1-0-question")
    assert 'data-anchor="q1-0-question"' in review.content.decode()
    draft.refresh_from_db()
    words: dict[str, object] = {"questionnaires.1.questions.0.question": "Was it hard?"}
    news = save(ada, draft, words).json()
    assert "Raters would read" not in news["figures"]
    draft.refresh_from_db()
    save(ada, draft, {"questionnaires.1.questions.0.options": "Yes"})
    page = ada.get(f"/preview/drafts/{draft.code}/?questionnaire=questionnaire-1")
    assert "Write at least two." in page.content.decode()


@pytest.mark.usefixtures("media")
@pytest.mark.medium
def test_files_become_an_open_study(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path)
    act = f"/drafts/{draft.code}/do/"
    role = {"do": "role", "condition": "human", "role": "reference", "revision": draft.revision}
    ada.post(act, role)
    draft.refresh_from_db()
    assert (
        save(ada, draft, {"study.title": "Our voices", "checks.huggins": True}).status_code == 200
    )
    for page in ("", "questions/", "raters/", "review/"):
        assert ada.get(f"/drafts/{draft.code}/{page}").status_code == 200
    assert ada.get(f"/preview/drafts/{draft.code}/?task=mos").status_code == 200
    reviews = b"Clip reviews"
    assert reviews not in ada.get(f"/drafts/{draft.code}/").content
    packed = b"".join(ada.get(f"/drafts/{draft.code}/folder.zip").streaming_content)  # type: ignore[attr-defined]
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        names = {name.partition("/")[2] for name in opened.namelist()}
    assert {"study.toml", "stimuli.csv", "audio/set/vits/s1.wav"} <= names
    ada.post(act, {"do": "make"})
    assert b"Open the study" in ada.get(f"/drafts/{draft.code}/review/").content
    assert Study.objects.get().state == "draft"
    for page in ("", "review/"):
        assert reviews in ada.get(f"/drafts/{draft.code}/{page}").content
    validated = ada.get(f"/studies/{Study.objects.get().key}/reviews/").content.decode()
    assert f"/drafts/{draft.code}/" in validated
    ada.post(act, {"do": "open"})
    study = Study.objects.get()
    assert (study.title, study.state, study.owner.username) == ("Our voices", "open", "ada")
    assert study.conditions.get(key="human").role == "reference"
    assert Slot.objects.filter(block__task__study=study).count() == 60
    assert not Draft.objects.exists()
    assert not folder_of(draft).exists()


@pytest.mark.medium
def test_every_kind_begins_as_a_study_that_lacks_nothing_but_its_sounds(
    ada: Client, tmp_path: Path
) -> None:
    for kind in KINDS:
        draft = begun(ada, kind)
        fill(ada, draft, tmp_path, ("a_tts", "human"), (1, 2))
        role = {"do": "role", "condition": "human", "role": "reference"}
        ada.post(f"/drafts/{draft.code}/do/", {**role, "revision": draft.revision})
        page = ada.get(f"/drafts/{draft.code}/review/").content.decode()
        assert "to fix</h2>" not in page, page[page.index("to fix</h2>") :][:1500]


@pytest.mark.medium
def test_a_file_in_pieces_goes_on_where_it_stopped(ada: Client, tmp_path: Path) -> None:
    draft, data = begun(ada), sound(tmp_path)
    url = f"/drafts/{draft.code}/upload/?path=a/s1.wav&size={len(data)}&offset="
    kind = "application/octet-stream"
    assert ada.post(url + "0", data[:1000], content_type=kind).json() == {"received": 1000}
    there = ada.get(f"/drafts/{draft.code}/files/?path=a/s1.wav&size={len(data)}").json()
    assert there == {"received": 1000}
    again = ada.post(url + "0", data[:1000], content_type=kind)
    assert (again.status_code, again.json()) == (409, {"received": 1000})
    assert ada.get(f"/drafts/{draft.code}/files/").json() == {"files": {}}
    assert ada.post(url + "1000", data[1000:], content_type=kind).json()["done"]
    assert ada.get(f"/drafts/{draft.code}/files/").json() == {
        "files": {"a/s1.wav": [len(data), hashlib.sha256(data).hexdigest()]}
    }
    heard = ada.get(f"/drafts/{draft.code}/clips/audio/a/s1.wav")
    assert b"".join(heard.streaming_content) == data  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "words"),
    [("../x.wav", "out of the folder"), ("/etc/x.wav", "absolute"), ("a%5Cb.wav", "backslash")],
)
def test_a_name_that_leads_elsewhere_is_refused(ada: Client, name: str, words: str) -> None:
    answer = send(ada, begun(ada), name, b"x")
    assert answer.status_code == 422
    assert words in answer.json()["problem"]


@pytest.mark.medium
def test_what_is_no_sound_is_named(ada: Client) -> None:
    draft = begun(ada)
    assert "problem" in send(ada, draft, "a/s1.wav", b"no sound at all").json()
    send(ada, draft, "notes.txt", b"hello")
    page = ada.get(f"/drafts/{draft.code}/").content.decode()
    assert "“audio/notes.txt” does not have the extension of an audio file." in page


@pytest.mark.medium
def test_a_zip_of_a_study_folder_becomes_the_draft(ada: Client, tmp_path: Path) -> None:
    from tests.listening.folders import make_folder

    source = make_folder(tmp_path / "small")
    archive = tmp_path / "small.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for path in source.rglob("*.*"):
            opened.write(path, f"small/{path.relative_to(source)}")
    draft = begun(ada, "folder")
    assert send(ada, draft, "small.zip", archive.read_bytes(), 5000).json()["problem"] == ""
    ada.post(f"/drafts/{draft.code}/do/", {"do": "arrange"})
    assert table_of(draft)["study"]["key"] == "small"
    assert len(rows_of(draft)) == 4
    draft.refresh_from_db()
    assert draft.title == "A small study"
    bad = tmp_path / "bad.zip"
    with zipfile.ZipFile(bad, "w") as opened:
        opened.writestr("../../out.wav", b"x")
    assert "out of the folder" in send(ada, draft, "bad.zip", bad.read_bytes()).json()["problem"]


@pytest.mark.medium
def test_files_that_cannot_be_used_stay_listed_until_they_come_again(
    ada: Client, tmp_path: Path
) -> None:
    draft = begun(ada)
    page = f"/drafts/{draft.code}/"
    assert (
        "no sound" not in send(ada, draft, "set/vits/s1.wav", sound(tmp_path, 1)).content.decode()
    )
    problem = send(ada, draft, "set/vits/s2.wav", b"RIFF, and no more").json()["problem"]
    assert problem
    empty = send(ada, draft, "set/vits/s3.wav", b"").json()["problem"]
    send(ada, draft, "../out.wav", sound(tmp_path, 1))
    for _ in range(2):  # and after a reload
        shown = html.unescape(ada.get(page).content.decode())
        assert f"<li>set/vits/s2.wav: {problem}</li>" in shown
        assert f"<li>set/vits/s3.wav: {empty}</li>" in shown
        assert "<li>../out.wav: " in shown
    send(ada, draft, "set/vits/s2.wav", sound(tmp_path, 2))
    assert "set/vits/s2.wav: " not in ada.get(page).content.decode()
    ada.post(f"{page}do/", {"do": "forget-problems"})
    assert "Hide the list" not in ada.get(page).content.decode()


@pytest.mark.medium
def test_lists_that_a_full_disk_cut_off_are_read_as_not_there(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    page = f"/drafts/{draft.code}/"
    send(ada, draft, "vits/s1.wav", sound(tmp_path, 1))
    send(ada, draft, "vits/s2.wav", b"RIFF, and no more")
    ignore(draft, [".DS_Store"])
    ada.post(f"{page}do/", {"do": "arrange"})
    assert ignored_of(draft) == [".DS_Store"]
    assert ada.get(page).context["matrix"]["total"] == 2
    cut = [each for each in place_of(draft).rglob("*.json") if each.parent.name != "study"]
    assert {each.parent.name for each in cut} >= {"problems", "facts"}
    for each in cut:
        each.write_bytes(each.read_bytes()[:4])
    assert ada.get(page).context["matrix"]["total"] == 2
    assert (ignored_of(draft), problems_of(draft)) == ([], {})


@pytest.mark.medium
def test_more_files_keep_what_was_renamed_marked_and_written(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path, ("vits", "flawed"))
    act = f"/drafts/{draft.code}/do/"
    for change in (
        {"do": "rename", "condition": "vits", "name": "Our voice"},
        {"do": "role", "condition": "flawed", "role": "trap"},
        {"do": "texts", "texts": "s1|Hello.\ns2|Bye."},
    ):
        draft.refresh_from_db()
        ada.post(act, {**change, "revision": draft.revision})
    draft.refresh_from_db()
    unclear = {"do": "texts", "texts": "u1|Other.\n" * 3, "revision": draft.revision}
    page = ada.post(act, unclear, follow=True).content.decode()
    assert "No text was changed. The lines look like a table" in page
    fill(ada, draft, tmp_path, ("vits",), (4,))
    rows = {row["file"]: row for row in rows_of(draft)}
    assert rows["audio/set/vits/s4.wav"]["condition"] == "Our voice"
    assert rows["audio/set/vits/s1.wav"]["text"] == "Hello."
    assert rows["audio/set/flawed/s2.wav"]["trap"] == "flawed"
    task = table_of(draft)["tasks"][0]
    assert task["traps"]["kinds"][0]["expected"] == ["1", "2"]
    assert task["block_size"] == 4  # no more than there is to rate


@pytest.mark.medium
def test_who_is_late_is_told_and_overwrites_knowingly(ada: Client) -> None:
    draft = begun(ada)
    assert save(ada, draft, {"study.title": "First"}).status_code == 200
    late = save(ada, draft, {"study.title": "Second"})
    assert (late.status_code, late.json()["revision"]) == (409, draft.revision + 1)
    assert table_of(draft)["study"]["title"] == "First"
    assert save(ada, draft, {"study.title": "Second"}, anyway=True).status_code == 200
    assert table_of(draft)["study"]["title"] == "Second"


@pytest.mark.medium
def test_what_two_people_change_is_merged_and_what_both_change_is_asked_for(ada: Client) -> None:
    draft = begun(ada)
    ben = User.objects.create_user("ben")
    lab = Project.objects.create(name="Lab")
    for user in (User.objects.get(username="ada"), ben):
        Membership.objects.create(project=lab, user=user, role="owner")
    ada.post(f"/drafts/{draft.code}/do/", {"do": "move", "project": lab.pk})
    other = Client()
    other.force_login(ben)
    mine = {"study.title": "Ada's", "study.texts.end": "Bye.", "checks.huggins": True}
    assert save(ada, draft, mine).status_code == 200
    late = save(other, draft, {"study.title": "Ben's", "study.texts.debrief": "Voices."})
    news = late.json()
    assert (late.status_code, news["revision"]) == (409, draft.revision + 2)
    assert news["collisions"] == [{"field": "study.title", "value": "Ada's", "by": "ada"}]
    theirs = {each["field"]: each["value"] for each in news["theirs"]}
    assert (theirs["study.texts.end"], theirs["checks.huggins"]) == ("Bye.", True)
    study = table_of(draft)["study"]
    assert (study["title"], study["texts"]["debrief"]) == ("Ada's", "Voices.")
    draft.revision = news["revision"]
    assert save(other, draft, {"study.title": "Ben's"}).status_code == 200  # knowing the newest
    seen = ada.get(f"/drafts/{draft.code}/state/?seen={draft.revision}").json()
    assert {"field": "study.title", "value": "Ben's", "by": "ben"} in seen["theirs"]
    draft.revision = 1  # the same words twice are no collision, and change nothing
    assert save(ada, draft, {"study.title": "Ben's"}).json()["revision"] == seen["revision"]


@pytest.mark.medium
def test_a_draft_of_a_project_becomes_a_study_of_it(ada: Client, tmp_path: Path, media) -> None:  # noqa: F811
    lab = Project.objects.create(name="Lab")
    Membership.objects.create(project=lab, user=User.objects.get(), role="editor")
    ada.post("/new/", {"kind": "mos", "project": lab.pk})
    draft = Draft.objects.get()
    viewer = Client()
    viewer.force_login(User.objects.create_user("eve"))
    Membership.objects.create(project=lab, user=User.objects.get(username="eve"), role="viewer")
    assert f"/drafts/{draft.code}/" in viewer.get("/new/").content.decode()
    assert (
        "Only editors of the project"
        in viewer.get(f"/drafts/{draft.code}/raters/").content.decode()
    )
    assert save(viewer, draft, {"study.title": "x"}).status_code == 403
    fill(ada, draft, tmp_path)
    ada.post(f"/drafts/{draft.code}/do/", {"do": "make"})
    assert Study.objects.get().project == lab


@pytest.mark.medium
def test_a_field_that_no_page_has_is_refused_and_a_wrong_value_is_kept_and_named(
    ada: Client,
) -> None:
    draft = begun(ada)
    assert save(ada, draft, {"study.checks": "x"}).status_code == 400
    assert save(ada, draft, {"tasks.9.title": "x"}).status_code == 400
    assert save(ada, draft, {"tasks.0.ratings_per_stimulus": "many"}).status_code == 200
    page = ada.get(f"/drafts/{draft.code}/review/").content.decode()
    assert (
        f'/drafts/{draft.code}/raters/#r0">Raters: Ratings per stimulus</a>. This is a text' in page
    )
    assert "study.toml" not in page
    assert "tasks[" not in page
    assert 'value="many"' in ada.get(f"/drafts/{draft.code}/raters/").content.decode()


@pytest.mark.medium
def test_a_draft_with_a_negative_count_plans_no_negative_ratings(
    ada: Client, tmp_path: Path
) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path)
    assert figures_of(draft, reading_of(draft)).ratings
    assert save(ada, draft, {"tasks.0.ratings_per_stimulus": "-12"}).status_code == 200
    draft.refresh_from_db()
    figures = figures_of(draft, reading_of(draft))
    assert figures.mistakes
    assert (figures.ratings, figures.raters) == (None, None)


def test_a_new_consent_is_a_new_version(ada: Client) -> None:
    draft = begun(ada)
    save(ada, draft, {"study.texts.consent": "I agree."})
    assert table_of(draft)["study"]["texts"]["consent_version"] == "2"


@pytest.mark.medium
def test_a_draft_is_nobody_elses(ada: Client, client: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    send(ada, draft, "a/s1.wav", sound(tmp_path))
    client.force_login(User.objects.create_user("eve"))
    pages = ("", "questions/", "raters/", "review/", "files/", "state/", "precision/")
    for url in (*(f"/drafts/{draft.code}/{page}" for page in pages),):
        assert client.get(url).status_code == 404
    assert client.get(f"/preview/drafts/{draft.code}/").status_code == 404
    assert client.post(f"/drafts/{draft.code}/do/", {"do": "delete"}).status_code == 404
    assert save(client, draft, {"study.title": "x"}).status_code == 404
    assert client.get("/drafts/unknown/").status_code == 404


def test_a_study_whose_originals_are_missing_is_not_copied(ada: Client, tmp_path: Path) -> None:
    make_study(key="bare", items=1)
    Study.objects.update(owner=User.objects.get(username="ada"))
    answer = ada.post("/new/", {"kind": "copy", "study": "bare"}, follow=True)
    assert "The study was not copied. The original audio of" in answer.content.decode()
    assert not Draft.objects.exists()
    assert list((tmp_path / "var/drafts").glob("*")) == []


@pytest.mark.parametrize("changes", [{"study.title": "a\0b"}, {"study.title": {"\0": 1}}])
def test_a_change_that_no_database_keeps_is_refused(ada: Client, changes) -> None:
    draft = begun(ada)
    assert save(ada, draft, changes).status_code == 400
    assert Draft.objects.get().revision == draft.revision


@pytest.mark.medium
def test_a_full_disk_leaves_both_tables_as_they_were(
    ada: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path)
    before = {path: path.read_bytes() for path in place_of(draft).rglob("*") if path.is_file()}
    real, begun_to_write = Path.open, []

    def full(path: Path, mode: str = "r", *given: Any, **named: Any) -> Any:
        if mode == "w":
            begun_to_write.append(path.name)
            if path.name == "stimuli.csv":
                raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, mode, *given, **named)

    monkeypatch.setattr(Path, "open", full)
    role = {"do": "role", "condition": "vits", "role": "trap", "revision": draft.revision}
    answer = ada.post(f"/drafts/{draft.code}/do/", role)
    assert answer.status_code == 503
    assert begun_to_write == ["study.toml", "stimuli.csv"]
    after = {path: path.read_bytes() for path in place_of(draft).rglob("*") if path.is_file()}
    assert after == before
    assert Draft.objects.get().revision == draft.revision


class Killed(BaseException):
    """Ends a request where it is; nothing that handles errors takes it for one."""


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[None]:
    """A request in it ends before it moves the file of this number to its place."""
    real, left = os.replace, [number]

    def replace(source: Any, target: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise Killed
        real(source, target)

    with monkeypatch.context() as until_killed:
        until_killed.setattr(os, "replace", replace)
        with pytest.raises(Killed):
            yield


@pytest.mark.medium
def test_a_change_that_is_killed_between_its_two_tables_is_finished(
    ada: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path)
    rename = {"do": "rename", "condition": "vits", "name": "other", "revision": draft.revision}
    with killed_at(monkeypatch, 2):
        ada.post(f"/drafts/{draft.code}/do/", rename)
    assert ada.get(f"/drafts/{draft.code}/").status_code == 200
    assert {row["condition"] for row in rows_of(draft)} == {"other", "human"}
    assert {each["key"] for each in table_of(draft)["conditions"]} == {"other", "human"}
    assert not list(place_of(draft).glob("changed*"))


@pytest.mark.medium
def test_an_uploaded_study_folder_that_was_half_moved_comes_whole(
    ada: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path / "mine")
    draft = begun(ada)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        send(ada, draft, path.relative_to(folder).as_posix(), path.read_bytes())
    arrange = {"do": "arrange"}
    for number in (1, 2, 2):
        with killed_at(monkeypatch, number):
            ada.post(f"/drafts/{draft.code}/do/", arrange)
    ada.post(f"/drafts/{draft.code}/do/", arrange)
    draft.refresh_from_db()
    assert draft.wishes is None
    assert table_of(draft)["study"]["key"] == "small"
    assert {row["file"] for row in rows_of(draft)} == {
        f"audio/{n}.wav" for n in ("a1", "a2", "b1", "b2")
    }
    assert all((folder_of(draft) / row["file"]).is_file() for row in rows_of(draft))


@pytest.mark.medium
def test_a_change_that_could_not_be_read_again_is_refused(ada: Client) -> None:
    """Else no page could show the draft any more, and nobody mend it."""
    draft = begun(ada)
    answer = save(ada, draft, {"study.texts.welcome": "x" * 1_100_000})
    assert answer.status_code == 422
    said = answer.json()["message"]
    assert said.startswith("This was not saved. The file has 1,1")
    assert said.endswith("Shorten or remove it.")
    assert save(ada, draft, {"study.title": "Short"}).status_code == 200


@pytest.mark.medium
def test_a_study_is_copied_with_its_sounds_under_a_new_key(
    ada: Client,
    tmp_path: Path,
    media,  # noqa: F811
) -> None:
    from listening.studies import create_study
    from tests.listening.folders import make_folder

    create_study(make_folder(tmp_path / "small"), User.objects.get())
    ada.post("/new/", {"kind": "copy", "study": "small"})
    draft = Draft.objects.get()
    assert table_of(draft)["study"]["key"].startswith("small-")
    assert len(rows_of(draft)) == 4
    before = table_of(draft)
    save(ada, draft, {"study.title": "A copy"})
    assert table_of(draft)["tasks"] == before["tasks"]  # what was uploaded is fitted to nothing
    ada.post(f"/drafts/{draft.code}/do/", {"do": "make"})
    assert Study.objects.count() == 2


def test_a_button_of_a_lost_log_in_leads_back_to_its_page(client: Client) -> None:
    page = "http://testserver/drafts/abc/review/?x=1"
    answer = client.post("/drafts/abc/do/", {"do": "open"}, headers={"referer": page})
    assert answer["Location"] == "/login/?next=%2Fdrafts%2Fabc%2Freview%2F%3Fx%3D1"
    elsewhere = client.post("/drafts/abc/do/", headers={"referer": "https://evil.example/x"})
    assert elsewhere["Location"] == "/login/?next=%2F"
