"""Scores computed elsewhere: every form, every mistake at once, nothing half-saved."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from metrics.models import MetricScore
from metrics.scoring import selectors
from metrics.scoring.imported_scores import ImportedScoreError, import_scores

pytestmark = pytest.mark.django_db

ROWS = [
    {"stimulus": "a_one", "sha256": "a" * 64, "file": "clips/one.wav"},
    {"stimulus": "b_one", "sha256": "b" * 64, "file": "other/two.wav"},
    {"stimulus": "c_same", "sha256": "a" * 64, "file": "clips/same.wav"},
]


@pytest.fixture(autouse=True)
def study(monkeypatch):
    monkeypatch.setattr(
        "listening.selectors.stimulus_rows", lambda key: ROWS if key in ("mine", "other") else []
    )


@pytest.fixture
def file(tmp_path):
    def make(text, name="scores.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


def rows(study="mine"):
    return {(r["stimulus"], r["metric"]): r["value"] for r in selectors.score_rows(study)}


def test_the_long_form_keeps_version_direction_and_unit(file):
    path = file(
        "stimulus,metric,value,version,higher_is_better,unit\n"
        "a_one,utmos_x,3.5,2.1,true,MOS\nb_one,utmos_x,,2.1,true,MOS\n"
    )
    assert import_scores("mine", path) == {"utmos_x": 2}
    found = selectors.score_rows("mine")
    assert [(r["stimulus"], r["value"], r["version"], r["higher_is_better"]) for r in found] == [
        ("a_one", 3.5, "2.1", True),
        ("b_one", None, "2.1", True),
        ("c_same", 3.5, "2.1", True),  # the same audio
    ]
    kept = MetricScore.objects.get(value=None)
    assert kept.reason == "no value in the imported file"
    assert kept.provenance == {"imported from": "scores.csv"}


def test_the_wide_form_has_a_column_per_metric(file):
    import_scores("mine", file("file,warpq,f0_corr\none.wav,4.5,0.9\nother/two.wav,,0.5\n"))
    assert rows() == {
        ("a_one", "f0_corr"): 0.9,
        ("b_one", "f0_corr"): 0.5,
        ("c_same", "f0_corr"): 0.9,
        ("a_one", "warpq"): 4.5,
        ("b_one", "warpq"): None,
        ("c_same", "warpq"): 4.5,
    }


def test_versas_lines_work_as_they_are(file):
    lines = [
        {
            "key": "one",
            "utmos_v": 3.25,
            "whisper_hyp": "hello there",
            "wer_delete": 1,
            "pesq_v": None,
        },
        {"key": "two", "utmos_v": 2.0, "whisper_hyp": "", "langs": ["en"]},
    ]
    path = file("\n".join(map(json.dumps, lines)), "versa.jsonl")
    found = import_scores("mine", path)
    assert found == {"utmos_v": 2, "wer_delete": 1, "pesq_v": 1}
    assert rows()["a_one", "utmos_v"] == 3.25
    assert rows()["a_one", "pesq_v"] is None


NISQA = Path(__file__).resolve().parents[1] / "data" / "foreign" / "scores_nisqa.csv"


@pytest.fixture
def nine_clips(monkeypatch):
    clips = [f"{system}_{n}" for system in ("alpha", "beta", "gamma") for n in (1, 2, 3)]
    known = [
        {"stimulus": name, "sha256": f"{place:064x}", "file": f"audio/{name}.wav"}
        for place, name in enumerate(clips)
    ]
    monkeypatch.setattr("listening.selectors.stimulus_rows", lambda key: known)


@pytest.mark.usefixtures("nine_clips")
def test_a_table_of_nisqa_is_imported_as_it_is(capsys):
    call_command("import_scores", "mine", str(NISQA))
    told = capsys.readouterr()
    metrics = ("mos_pred", "noi_pred", "dis_pred", "col_pred", "loud_pred")
    assert told.out.splitlines() == [f"{name}: 9 scores imported" for name in metrics]
    assert "The column deg names the clip." in told.err
    assert "The file is read as a table of NISQA." in told.err
    assert "Columns that hold no scores: model." in told.err
    assert {row["higher_is_better"] for row in selectors.score_rows("mine")} == {True}
    assert rows()["alpha_1", "mos_pred"] == 1.5375


def test_a_cause_is_named_once_with_its_rows(file):
    with pytest.raises(ImportedScoreError) as caught:
        import_scores("mine", NISQA)
    (line,) = str(caught.value).splitlines()
    assert line == (
        f"{NISQA}, rows 2, 3, 4 and 6 more: no clip of the study is called 'alpha_1.wav'; use its "
        "stimulus' key (likewise 'alpha_2.wav', 'alpha_3.wav', 'beta_1.wav' and 5 more)"
    )


DNSMOS = (
    ",filename,len_in_sec,sr,num_hops,OVRL_raw,SIG_raw,BAK_raw,OVRL,SIG,BAK,P808_MOS\n"
    "0,clips/one.wav,9.01,16000,1,3.1,3.5,4.0,2.9,3.2,3.9,3.7\n"
    "1,other/two.wav,9.01,16000,1,3.0,3.4,4.0,2.8,3.1,3.9,3.6\n"
)
VERSA = (
    "{'key': 'one.wav', 'mcd': 5.9, 'sir': inf, 'asr_hyp': 'it is'}\n{'key': 'two', 'mcd': nan}\n"
)


def test_tables_of_dnsmos_and_versa_are_imported_as_they_are(file):
    notes: list[str] = []
    found = import_scores("mine", file(DNSMOS), notes=notes)
    assert found == dict.fromkeys(
        ("OVRL_raw", "SIG_raw", "BAK_raw", "OVRL", "SIG", "BAK", "P808_MOS"), 2
    )
    assert "Columns that hold no scores: len_in_sec, num_hops, sr." in notes
    assert import_scores("mine", file(VERSA, "result.txt"), "v_") == {"v_mcd": 2, "v_sir": 1}
    stored = rows()
    assert (stored["a_one", "v_mcd"], stored["a_one", "v_sir"], stored["b_one", "v_mcd"]) == (
        5.9,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("file_path,m\nwavs/one.wav,1.5\n", "file_path"),  # UTMOSv2
        ("Filename;m\nC:\\wavs\\one.wav;1,5\n", "Filename"),
        ("utt-id,metric,value\none,m,1.5\n", "utt-id"),
        ('{"audio path": "one.wav", "m": 1.5}\n', "audio path"),
        ("file,filepath_deg,model,m,mos_pred\n7,wavs/one.wav,NISQAv2,1.5,3\n", "filepath_deg"),
    ],
)
def test_what_other_tools_call_the_clip_is_read_and_named(file, text, column):
    notes: list[str] = []
    import_scores("mine", file(text), notes=notes)
    assert rows()["a_one", "m"] == 1.5
    assert f"The column {column} names the clip." in notes
    assert (column == "filepath_deg") == ("The file is read as a table of NISQA." in notes)


def test_a_second_name_of_the_clip_is_no_score(file):
    assert import_scores("mine", file("stimulus,clip,m\na_one,7,1.5\n")) == {"m": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("stimulus;m\na_one;1,5\n", 1.5),
        ("sep=;\r\nstimulus;m\r\na_one;1,5\r\n", 1.5),
        ("stimulus\tm\na_one\t1.5\n", 1.5),
        ('"stimulus" "m"\n"1" "a_one" 1.5\n', 1.5),
        ("stimulus,m,,\na_one ,1.5,,\n,,,\n", 1.5),
        ("stimulus,metric,value\na_one\u00a0,m,1.5\n", 1.5),
    ],
)
def test_the_layouts_of_spreadsheet_programs_and_r_are_read(file, text, value):
    import_scores("mine", file(text))
    assert rows()["a_one", "m"] == value


def test_names_are_joined_whatever_their_unicode_form(file, monkeypatch):
    known = [{"stimulus": "gr\u00fcn", "sha256": "a" * 64, "file": "audio/gru\u0308n.wav"}]
    monkeypatch.setattr("listening.selectors.stimulus_rows", lambda key: known)
    assert import_scores("mine", file("file,m\ngru\u0308n.wav,1\n")) == {"m": 1}
    assert import_scores("mine", file("stimulus,k\ngr\u00fcn,1\n")) == {"k": 1}


def test_every_mistake_is_named_at_once_and_nothing_is_stored(file):
    path = file(
        "stimulus,metric,value,higher_is_better\n"
        "nobody,x,1,\n,x,1,\na_one,x,much,\na_one,x,inf,\na_one,x,1,perhaps\n"
        "a_one,bad name!,1,\nb_one,x,1,\nb_one,x,2,\nb_one,srmr,2,\n"
    )
    with pytest.raises(ImportedScoreError) as caught:
        import_scores("mine", path)
    found = str(caught.value).splitlines()
    for row, said in [
        (2, "no clip of the study is called 'nobody'; use its stimulus' key"),
        (3, "fill one of the columns"),
        (4, "'much' is no number; leave the cell empty"),
        (5, "'inf' is no finite number"),
        (6, "'perhaps' is unknown; write true, false, or nothing"),
        (7, "cannot be a metric's name"),
        (9, "x of this clip is there twice"),
    ]:
        assert any(line.startswith(f"{path}, row {row}") and said in line for line in found)
    assert "srmr is a metric of Earnest's own; give a prefix" in found[-1]
    assert len(found) == 8
    assert not MetricScore.objects.exists()


def test_a_prefix_makes_another_name(file):
    path = file("stimulus,srmr\na_one,2\n")
    with pytest.raises(ImportedScoreError, match="give a prefix"):
        import_scores("mine", path)
    assert import_scores("mine", path, prefix="versa_") == {"versa_srmr": 1}


def test_imported_scores_belong_to_their_study_and_may_be_replaced_and_removed(file):
    import_scores("mine", file("stimulus,x\na_one,1\n"))
    assert rows("other") == {}
    mark = selectors.scores_mark("mine")
    import_scores("mine", file("stimulus,x\na_one,2\n"))
    assert rows()["a_one", "x"] == 2.0
    assert selectors.scores_mark("mine") != mark
    out = StringIO()
    call_command("import_scores", "mine", "--remove", "x", stdout=out)
    assert "1 imported score of x deleted" in out.getvalue()
    assert rows() == {}


def test_the_command_says_what_came_in_and_what_is_wrong(file):
    out = StringIO()
    call_command("import_scores", "mine", str(file("stimulus,x\na_one,1\n")), stdout=out)
    assert "x: 1 score imported" in out.getvalue()
    for wrong, said in [
        (file("stimulus\na_one\n", "w1.csv"), "no column with scores"),
        (file("", "w2.csv"), "empty"),
        (file("{", "w3.jsonl"), "line 1: no JSON"),
    ]:
        with pytest.raises(CommandError, match=said):
            call_command("import_scores", "mine", str(wrong))
    with pytest.raises(CommandError, match="There is no study"):
        call_command("import_scores", "nowhere", str(file("a\n")))


HOSTILE = {
    "a.jsonl": ('{"key": "a_one", "m": %s}' % ("9" * 400), "no finite number"),
    "b.jsonl": ('{"key": "a_one", "m": %s}' % ("9" * 5000), "thousands of digits"),
    "c.jsonl": (
        '{{"key": "a_one", "m": {}1{}}}'.format("[" * 99_999, "]" * 99_999),
        "nested more than 100 deep",
    ),
    "d.jsonl": (r'{"key": "a_one", "metric": "m", "value": 1, "unit": "\u0000"}', "no text"),
    "e.jsonl": (r'{"key": "a_one", "metric": "m", "value": 1, "unit": "\ud800"}', "no text"),
    "f.csv": ("stimulus,metric,value,unit\na_one,m,1,\0\n", "no text"),
    "g.csv": ("stimulus,m\na_one,1e308\n", "larger than 1e\\+100"),
    "h.csv": ("stimulus,m\na_one,1_000\n", "no number"),
    "i.csv": (f"stimulus,metric,value,version\na_one,m,1,{'v' * 41}\n", "longer than 40"),
    "j.csv": ("stimulus;m\na_one;1,500\n", "decimal comma or one between thousands"),
    "l.csv": ("PK\x03\x04", "is a file of a spreadsheet program"),
    "n.csv": (
        "stimulus,metric,value,higher_is_better\na_one,m,1,true\nb_one,m,1,false\n",
        "m has several directions",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_a_reason(file, name):
    text, told = HOSTILE[name]
    with pytest.raises(ImportedScoreError, match=told):
        import_scores("mine", file(text, name))
    assert not MetricScore.objects.exists()


def test_text_with_escapes_that_are_text_is_stored(file):
    line = r'{"key": "a_one", "metric": "m", "value": 1, "unit": "caf\u00e9 \ud83d\ude00 \\u0000"}'
    import_scores("mine", file(line, "s.jsonl"))
    assert MetricScore.objects.get().details["unit"] == "café 😀 \\u0000"
