"""The client's command line where things are not as they should be: files, tokens, addresses."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from analysis.ratings.cells import csv_cell
from config.run.commands import OF_THE_CLIENT
from earnest import Client, EarnestError
from earnest.cli import main, parser
from earnest.tables import CURSOR
from tests.listening.folders import make_folder

ROW = {"session": "s1", "score": 4.0, "counts": True, "justification": "=1+1"}
URL, TOKEN = "http://x", "earnest_token"
LINK = "This is a link or a device. Copy the file itself."
PIPE = "pipe.wav"


class Double:
    """A server that answers as it is told to, and keeps what was asked."""

    def __init__(self, *pages: list[dict[str, Any]]) -> None:
        self.pages, self.asked = list(pages), []
        self.answers: dict[str, httpx.Response] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1/")
        self.asked.append((request.method, path, dict(request.url.params)))
        if path in self.answers:
            return self.answers[path]
        rows = self.pages.pop(0) if self.pages else []
        told = {"next": f"r1-{len(self.asked)}", "more": bool(self.pages), "ratings": rows}
        return httpx.Response(200, json=told)

    @property
    def client(self) -> Client:
        return Client(URL, TOKEN, transport=httpx.MockTransport(self), tries=1)


def appended(out: Path, double: Double) -> int:
    return main(["ratings", "voices", "--out", str(out), "--append"], double.client)


def rows_of(out: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(out.read_text("utf-8"))))


def test_every_command_runs_its_own_function_whatever_its_options_are_called():
    """`results --run` once put its own word into the place of the function."""
    lines = {
        "results": ["results", "k", "--run", "--file", "x", "--out", "y"],
        "ratings": ["ratings", "k", "--since", "c", "--append", "--out", "y"],
        "scores": ["scores", "k", "--only", "any", "--out", "y"],
        "score": ["score", "k", "--preset", "fast"],
        "sessions": ["sessions", "k", "--out", "y"],
        "studies": ["studies", "-q", "x"],
        "progress": ["progress", "k"],
        "mcp": ["mcp", "--port", "8100", "--host", "0.0.0.0"],
        "study": ["study", "create", "d", "--project", "1", "--replace", "k"],
    }
    assert set(lines) == OF_THE_CLIENT
    studies = [["study", each, "k"] for each in ("validate", "open", "pause", "close", "archive")]
    for line in [*lines.values(), *studies, ["study", "copy", "k", "--to", "x", "--version"]]:
        assert callable(parser().parse_args(line).command), line


def test_results_are_analysed_anew_and_an_analysis_that_goes_on_is_not_passed_over(
    capsysbinary: Any,
):
    double = Double()
    run = {"run": 1, "state": "done", "share": 1.0}
    double.answers["studies/voices/results/runs"] = httpx.Response(202, json=run)
    double.answers["studies/voices/results/files/figure.pdf"] = httpx.Response(200, content=b"\xff")
    line = ["results", "voices", "--run", "--file", "figure.pdf"]
    assert main(line, double.client) == 0
    assert capsysbinary.readouterr().out == b"\xff"  # not as text: it may go into a file
    double.answers["studies/voices/results/runs"] = httpx.Response(
        202, json=run | {"state": "cancelled", "share": 0.4}
    )
    assert main(line, double.client) == 1
    assert b"is cancelled, 40% done" in capsysbinary.readouterr().err


def test_a_file_that_was_begun_before_there_were_ratings_has_its_head(tmp_path: Path):
    out = tmp_path / "ratings.csv"
    assert appended(out, Double([])) == 0
    assert out.read_text() == ""
    double = Double([ROW], [ROW | {"session": "s2"}])
    assert appended(out, double) == 0
    assert double.asked[0][2]["since"] == "r1-1"
    assert [row["session"] for row in rows_of(out)] == ["s1", "s2"]
    assert rows_of(out)[0] == {
        **{"session": "s1", "score": "4.0", "counts": "true"},
        "justification": "'=1+1",
    }
    assert Path(f"{out}{CURSOR}").read_text() == f"r1-2 {out.stat().st_size}\n"


def test_cells_are_written_as_the_server_writes_them(tmp_path: Path):
    labels = ["-1", "+0.5", "－1", "=1", "'=1", "-1+1", "@x", "plain", "-", "\t1"]
    assert appended(tmp_path / "r.csv", Double([{"label": label} for label in labels])) == 0
    written = [row["label"] for row in rows_of(tmp_path / "r.csv")]
    assert written == [csv_cell(label) for label in labels]


def test_a_table_without_rows_has_its_columns(tmp_path: Path):
    double = Double()
    none = {"next": "r1-0", "more": False, "columns": list(ROW), "ratings": []}
    double.answers["studies/voices/ratings"] = httpx.Response(200, json=none)
    frame = double.client.ratings("voices").frame()
    assert (list(frame.columns), len(frame)) == (list(ROW), 0)
    assert frame.groupby("session")["score"].mean().to_dict() == {}  # as in the notebook
    out = tmp_path / "ratings.csv"
    assert appended(out, double) == 0
    assert out.read_text() == "session,score,counts,justification\n"
    assert appended(out, Double([ROW])) == 0
    assert len(rows_of(out)) == 1


def test_columns_stay_in_the_order_of_the_file_and_others_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "ratings.csv"
    appended(out, Double([ROW]))
    turned = dict(reversed(ROW.items())) | {"session": "s2"}
    assert appended(out, Double([turned])) == 0
    assert [row["session"] for row in rows_of(out)] == ["s1", "s2"]
    before = out.read_bytes()
    assert appended(out, Double([ROW | {"mood": "good"}])) == 1
    assert "other columns than the server gives now (mood)" in capsys.readouterr().err
    assert out.read_bytes() == before


@pytest.mark.parametrize("change", ["cut off", "edited", "lost"])
def test_nothing_is_added_to_a_file_that_is_not_as_it_was_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str
):
    out = tmp_path / "ratings.csv"
    appended(out, Double([ROW]))
    if change == "lost":
        Path(f"{out}{CURSOR}").unlink()
    else:
        with out.open("a") as file:  # a run that was killed before it could say how far it came
            file.write("s2,3.0,tr" if change == "cut off" else "note\n")
    before, double = out.read_bytes(), Double([ROW])
    assert appended(out, double) == 1
    said = capsys.readouterr().err
    assert str(out) in said
    assert ("truncate -s " in said) == (change != "lost")
    assert (out.read_bytes(), double.asked) == (before, [])


def test_a_cursor_of_before_sizes_were_kept_still_goes_on(tmp_path: Path):
    out = tmp_path / "ratings.csv"
    appended(out, Double([ROW]))
    Path(f"{out}{CURSOR}").write_text("r1-1")
    assert appended(out, Double([ROW])) == 0
    assert len(rows_of(out)) == 2


def test_a_file_that_is_written_anew_is_there_when_it_is_whole(tmp_path: Path):
    out = tmp_path / "ratings.csv"
    out.write_text("of yesterday")
    double = Double([ROW], [ROW])
    double.answers = {}
    whole = double.client
    whole.sender.http._transport = httpx.MockTransport(  # type: ignore[attr-defined]
        lambda request: double(request) if not double.asked else httpx.Response(500, json={})
    )
    assert main(["ratings", "voices", "--out", str(out)], whole) == 1
    assert (out.read_text(), [each.name for each in tmp_path.iterdir()]) == (
        "of yesterday",
        ["ratings.csv"],
    )
    assert main(["ratings", "voices", "--out", str(out)], Double([ROW], [ROW]).client) == 0
    assert len(rows_of(out)) == 2


@pytest.mark.parametrize(
    ("url", "token", "words"),
    [
        ("", TOKEN, "export EARNEST_URL="),
        ("localhost:8000", TOKEN, "such as https://listen.example.org"),
        ("http://localhost:port", TOKEN, "such as https://listen.example.org"),
        (URL, "", "make one on the page Account, Tokens"),
        (URL, "earnest_…", "This is no token"),  # as the documentation writes it
        (URL, "earnest_a\nb", "This is no token"),
    ],
)
def test_an_address_or_token_that_is_none_says_what_it_should_be(
    url: str, token: str, words: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("EARNEST_URL", raising=False)
    monkeypatch.delenv("EARNEST_TOKEN", raising=False)
    with pytest.raises(EarnestError, match=words):
        Client(url, token)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(404, json=["no"]),
        httpx.Response(301, headers={"Location": "https://x/"}),
    ],
)
def test_another_server_is_no_earnest(answer: httpx.Response):
    client = Client(f"{URL}/studies", TOKEN, transport=httpx.MockTransport(lambda _: answer))
    with pytest.raises(EarnestError, match="EARNEST_URL is the address of the server alone"):
        client.studies()


def test_a_proxy_whose_server_is_down_is_no_wrong_address():
    away = httpx.MockTransport(lambda _: httpx.Response(502, text="<html>Bad Gateway"))
    with pytest.raises(EarnestError, match="answered 502: the server, or a proxy before it"):
        Client(URL, TOKEN, transport=away, tries=1).studies()


@pytest.mark.parametrize("status", [301, 404])
def test_another_server_has_no_documentation(status: int):
    other = httpx.MockTransport(lambda _: httpx.Response(status, headers={"Location": "/"}))
    with pytest.raises(EarnestError, match="EARNEST_URL is the address of the server alone"):
        Client(URL, TOKEN, transport=other).docs("methods")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["study", "create", "nothing"], "nothing is not there. Check the path."),
        (["study", "create", "words.txt"], "words.txt is no zip. Name a study folder, or a zip"),
        (["study", "validate", "empty"], "empty is no study folder: there is no study.toml in it."),
        (["score", "voices"], "a preset, such as --preset fast"),
        (["score", "voices", "srmr", "--preset", "fast"], "a preset, such as --preset fast"),
        (["ratings", "voices", "--append"], "--out FILE --append"),
        (["ratings", "voices", "--append", "--out", "x", "--since", "r1-1"], "leave --since out"),
        (["ratings", "voices", "--out", "gone/x.csv"], "gone/x.csv.part: No such file"),
    ],
)
def test_what_is_asked_wrongly_is_said_before_the_server_is_asked(
    line: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("words")
    (tmp_path / "empty").mkdir()
    double = Double()
    assert main(line, double.client) == 1
    assert words in capsys.readouterr().err
    assert double.asked == []


@pytest.mark.parametrize(
    ("ask", "path"),
    [
        (lambda c: c.analyse("voices?x=", wait_s=0), "studies/voices%3Fx%3D/results/runs"),
        (lambda c: c.pause("voices/close#"), None),
        (lambda c: c.study("100%"), "studies/100%25"),
        (lambda c: c.study(""), None),
        (lambda c: c.study(".."), None),
        (lambda c: c.study("voices\x00"), None),
        (lambda c: c.preset("../methods"), None),
        (
            lambda c: c.result_file("voices", "a.csv?x="),
            "studies/voices/results/files/a.csv%3Fx%3D",
        ),
        (lambda c: c.docs("methods?x="), "help/methods%3Fx%3D.md"),
        (lambda c: c.docs("../llms"), None),
    ],
)
def test_a_key_or_name_stays_one_part_of_the_address(ask: Any, path: str | None):
    asked = []

    def refuse(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.raw_path.decode().removeprefix("/api/v1").lstrip("/"))
        return httpx.Response(404, json={"detail": "There is none."})

    client = Client(URL, TOKEN, transport=httpx.MockTransport(refuse))
    with pytest.raises(EarnestError, match="There is none" if path else "is not a valid name"):
        ask(client)
    assert asked[:1] == ([path] if path else [])


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("plan_study", {"size": 0.2, "options": {"goal": "difference"}}, "options holds goal."),
        ("plan_study", {"size": 0.2, "options": {"self": 1}}, "Unknown field “self”"),
        ("plan_study", {"size": 0.2, "conditions": 6}, "conditions\n  Extra inputs are not"),
        ("plan_study", {"size": "nan"}, "This cannot be sent: Out of range float"),
        ("list_studies", {"words": "\ud800"}, "This cannot be sent"),
        ("validate_study", {"folder": "~nobody9/x"}, "~nobody9/x is not there."),
        ("validate_study", {"folder": "x" * 300}, "File name too long"),
        ("validate_study", {"study_toml": "x", "files": {"a": "ü"}}, "a is not base64."),
        ("validate_study", {"study_toml": "x", "files": {"": "AAAA"}}, "'' is no path"),
    ],
)
def test_agents_read_what_is_wrong_with_an_argument(
    tool: str, arguments: dict[str, Any], words: str
):
    from mcp import Client as Agent

    from earnest.mcp_server import server_with

    def refuse(request: httpx.Request) -> httpx.Response:
        named = [f"Unknown field “{name}”" for name in json.loads(request.content)]
        return httpx.Response(422, json={"detail": " ".join(named)})

    client = Client(URL, TOKEN, transport=httpx.MockTransport(refuse))

    async def answer() -> Any:
        async with Agent(server_with(lambda ctx: client, local=True)) as agent:
            return await agent.call_tool(tool, arguments)

    answered = anyio.run(answer)
    assert answered.is_error
    assert words in answered.content[0].text


def test_links_and_pipes_of_a_folder_are_named_and_nothing_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = make_folder(tmp_path / "study")
    (folder / ".git").symlink_to(tmp_path)  # hidden, so not sent at all
    double = Double()
    checked = {"valid": True, "mistakes": [], "remarks": []}
    double.answers["validations"] = httpx.Response(200, json=checked)
    assert main(["study", "validate", str(folder)], double.client) == 0
    (folder / "audio" / "a1.wav").unlink()
    (folder / "audio" / "a1.wav").symlink_to("/etc/passwd")
    (folder / "audio" / "b1.wav").unlink()
    (folder / "audio" / "b1.wav").symlink_to("b2.wav")
    (folder / "more").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.wav")
    double = Double()
    assert main(["study", "create", str(folder)], double.client) == 1
    lines = capsys.readouterr().err.splitlines()
    links = [line.strip() for line in lines if line.endswith(LINK)]
    assert links == [f"{name}: {LINK}" for name in ("audio/a1.wav", "audio/b1.wav", "more", PIPE)]
    assert double.asked == []


@pytest.mark.medium
def test_the_commands_are_listed_where_people_look_for_them():
    code = (
        "from config.run.command_help import Commands; "
        "print(Commands(['earnest']).main_help_text())"
    )
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    of_the_api = done.stdout.partition("through its REST API")[2]
    assert all(f"\n  {name} " in of_the_api for name in OF_THE_CLIENT), done.stderr
