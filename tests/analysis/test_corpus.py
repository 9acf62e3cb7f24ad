"""A corpus is read as it comes, and what the checks find agrees with counts made otherwise."""

import csv
import hashlib
import random
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy.stats import median_abs_deviation

from analysis.corpus import balance, text_checks
from analysis.corpus.clips import Corpus, CorpusClip
from analysis.corpus.corpus_report import (
    KINDS,
    MOST_SHOWN,
    SECTIONS,
    check_corpus,
    page_html,
    report_from,
)
from analysis.corpus.personal_data import personal_data_in
from analysis.corpus.scripts import LATIN, SCRIPTS
from analysis.corpus.sources import CorpusError, read_corpus
from listening.common.near_texts import near_pairs

DEMO = Path(__file__).resolve().parents[2] / "demo"


def clip(number: int, text: str = "", **fields) -> CorpusClip:
    columns = {k: fields.pop(k) for k in [k for k in fields if k not in FIELDS]}
    columns |= {k: fields[k] for k in ("condition", "language") if k in fields}
    named = {"stimulus": f"c{number}", "file": f"c{number}.wav", "where": f"t.csv, row {number}"}
    return CorpusClip(**named | fields, text=text, columns=columns)


FIELDS = ("condition", "item", "language", "duration_s", "path", "transcript")


def of(*clips: CorpusClip) -> Corpus:
    return Corpus("test", clips)


def found(kind: str, corpus: Corpus) -> list[str]:
    rows = csv.DictReader(check_corpus(corpus, audio=False).files["findings.csv"].splitlines())
    return [row["row"] for row in rows if row["check"] == kind]


# --- Balance --------------------------------------------------------------------------------------


def lfs_bench() -> Corpus:
    """As many clips of each kind as LFS-Bench has by its appendix B.1."""
    chinese, several, every = 543, 101, 1101
    return of(
        *(
            clip(
                n,
                "字" * (n % 300 + 1) if n < chinese else "word " * (n % 300 + 1),
                language="zh" if n < chinese else "en",
                speakers="3 or 4" if n % 11 == 0 and n // 11 < several else "1 or 2",
                challenge=("Acoustics", "Semantics", "Expressiveness")[n % 3],
                duration_s=60.0,
            )
            for n in range(every)
        )
    )


def test_the_shares_of_lfs_bench_come_out_as_its_paper_has_them():
    corpus = lfs_bench()
    assert balance.category_columns(corpus) == ["language", "speakers", "challenge"]
    (english, chinese) = balance.counts(corpus, ["language"])
    assert (english.names, chinese.names) == (("en",), ("zh",))
    shares = [f"{each.clips / 1101:.1%}" for each in (chinese, english)]
    assert shares == ["49.3%", "50.7%"]
    several = balance.counts(corpus, ["speakers"])[1]
    assert (several.clips, several.minutes) == (101, 101.0)
    words = balance.balance_sentence("speakers", balance.counts(corpus, ["speakers"]))
    assert words == (
        "speakers: “3 or 4” has the fewest clips (101, 101.0 min), “1 or 2” the most "
        "(1,000, 1000.0 min), 9.9 times as many."
    )


def test_lengths_are_words_or_characters_and_bins_those_of_numpy():
    corpus = lfs_bench()
    english, chinese = balance.text_lengths(corpus)
    assert (english.unit, chinese.unit) == ("words", "characters")
    for each, first, last in ((english, 543, 1101), (chinese, 0, 543)):
        values = np.array([n % 300 + 1 for n in range(first, last)])
        assert each.mean == pytest.approx(values.mean())
        assert each.sd == pytest.approx(values.std(ddof=1))
        edges = [low for low, _, _ in each.bins] + [each.bins[-1][1]]
        assert [n for _, _, n in each.bins] == np.histogram(values, edges)[0].tolist()
        assert sum(n for _, _, n in each.bins) == each.n


def test_empty_cells_are_named_and_columns_that_say_each_other_are_not_crossed():
    rows = [("en", "a", "x1"), ("en", "b", "x1"), ("zh", "a", "x2"), ("zh", "a", "x2")] * 2
    corpus = of(*(clip(n, language=c, kind=k, code=x) for n, (c, k, x) in enumerate(rows)))
    columns = balance.category_columns(corpus)
    assert columns == ["language", "kind", "code"]
    assert ("language", "code") not in balance.crossed_pairs(corpus, columns)
    content = check_corpus(corpus, audio=False).sections["balance"]
    assert "language × kind: no clips in “zh × b”." in content.warnings
    assert any(
        words.startswith("language: both categories have 4 clips") for words in content.sentences
    )


def test_a_text_counts_for_each_vocalisation_that_it_marks():
    corpus = of(
        clip(1, "[laugh] ha [sigh]"), clip(2, "[laugh] ha"), clip(3, "ha"), clip(4, "[sigh]")
    )
    cells = balance.counts(corpus, [balance.MARKS])
    assert {cell.names[0]: cell.clips for cell in cells} == {"laugh": 2, "none": 1, "sigh": 2}


# --- Texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shingle", "near"), [(3, 0.7), (2, 0.7), (3, 0.8)])
def test_near_texts_are_those_of_all_pairs_compared(shingle: int, near: float):
    rng = random.Random(7)
    words = [f"w{n:03d}" for n in range(300)]
    texts = []
    for _ in range(60):
        text = [rng.choice(words) for _ in range(14)]
        texts.append(" ".join(text))
        text[rng.randrange(14)] = rng.choice(words)
        texts.append(" ".join(text))

    def likeness(a: str, b: str) -> float:
        left, right = ({t[n : n + shingle] for n in range(len(t) - shingle + 1)} for t in (a, b))
        return len(left & right) / len(left | right)

    rows = 3 if near < 0.8 else 4
    got = {pair[:2]: pair[2] for pair in near_pairs(texts, near, shingle=shingle, rows=rows)}
    every = {p: likeness(texts[p[0]], texts[p[1]]) for p in combinations(range(len(texts)), 2)}
    expected = {pair for pair, value in every.items() if value >= near}
    assert len(expected) > 20
    assert set(got) <= expected
    assert len(got) >= 0.97 * len(expected)  # MinHash misses one in hundreds at the bound
    assert all(value == pytest.approx(every[pair]) for pair, value in got.items())


def test_texts_that_are_there_twice_or_nearly_are_found_and_versions_of_an_item_are_not():
    corpus = of(
        clip(1, "Please call Stella, and ask her to bring these things.", language="en", item="a"),
        clip(2, "please CALL Stella and ask her to bring these things", language="en", item="b"),
        clip(3, "Please call Stella and ask her to bring those things!", language="en", item="c"),
        clip(4, "Six spoons of fresh snow peas", language="en", item="d", condition="x"),
        clip(5, "Six spoons of fresh snow peas", language="en", item="d", condition="y"),
        clip(6, "今天天气很好，我们去公园散步吧。", language="zh", item="e"),
        clip(7, "今天天气很好，我们去公园散步啦。", language="zh", item="f"),
    )
    assert found("same_text", corpus) == ["t.csv, row 1"]
    assert sorted(found("near_text", corpus)) == ["t.csv, row 1", "t.csv, row 6"]


def test_one_text_with_other_marks_or_tags_is_told_apart():
    corpus = of(
        clip(1, "[laugh] He was not ill", item="a", emotion="happy"),
        clip(2, "[sigh] He was not ill", item="b", emotion="sad"),
        clip(3, "He was [sigh] not ill", item="c", emotion="angry"),
    )
    assert found("same_text", corpus) == ["t.csv, row 2"]
    report = check_corpus(corpus, audio=False)
    (table,) = report.sections["texts"].tables
    assert "They differ in emotion." in table.rows[0]["what"]


@pytest.mark.parametrize(
    ("kind", "text", "language", "is_found"),
    [
        ("missing_text", "  ", "en", True),
        ("empty_text", "… — !", "en", True),
        ("empty_text", "[laugh]", "en", True),
        ("empty_text", "[laugh] oh", "en", False),
        ("script", "今天天气很好", "en", True),
        ("script", "Good morning", "zh-CN", True),
        ("script", "我用 GPT 写作业", "zh", False),
        ("script", "Добрый день", "uk", False),
        ("script", "nǐ hǎo", "zh-Latn", False),
        ("script", "什么", "xx", False),
        ("language", "Ich habe heute leider gar keine Zeit für dich gehabt.", "en", True),
        ("language", "I did not have any time for you today, I am afraid.", "en", False),
        ("unknown_mark", "[lauhg] oh [sigh]", "en", True),
        ("unknown_mark", "[S1] Hello there. [S2] Hello.", "en", False),  # no vocalisations here
    ],
)
def test_texts_that_do_not_match_their_tags(kind: str, text: str, language: str, is_found: bool):
    corpus = of(clip(1, "Plain words here", language="en"), clip(2, text, language=language))
    assert found(kind, corpus) == (["t.csv, row 2"] if is_found else [])


def test_a_mark_is_held_against_the_column_of_types_or_their_groups():
    corpus = of(
        clip(1, "[laugh] yes", type="laugh", group="laughter"),
        clip(2, "[cough] yes", type="laugh", group="throat"),
        clip(3, "yes", type="sigh", group="respiratory"),
        clip(4, "[Laughing] yes", type="laughs", group="laughter"),
        clip(5, "[laugh] yes", type="none"),
        clip(6, "yes", type="none"),
    )
    rows = ["t.csv, row 2", "t.csv, row 3", "t.csv, row 3", "t.csv, row 5"]
    assert found("mark", corpus) == rows


def test_the_transcript_says_what_is_spoken():
    spelt = clip(1, "It costs $20 [sigh]", language="en", transcript="It costs twenty dollars")
    assert (spelt.length, spelt.normalised) == (4, "it costs twenty dollars")
    assert found("empty_text", of(clip(2, "1%!", transcript="…"), spelt)) == ["t.csv, row 2"]
    mail = clip(3, "Write to me", transcript="Write to a@example.org")
    assert found("personal", of(mail)) == ["t.csv, row 3"]


def test_every_language_that_can_be_guessed_has_a_script_and_none_has_two():
    assert not LATIN & set(SCRIPTS)
    assert {"en", "zh", "ja", "ko", "ar", "ru", "hi", "th", "vi", "tr"} <= LATIN | set(SCRIPTS)


def test_lengths_that_do_not_fit_are_outliers_by_the_modified_z_of_iglewicz_and_hoaglin():
    rng = np.random.default_rng(3)
    rates = rng.normal(0, 0.1, 41)
    spread = median_abs_deviation(rates, scale="normal")
    expected = (rates - np.median(rates)) / spread
    assert text_checks.modified_z(list(rates)) == pytest.approx(expected, rel=1e-4)
    seconds = [10 / (3 * np.exp(rate)) for rate in rates]
    clips = [
        clip(n, "a b c d e f g h i j", language="en", duration_s=s) for n, s in enumerate(seconds)
    ]
    long = clip(90, "a b c d e f g h i j", language="en", duration_s=12.0)
    assert found("length", of(*clips, long)) == ["t.csv, row 90"]
    assert found("length", of(*clips)) == []


# --- Personal data --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Write to anna.k@example.org!", "an e-mail address"),
        ("邮箱a@b.cn，谢谢", "an e-mail address"),
        ("Call +44 20 7946 0958 now", "a phone number"),
        ("Call (555) 234-5678 now", "a phone number"),
        ("Anruf unter 030 901820123", "a phone number"),
        ("手机13812345678", "a phone number"),
        ("Card 4111 1111 1111 1111", "a credit card number"),
        ("to DE89 3704 0044 0532 0130 00", "an IBAN"),  # the registry's own examples
        ("to GB82WEST12345698765432", "an IBAN"),
        ("id 11010519491231002X", "a Chinese identity number"),  # the example of GB 11643
        ("SSN 078-05-1120", "a number like a US Social Security number"),
        ("from 8.8.8.8", "an IP address"),
        ("from 2001:4860:4860::8888", "an IP address"),
        ("ftp is https://user:pw@host.org/x", "a web address with a user name"),
        ("see https://social.org/@anna_k", "a web address with a user name"),
        ("thanks @anna_k", "a user name"),
    ],
)
def test_personal_data_with_a_form_is_found(text: str, what: str):
    assert [each for each, _ in personal_data_in(text)] == [what]


@pytest.mark.parametrize(
    "text",
    [
        "On 2024-01-15, from 1990-1995, at 12:30:45, or on 01-02-2003 and 03/12/2020.",
        "1,000,000 people, 3.14159265358979 and 978-3-16-148410-0.",
        "Version 1.2.3.4 of the router at 192.168.0.1.",
        "Card 4111 1111 1111 1112, account DE88 3704 0044 0532 0130 00.",
        "id 110105194912310021",
        "See https://example.org/about and meet me @ noon.",
        "In 1066, 0044 soldiers; the score was 21-14.",
    ],
)
def test_other_numbers_are_not(text: str):
    assert personal_data_in(text) == []


def test_a_report_does_not_spread_what_it_found():
    report = check_corpus(of(clip(1, "Write to anna.k@example.org")), audio=False)
    row = next(csv.DictReader(report.files["findings.csv"].splitlines()))
    assert (row["check"], row["row"]) == ("personal", "t.csv, row 1")
    assert "anna.k@example.org" not in page_html(report, "now")
    assert "Names of people" in page_html(report, "now")


# --- Sources --------------------------------------------------------------------------------------


def tree(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


LJSPEECH = 'LJ001-0001|Mr. "X" had 3|Mister "X" had three\nLJ001-0002|Two|Two\n'
SOURCES = {
    "ljspeech": (
        {"metadata.csv": LJSPEECH, "wavs/LJ001-0001.wav": "", "wavs/LJ001-0002.wav": ""},
        "",
    ),
    "ljspeech table": (
        {"metadata.csv": LJSPEECH, "wavs/LJ001-0001.wav": "", "wavs/LJ001-0002.wav": ""},
        "metadata.csv",
    ),
    "kaldi": (
        {
            "data/wav.scp": "LJ001-0001 wavs/1.wav\nLJ001-0002 wavs/2.wav\n",
            "data/text": 'LJ001-0001 Mr. "X" had 3\nLJ001-0002 Two\n',
            "data/utt2spk": "LJ001-0001 LJ\nLJ001-0002 LJ\n",
            "wavs/1.wav": "",
            "wavs/2.wav": "",
        },
        "data",
    ),
    "vctk": (
        {
            "wav48/p225/p225_001_mic1.flac": "",
            "wav48/p225/p225_002_mic1.flac": "",
            "txt/p225/p225_001.txt": 'Mr. "X" had 3\n',
            "txt/p225/p225_002.txt": "Two\n",
        },
        "",
    ),
    "common voice": (
        {"t.tsv": 'path\tsentence\tlocale\n1.mp3\tMr. ""X"" had 3\ten\n2.mp3\tTwo\ten\n'},
        "t.tsv",
    ),
    "json lines": (
        {
            "t.jsonl": '{"audio": "1.wav", "text": "Mr. \\"X\\" had 3"}\n'
            '{"audio": "2.wav", "text": "Two"}\n'
        },
        "t.jsonl",
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_corpus_is_read_as_it_comes(tmp_path: Path, name: str):
    files, source = SOURCES[name]
    corpus = read_corpus(tree(tmp_path, files) / source, language="en")
    texts = [each.text.replace('""', '"') for each in corpus.clips]
    assert [text.replace("Mister", "Mr.").replace("three", "3") for text in texts] == [
        'Mr. "X" had 3',
        "Two",
    ]
    assert {each.language for each in corpus.clips} == {"en"}
    if name not in ("common voice", "json lines"):
        assert all(Path(each.path).is_file() for each in corpus.clips)


def test_traps_and_prompts_are_no_duplicates(tmp_path: Path):
    toml = '[study]\nlanguage = "zh"\n[[conditions]]\nkey = "voice"\nrole = "prompt"\n'
    rows = [
        "a,vits,i1,a.wav,早上好朋友们,",
        "b,voice,i2,a.wav,早上好朋友们,",
        "c,vits,i3,a.wav,早上好朋友们,flawed",
    ]
    table = "\n".join(["stimulus,condition,item,file,text,trap", *rows, ""])
    corpus = read_corpus(tree(tmp_path, {"study.toml": toml, "stimuli.csv": table}))
    assert [each.is_auxiliary for each in corpus.clips] == [False, True, True]
    assert {each.language for each in corpus.clips} == {"zh"}
    assert found("same_text", corpus) == []


def test_names_say_system_and_sentence_and_commands_of_a_list_are_not_run(tmp_path: Path):
    flat = tree(
        tmp_path / "a", {f"{s}_s0{n}.wav": "" for s in ("vits", "human") for n in (1, 2, 3)}
    )
    first = read_corpus(flat).clips[0]
    assert (first.condition, first.item) == ("human", "s01")
    scp = tree(tmp_path / "b", {"wav.scp": "u1 touch gone |\nu2 a.wav\n", "a.wav": ""})
    corpus = read_corpus(scp)
    assert (corpus.clips[0].path, "1 command" in corpus.notes[0]) == ("", True)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("none.csv", None, "no such file"),
        ("ratings.csv", "rater,score\nr1,3\n", "no column of files or texts"),
        ("clip.wav", "x", "is no table"),
        ("t.csv", "file,text\na.wav,x,y\n", "row 2"),
        ("empty", None, "no audio files"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_remedy(tmp_path: Path, name, text, words):
    (tmp_path / "empty").mkdir()
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(CorpusError, match=words):
        read_corpus(tmp_path / name)


# --- The command ----------------------------------------------------------------------------------


def marks(folder: Path) -> dict[str, str]:
    return {
        str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()
    }


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


@pytest.mark.medium
def test_the_command_writes_a_report_and_changes_nothing(tmp_path: Path, capsys):
    folder = tmp_path / "study"
    (folder / "audio").mkdir(parents=True)
    header = "stimulus,condition,item,file,text,language,trap\n"
    row = "{0},{1},{2},audio/{3},{4},en,{5}\n"
    files = ("human_s0880.flac", "flite-slt_s0880.flac", "human_s0890.flac")
    for name in files:
        (folder / "audio" / name).write_bytes((DEMO / "audio" / name).read_bytes())
    rows = [
        row.format("a", "human", "s1", files[0], "Hello there", ""),
        row.format("b", "slt", "s1", files[1], "Hello there", ""),
        row.format("c", "human", "s2", files[2], "Mail me: a@example.org", ""),
        row.format("d", "slt", "s2", files[2], "Mail me: a@example.org", ""),
        row.format("e", "human", "s2", files[2], "Mail me: a@example.org", "human"),
        row.format("f", "slt", "s3", "gone.flac", "你好吗", ""),
    ]
    (folder / "stimuli.csv").write_text(header + "".join(rows), "utf-8")
    before = marks(folder)
    call_command("check_corpus", str(folder), "--out", str(tmp_path / "out"))
    assert marks(folder) == before
    told = capsys.readouterr().out
    assert "study: 6 clips" in told
    findings = table(tmp_path / "out" / "findings.csv")
    got = {(each["check"], each["row"].removeprefix("stimuli.csv, row ")) for each in findings}
    assert got == {("unread", "7"), ("same_audio", "4"), ("script", "7"), ("personal", "4")}
    assert all(each["file"] and each["remedy"] for each in findings)
    unread = next(each["file"] for each in findings if each["check"] == "unread")
    assert f"stimuli.csv, row 7: {unread}: " in told
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert page.count("<svg") >= 3
    clips = table(tmp_path / "out" / "clips.csv")
    assert [each["findings"] for each in clips][3] == "same_audio"
    call_command("check_corpus", str(folder), "--no-audio")
    assert "The audio was not read." in capsys.readouterr().out
    (tmp_path / "apart.csv").write_text((folder / "stimuli.csv").read_text("utf-8"), "utf-8")
    call_command("check_corpus", str(tmp_path / "apart.csv"), "--no-audio")
    assert "--audio FOLDER" in capsys.readouterr().out
    call_command("check_corpus", str(tmp_path / "apart.csv"), "--audio", str(folder))
    assert "Unreadable files                 1" in capsys.readouterr().out
    with pytest.raises(CommandError, match="no such file"):
        call_command("check_corpus", str(tmp_path / "nothing"))


def test_long_tables_are_bounded_on_the_page_and_whole_in_the_file():
    every = MOST_SHOWN + 7
    corpus = of(*(clip(n, f"mail a{n}@example.org") for n in range(every)))
    report = check_corpus(corpus, audio=False)
    (table,) = report.sections["personal"].tables
    assert (len(table.rows), table.note) == (MOST_SHOWN, "7 more are in findings.csv.")
    assert report.files["findings.csv"].count("personal,") == every
    again = report_from(report.plain())
    assert page_html(again, "now") == page_html(report, "now")


def test_every_check_has_a_section():
    assert {section for section, _ in KINDS.values()} <= set(SECTIONS)
