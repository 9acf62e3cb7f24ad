"""The page of sounds: anchors and traps made of clips, lines in context, what is missing."""

from __future__ import annotations

import io
import zipfile
from hashlib import sha256
from ipaddress import ip_network
from pathlib import Path

import numpy as np
import pytest
import soundfile
from django.contrib.auth.models import User
from django.test import Client

from listening import audio
from listening.audio import long_sounds
from listening.audio.degradations import FLAWS, flawed, low_passed
from listening.common.reading_process import ServerBusy
from listening.drafts import fetched, files
from listening.drafts.figures import reading_of
from listening.drafts.files import facts_of
from listening.drafts.folder import folder_of, rows_of, table_of
from listening.drafts.sounds import versus
from listening.models import Draft, Study
from tests.listening.encoded import chirp, encode
from tests.listening.folders import write_sound
from tests.listening.test_drafts import begun, fill, send, sound
from tests.listening.test_studies import media  # noqa: F401
from tests.local_server import LocalServer

RATE_HZ = 16_000


@pytest.fixture
def ada(client: Client, settings, tmp_path: Path, db: None) -> Client:
    settings.EARNEST_VAR = tmp_path / "var"
    client.force_login(User.objects.create_user("ada"))
    return client


def press(client: Client, draft: Draft, do: str, **more: str):
    """A button of the page; what the page says after it."""
    draft.refresh_from_db()
    sent = {"do": do, "revision": draft.revision, **more}
    answer = client.post(f"/drafts/{draft.code}/do/", sent)
    draft.refresh_from_db()
    return answer


def page_of(client: Client, draft: Draft) -> str:
    return client.get(f"/drafts/{draft.code}/").content.decode()


# --- Sounds made of sounds ------------------------------------------------------------------------


@pytest.mark.parametrize(("rate_hz", "cut_hz"), [(48_000, 3500), (16_000, 3500), (44_100, 7000)])
def test_anchors_keep_within_the_mask_of_bs_1534(rate_hz: int, cut_hz: int) -> None:
    """Measured by what a click comes out as: 0.1 dB, 25 dB at 4 kHz, 50 dB at 4.5 kHz, in step."""
    click = np.zeros((rate_hz, 1))
    click[rate_hz // 2] = 1
    made = low_passed(click, rate_hz, cut_hz)[:, 0]
    assert np.argmax(made) == rate_hz // 2
    level_db = 20 * np.log10(np.abs(np.fft.rfft(made)) + 1e-12)  # one bin per Hz
    assert np.abs(level_db[: cut_hz + 1]).max() <= 0.1
    assert level_db[cut_hz + 500 :].max() <= -25
    assert level_db[cut_hz + 1000 :].max() <= -50


def spoken(seconds: float = 1.5) -> np.ndarray:
    """Something like a voice: a falling series of partials that comes and goes."""
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    tones = sum(np.sin(2 * np.pi * 140 * k * t + k) / k**1.5 for k in range(1, 30))
    wave = 0.1 * tones * (0.55 + 0.45 * np.sin(2 * np.pi * 3 * t))
    return np.asarray(wave)[:, None]


@pytest.mark.parametrize("kind", FLAWS)
@pytest.mark.medium
def test_a_flawed_clip_is_spoilt_and_has_the_length_level_and_spectrum_of_its_source(
    kind: str, tmp_path: Path
) -> None:
    from listening.audio.degradations import write_wave
    from listening.audio.leaks import facts_of as seen

    source = spoken()
    made = flawed(source, RATE_HZ, kind)
    assert made.shape == source.shape
    assert np.array_equal(made, flawed(source, RATE_HZ, kind))
    assert abs(np.corrcoef(made[:, 0], source[:, 0])[0, 1]) < 0.8
    heard = []
    for name, wave in (("a", source), ("b", made)):
        write_wave(tmp_path / f"{name}.flac", wave, RATE_HZ)
        facts = audio.probed(tmp_path / f"{name}.flac")
        heard.append((facts.loudness_lufs, seen((tmp_path / f"{name}.flac").read_bytes())))
    (own_lufs, own), (made_lufs, other) = heard
    assert made_lufs == pytest.approx(own_lufs, abs=0.3)
    assert other["edge_hz"] == pytest.approx(own["edge_hz"], rel=0.25)
    assert other["level_db"] == pytest.approx(own["level_db"], abs=2)


@pytest.mark.medium
@pytest.mark.parametrize("kind", FLAWS)
def test_a_flawed_clip_has_the_noise_of_its_source_in_pauses(kind: str) -> None:
    """Digital silence, or a quieter room than in the other clips, would name the trap."""
    room = 1e-3 * np.random.default_rng(2).standard_normal((RATE_HZ, 1))
    source = np.concatenate([spoken(1.0), np.zeros((RATE_HZ // 2, 1)), spoken(1.0)])
    source[: len(room)] += room
    source[len(room) :] += np.resize(room, (len(source) - len(room), 1))
    made = flawed(source, RATE_HZ, kind)
    pause = slice(round(1.1 * RATE_HZ), round(1.4 * RATE_HZ))
    own_db, made_db = (10 * np.log10(np.mean(each[pause] ** 2)) for each in (source, made))
    assert made_db == pytest.approx(own_db, abs=3)


@pytest.mark.medium
def test_anchors_and_traps_are_made_named_and_taken_back(
    ada: Client,
    tmp_path: Path,
    media: Path,  # noqa: F811
) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path)
    press(ada, draft, "make-sounds", make="anchors")
    assert "Set a reference first" in page_of(ada, draft)
    press(ada, draft, "role", condition="human", role="reference")
    piece = press(ada, draft, "make-sounds", make="anchors", step="1")
    assert piece.json() == {"left": 0, "total": 6}
    press(ada, draft, "make-sounds", make="traps", kind="noise", of="vits", count="2")
    press(ada, draft, "make-sounds", make="traps", kind="robot", file="audio/set/vits/s2.wav")
    rows = {(row["condition"], row["item"]): row for row in rows_of(draft)}
    low = rows["anchor35", "s1"]
    assert low["made_from"] == "audio/set/human/s1.wav"
    assert low["made_by"].startswith("Low-pass 3.5 kHz")
    assert {item for condition, item in rows if condition == "flawed"} == {"s1", "s2", "s3"}
    assert rows["flawed", "s2"]["trap"] == "flawed"
    roles = {c["key"]: c.get("role") for c in table_of(draft)["conditions"]}
    assert (roles["anchor70"], roles["flawed"]) == ("anchor", "trap")
    page = page_of(ada, draft)
    assert "from audio/set/vits/s2.wav" in page
    press(ada, draft, "arrange")
    assert len(rows_of(draft)) == len(rows)  # what was made stays, and joins no guess
    press(ada, draft, "make")
    assert Study.objects.get().stimuli.filter(trap="flawed").count() == 3
    for condition in ("anchor35", "anchor70", "flawed"):
        press(ada, draft, "take-back", condition=condition)
    assert len(rows_of(draft)) == 6
    assert not list((folder_of(draft) / "made").rglob("*.flac"))
    press(ada, draft, "take-back", condition="human")
    assert len(rows_of(draft)) == 6  # what was uploaded is nobody's to take back


@pytest.mark.medium
def test_names_suggest_the_reference_and_anchors(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path, ("vits", "Ground_Truth", "LP35"), (1, 2))
    page = page_of(ada, draft)
    assert "Set Ground_Truth as reference" in page
    assert "Set LP35 as anchor" in page
    assert "Make vits" not in page
    press(ada, draft, "role", condition="Ground_Truth", role="reference")
    press(ada, draft, "role", condition="LP35", role="anchor")
    assert "The name suggests" not in page_of(ada, draft)


@pytest.mark.medium
def test_an_anchor_that_would_be_the_reference_is_not_made(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    write_sound(tmp_path / "low.wav", 1, rate=8000)
    for name in ("human/s1.wav", "human/s2.wav", "tts/s1.wav", "tts/s2.wav"):
        send(ada, draft, name, (tmp_path / "low.wav").read_bytes())
    press(ada, draft, "arrange")
    press(ada, draft, "role", condition="human", role="reference")
    answer = press(ada, draft, "make-sounds", make="anchors", step="1")
    assert answer.status_code == 422
    assert "8,000 Hz" in answer.json()["problem"]


# --- Marks ----------------------------------------------------------------------------------------


@pytest.mark.medium
def test_lines_are_marked_as_the_context_of_others(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path, ("vits", "human"), (1, 2, 3, 4))
    press(ada, draft, "role", condition="human", role="reference")
    for item in ("s2", "s3"):
        press(ada, draft, "continues", item=item)
    assert [(r["paragraph"], r["position"]) for r in rows_of(draft)[::2]] == [
        *(("s1", "1"), ("s1", "2"), ("s1", "3")),
        ("", ""),
    ]
    press(ada, draft, "context", form="R1T1")
    top = table_of(draft)
    assert top["settings"] == [
        {"synthetic": ["vits"], "conditions": ["R1R1", "R1T1"], "real": "human"}
    ]
    assert top["tasks"][0]["conditions"] == ["R1R1", "R1T1"]
    assert top["tasks"][0]["block_size"] == 4  # two lines have one before them, by two voices
    assert reading_of(draft).problems == ()
    assert "context only" in page_of(ada, draft)
    press(ada, draft, "rename", condition="vits", name="Our voice")
    assert reading_of(draft).problems == ()
    press(ada, draft, "continues", anew="s3")
    assert rows_of(draft)[4]["paragraph"] == ""
    press(ada, draft, "paragraphs", forget="1")
    assert "settings" not in table_of(draft)
    assert "conditions" not in table_of(draft)["tasks"][0]


@pytest.mark.medium
def test_context_that_cannot_be_is_refused_with_the_way_out(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path)
    for form, words in (("R1T1", "Mark the reference first"), ("T1T1", "Mark first which")):
        press(ada, draft, "context", form=form)
        assert words in page_of(ada, draft)
    assert "settings" not in table_of(draft)


@pytest.mark.medium
def test_paragraphs_are_read_from_names(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    for name in ("d1_1", "d1_2", "d2_1", "d2_2"):
        for system in ("a", "b"):
            send(ada, draft, f"{system}/{name}.wav", sound(tmp_path, hash(name + system) % 1000))
    press(ada, draft, "arrange")
    press(ada, draft, "paragraphs")
    placed = {row["item"]: (row["paragraph"], row["position"]) for row in rows_of(draft)}
    assert placed["d2_1"] == ("d2", "1")
    assert placed["d1_2"] == ("d1", "2")


@pytest.mark.medium
def test_comparisons_set_all_against_the_marked_system(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada, "ab")
    fill(ada, draft, tmp_path, ("a_tts", "human"), (1, 2))
    press(ada, draft, "versus", condition="human")
    assert versus(table_of(draft)) == {"human"}
    assert 'aria-pressed="true">Compare all with human' in page_of(ada, draft)
    press(ada, draft, "versus", condition="human")
    assert versus(table_of(draft)) == set()


# --- What is missing, and what came in between ----------------------------------------------------


@pytest.mark.medium
def test_holes_and_clips_that_cannot_be_used_are_named(
    ada: Client,
    tmp_path: Path,
    media: Path,  # noqa: F811
) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path, ("vits", "human"), (1, 2))
    fill(ada, draft, tmp_path, ("vits",), (3,))
    page = page_of(ada, draft)
    assert (
        "<strong>human</strong> lacks 1 sentence: s3. Expected name of the first:"
        " <code>set/human/s3.wav" in page
    )
    send(ada, draft, "set/human/s3.wav", b"no sound")
    press(ada, draft, "arrange", unsent='["a.mov", "b.mov"]', **{"unsent-count": "7"})
    page = page_of(ada, draft)
    assert "1 clip cannot be used" in page
    assert "Not sent (hidden, or no sound by their ending): a.mov, b.mov and 5 more." in page
    press(ada, draft, "make")
    said = ada.get(f"/drafts/{draft.code}/review/").content.decode()
    assert "This is no sound file that can be read" in said  # and not nothing


@pytest.mark.medium
def test_files_of_macos_and_windows_are_named_and_not_stored(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path, ("vits", "human"), (1, 2))
    assert send(ada, draft, "set/vits/._s1.wav", b"facts of Finder").json() == {"done": True}
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as opened:
        for system in ("vits", "human"):
            opened.writestr(f"set/{system}/s3.wav", sound(tmp_path, len(system)))
        opened.writestr("__MACOSX/set/vits/._s3.wav", b"x")
        opened.writestr("set/human/Thumbs.db", b"x")
    sent = send(ada, draft, "more.zip", (tmp_path / "more.zip").read_bytes())
    assert sent.json() == {"done": True, "problem": ""}
    press(ada, draft, "arrange")
    page = page_of(ada, draft)
    assert "Unused files (3)" in page
    for name in ("set/vits/._s1.wav", "__MACOSX/set/vits/._s3.wav", "set/human/Thumbs.db"):
        assert f"“{name}” was put there by macOS or Windows, and is no sound" in page
    draft.refresh_from_db()
    assert len(rows_of(draft)) == 6
    assert not [p for p in folder_of(draft).rglob("*") if p.name in ("._s1.wav", "Thumbs.db")]


@pytest.mark.medium
def test_odd_sound_is_told_on_the_pages_before_the_study_is_made(
    ada: Client, tmp_path: Path
) -> None:
    draft = begun(ada)
    fill(ada, draft, tmp_path)
    one = np.random.default_rng(3).uniform(-0.2, 0.2, 8_000)
    soundfile.write(tmp_path / "dead.wav", np.stack([one, 0 * one], axis=1), 16_000)
    send(ada, draft, "set/vits/s1.wav", (tmp_path / "dead.wav").read_bytes())
    press(ada, draft, "arrange")
    assert "right channel silent" in page_of(ada, draft)
    review = ada.get(f"/drafts/{draft.code}/review/").content.decode()
    assert "The right channel is silent, so that this ear hears nothing: “vits-s1”." in review


@pytest.mark.medium
def test_a_draft_with_m4a_and_with_no_sound_can_be_looked_at(ada: Client, tmp_path: Path) -> None:
    draft = begun(ada)
    m4a = encode(tmp_path / "a.m4a", "aac", chirp(1.5, 16_000), 16_000).read_bytes()
    for system in ("vits", "human"):
        send(ada, draft, f"set/{system}/s1.m4a", m4a)
        send(ada, draft, f"set/{system}/s2.wav", sound(tmp_path, len(system)))
    send(ada, draft, "set/human/s2.wav", b"no sound")
    press(ada, draft, "arrange")
    page = f"/preview/drafts/{draft.code}/"
    assert ada.get(page).status_code == 200
    heard = ada.get(f"{page}clips/vits-s1")
    assert soundfile.info(io.BytesIO(b"".join(heard))).duration == pytest.approx(1.5, abs=0.1)
    assert ada.get(f"{page}clips/human-s2").status_code == 404


@pytest.mark.medium
def test_an_archive_whose_unpacking_was_cut_off_is_unpacked_again(
    ada: Client, tmp_path: Path
) -> None:
    draft = begun(ada)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as opened:
        for name in ("a/s1.wav", "a/s2.wav", "b/s1.wav", "b/s2.wav"):
            opened.writestr(name, sound(tmp_path, hash(name) % 1000))
    data = (tmp_path / "all.zip").read_bytes()
    there = folder_of(draft) / "audio" / "all.zip"
    there.write_bytes(data)  # it was whole when the server died
    (there.parents[2] / "unpacked" / "a").mkdir(parents=True)
    url = f"/drafts/{draft.code}/files/?path=all.zip&size={len(data)}"
    assert ada.get(url).json() == {"received": len(data)}
    done = ada.post(
        f"/drafts/{draft.code}/upload/?path=all.zip&size={len(data)}&offset={len(data)}",
        b"",
        content_type="application/octet-stream",
    )
    assert done.json() == {"done": True, "problem": ""}
    assert not there.exists()
    assert press(ada, draft, "measure").json() == {"left": 0}
    names = [f"audio/{system}/s{n}.wav" for system in "ab" for n in (1, 2)]
    assert all("sha256" in facts for facts in facts_of(draft, names).values())


def test_a_sound_that_a_busy_server_did_not_decode_is_looked_at_again(ada, tmp_path, monkeypatch):
    def is_busy(*_, **__):
        raise ServerBusy

    draft = begun(ada)
    data, name = sound(tmp_path), "audio/s1.wav"
    with monkeypatch.context() as busy:
        busy.setattr(long_sounds, "APART_FROM_SAMPLES", 0)
        busy.setattr(long_sounds, "read_apart", is_busy)
        assert send(ada, draft, "s1.wav", data).json()["done"]
        assert facts_of(draft, [name])[name] == {
            "problem": "Decoding the sound did not end in time, because the server is busy. "
            "Try again later.",
            "sha256": sha256(data).hexdigest(),
        }
    assert "problem" not in facts_of(draft, [name])[name]


def test_archives_that_are_unpacked_at_once_leave_each_other_alone(ada, tmp_path, monkeypatch):
    draft, data = begun(ada), sound(tmp_path)
    unpack = files.unpack_upload

    def with_another_meanwhile(archive, into, ignored):
        problems = unpack(archive, into, ignored)
        if archive.name == "a.zip":
            assert send(ada, draft, "b.zip", zipped("b.wav", data)).json()["problem"] == ""
        return problems

    def zipped(name, content):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as opened:
            opened.writestr(name, content)
        return file.getvalue()

    monkeypatch.setattr(files, "unpack_upload", with_another_meanwhile)
    assert send(ada, draft, "a.zip", zipped("a.wav", data)).json() == {"done": True, "problem": ""}
    assert set(files.uploaded(draft)) == {"a.wav", "b.wav"}


# --- Files of other servers -----------------------------------------------------------------------


@pytest.mark.medium
def test_files_are_fetched_from_addresses_some_at_a_time(
    ada: Client, settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EARNEST_WEBHOOK_NETWORKS = (ip_network("127.0.0.1/32"),)
    clips = {}
    for number, name in enumerate(f"/set/{system}/s{n}.wav" for system in "ab" for n in range(3)):
        write_sound(tmp_path / "one.wav", number)
        clips[name] = (tmp_path / "one.wav").read_bytes()
    draft = begun(ada)
    with LocalServer(clips) as server:
        lines = "\n".join(f"{server.url}{name}?key=secret" for name in clips)
        monkeypatch.setattr(fetched, "FETCHED_AT_ONCE_S", 0.0)
        answer = press(ada, draft, "fetch", addresses=lines, step="1").json()
        assert answer == {"left": 6, "total": 6}  # no time at all: nothing is begun
        monkeypatch.setattr(fetched, "FETCHED_AT_ONCE_S", 60.0)
        answer = press(ada, draft, "fetch", addresses=lines, step="1").json()
        assert answer == {"left": 0, "total": 6}
        press(ada, draft, "fetch", addresses=lines)
        assert len(server.asked) == len(clips)
        rows = {row["file"]: row for row in rows_of(draft)}
        assert len(rows) == len(clips)
        for name, content in clips.items():
            row = rows[f"audio{name.removeprefix('/set')}"]
            assert (row["condition"], row["item"]) == (name[5], name[7:9])
            assert row["source"] == f"{server.url}{name}"
            assert (folder_of(draft) / row["file"]).read_bytes() == content
        page = page_of(ada, draft)
        assert "Fetch from web addresses" in page
        assert "sources.csv" not in page
    for lines, problem in (
        ("", "Enter the addresses"),
        ("ftp://host.org/a.wav", "is not a web address"),
        ("https://10.0.0.1/a.wav", "is in a private network"),
    ):
        answer = press(ada, draft, "fetch", addresses=lines, step="1")
        assert answer.status_code == 422
        assert problem in answer.json()["problem"]
