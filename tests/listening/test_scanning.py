"""Systems and sentences guessed from file names: what is plain, what is asked, what is left out."""

import pytest

from listening.design.pasted_texts import UnclearTexts, texts_in
from listening.design.scanning import UnclearNames, describe_ignored, scan

TTS = ["flite-awb", "human", "my_tts_v2"]
LINES = ["s0870", "s0880", "s0890", "s0920"]


def named(pattern: str, systems=TTS, sentences=LINES) -> list[str]:
    return [pattern.format(s=s, i=i) for s in systems for i in sentences]


@pytest.mark.parametrize(
    "pattern",
    [
        "{s}/{i}.wav",
        "wavs/{s}/{i}.flac",
        "{i}/{s}.wav",
        "{s}_{i}.wav",
        "out/{i}_{s}.mp3",
        "{i}-{s}.wav",
        "{s}.{i}.ogg",
        "{s}__{i}.WAV",
        "{s}/{s}_{i}.wav",
        "x/{s}/{i}_{s}.wav",
    ],
)
def test_the_usual_names_are_read_without_a_question(pattern: str) -> None:
    found = scan(named(pattern))
    assert (found.systems, found.sentences) == (TTS, LINES)
    assert found.cells["human", "s0880"] == pattern.format(s="human", i="s0880")
    assert (found.holes, found.ignored) == ([], ())


def test_a_numbered_sentence_keeps_its_word_and_sorts_by_its_number() -> None:
    sentences = [f"sentence_{n}" for n in (1, 2, 10)]
    found = scan(named("{s}_{i}.wav", ["my_tts_v2", "vits"], sentences))
    assert (found.systems, found.sentences) == (["my_tts_v2", "vits"], sentences)


def test_fewer_sentences_than_systems_are_told_by_their_numbers() -> None:
    systems = ["a", "b", "c", "d", "e"]
    assert scan(named("{i}_{s}.wav", systems, ["utt1", "utt2"])).systems == systems


def test_folders_in_folders_become_part_of_the_sentence() -> None:
    found = scan(
        [f"{s}/{book}/00{n}.wav" for s in TTS for book in ("emma", "persuasion") for n in (1, 2)]
    )
    assert found.systems == TTS
    assert found.sentences == ["emma-001", "emma-002", "persuasion-001", "persuasion-002"]


def test_one_folder_of_numbered_files_is_one_system() -> None:
    found = scan(["vits/001.wav", "vits/002.wav", "vits/003.wav", "vits/log.txt"][:3])
    assert (found.systems, len(found.sentences)) == (["vits"], 3)


def test_holes_and_what_is_no_sound_are_named() -> None:
    paths = named("{s}/{i}.wav")
    paths.remove("human/s0890.wav")
    more = ["notes.txt", "human/.DS_Store", "human/s0870.mp3", "__MACOSX/human/._s0870.wav"]
    found = scan(paths + more)
    assert found.holes == [("human", "s0890")]
    why = dict(found.ignored)
    assert why["notes.txt"] == "does not have the extension of an audio file"
    assert why["human/s0870.mp3"] == "has the name of human/s0870.wav, which is taken"
    assert set(why) == set(more)


def test_thousands_of_ignored_files_are_described_in_groups() -> None:
    sounds = named("{s}/{i}.wav")
    labels = [f"meta/{n}.{'JSON' if n % 2 else 'json'}" for n in range(5000)]
    copies = [path.replace(".wav", ".mp3") for path in sounds if path.startswith("human/")]
    found = scan([*sounds, *labels, *copies, "notes.txt"])
    assert describe_ignored(found.ignored, 12) == [
        "5,000 .json files in “meta”, such as “meta/0.json”, which does not have the extension of "
        "an audio file.",
        "“notes.txt” does not have the extension of an audio file.",
        f"{len(copies)} .mp3 files in “human”, such as “{copies[0]}”, which has the name of "
        f"{copies[0].replace('.mp3', '.wav')}, which is taken.",
    ]
    assert describe_ignored(found.ignored, 1)[1:] == [f"{len(copies) + 1} more files."]


def test_a_file_that_does_not_fit_the_others_is_left_out_by_name() -> None:
    found = scan([*named("{s}_{i}.wav", ["ab", "cd"]), "beep.wav"])
    assert found.ignored == (("beep.wav", "does not fit the names of the others"),)


@pytest.mark.parametrize(
    ("paths", "patterns"),
    [
        (
            named("{s}_{i}.wav", ["alice", "bob"], ["hello", "bye"]),
            ["{system:1}_{sentence}", "{sentence:1}_{system}"],
        ),
        (named("{s}_{i}.wav", ["a_x", "b_x", "a_y", "b_y"], ["hi", "bye", "no"]), None),
        (["one.wav", "two.wav", "three.wav"], None),
    ],
)
def test_what_can_be_read_in_two_ways_is_asked_and_not_guessed(paths, patterns) -> None:
    with pytest.raises(UnclearNames) as unclear:
        scan(paths)
    assert len(unclear.value.patterns) >= 2
    if patterns:
        assert set(patterns) == set(unclear.value.patterns)
        assert scan(paths, patterns[0]).systems == ["alice", "bob"]
        assert scan(paths, patterns[1]).systems == ["bye", "hello"]


def test_every_pattern_that_is_offered_can_be_used() -> None:
    paths = named("{s}_{i}.wav", ["a_x", "b_x", "a_y", "b_y"], ["hi", "bye", "no"])
    with pytest.raises(UnclearNames) as unclear:
        scan(paths)
    read = {tuple(scan(paths, pattern).systems) for pattern in unclear.value.patterns}
    assert ("a_x", "a_y", "b_x", "b_y") in read
    assert len(read) == len(unclear.value.patterns)


def test_a_pattern_names_what_does_not_fit_and_what_comes_twice() -> None:
    found = scan(["a/s1.wav", "a/s2.wav", "odd.wav"], "{system}/{sentence}.wav")
    assert [path for path, _ in found.ignored] == ["odd.wav"]
    with pytest.raises(UnclearNames, match="are the same system and sentence"):
        scan(["x/a/s1.wav", "y/a/s1.wav"], "{system}/{sentence}.wav")
    apart = scan(["a/x/s1.wav", "a/y/s1.wav"], "{system}/{*}/{sentence}.wav")
    assert apart.sentences == ["x-s1", "y-s1"]
    with pytest.raises(UnclearNames, match="No file fits"):
        scan(["a/s1.wav"], "{system}-{sentence}.wav")
    with pytest.raises(UnclearNames, match="must hold"):
        scan(["a/s1.wav"], "{system}/*.wav")
    with pytest.raises(UnclearNames, match="no sound file"):
        scan(["a.txt"])


STEMS = [f"{number:04}" for number in range(1, 5)]
CORPORA = {
    "one chapter of LJSpeech": ([f"LJ001-{stem}" for stem in STEMS], ["system"], 4),
    "one speaker of VCTK": ([f"p225_{stem[1:]}_mic1" for stem in STEMS], ["system"], 4),
    "systems that say LJSpeech": (
        [
            f"{system}/LJ00{chapter}-{stem}"
            for system in ("gt", "vits")
            for chapter in (1, 2)
            for stem in STEMS
        ],
        ["gt", "vits"],
        8,
    ),
    "one style": (
        [f"en/{system}/neutral/{stem}" for system in ("sysA", "sysB") for stem in STEMS],
        ["sysA", "sysB"],
        4,
    ),
    "one system in one style": ([f"en/sysA/neutral/{stem}" for stem in STEMS], ["sysA"], 4),
    "CommonVoice": ([f"clips/common_voice_en_{n}" for n in (1, 17, 345)], ["common_voice_en"], 3),
    "teams of Blizzard": ([f"{t}_{stem}" for t in "AB" for stem in STEMS], ["A", "B"], 4),
    "VoiceMOS": (
        [f"sys{s}-utt{u}" for s in ("1a2b3", "9f8e7") for u in ("aa11", "bb22")],
        ["sys1a2b3", "sys9f8e7"],
        2,
    ),
    "languages and styles": (
        [
            f"{language}/{system}/{style}/{stem}"
            for language in ("en", "de")
            for system in ("sysA", "sysB")
            for style in ("happy", "neutral")
            for stem in STEMS
        ],
        ["sysA", "sysB"],
        16,
    ),
}


@pytest.mark.parametrize("kind", CORPORA)
def test_names_of_corpora_are_read_rightly(kind: str) -> None:
    stems, systems, sentences = CORPORA[kind]
    found = scan([f"{stem}.wav" for stem in stems])
    assert found.systems == systems
    assert len(found.sentences) == sentences
    assert not found.ignored


SPEAKERS = [f"p{speaker}_{stem[1:]}_mic1.flac" for speaker in (225, 226, 227) for stem in STEMS]
CHAPTERS = [f"LJ00{chapter}-{stem}.wav" for chapter in (1, 2, 3) for stem in STEMS]


@pytest.mark.parametrize("names", [SPEAKERS, CHAPTERS], ids=["VCTK", "LJSpeech"])
def test_speakers_and_chapters_may_be_systems_or_not_and_are_asked_about(names: list[str]) -> None:
    with pytest.raises(UnclearNames, match="1 system ") as unclear:
        scan(names)
    found = [scan(names, pattern) for pattern in unclear.value.patterns]
    assert [(len(each.systems), len(each.sentences)) for each in found] == [(3, 4), (1, 12)]


DOUBTFUL = {  # names that make a table which nobody means
    "two chapters of LibriTTS, by speaker": (
        [
            f"{s}/{c}/{s}_{c}_00000{n}_000000.wav"
            for s, c in ((84, 1211), (174, 505))
            for n in (1, 2)
        ],
        "",
    ),
    "two speakers of ESD": (
        [f"{s}/{e}/{s}_00{n}.wav" for s in ("0011", "0012") for n, e in ((1, "Sad"), (2, "Happy"))],
        "",
    ),
    "ESD with its parts": (
        [
            f"0011/{e}/{p}/0011_00{n}.wav"
            for n, e in enumerate(("Sad", "Happy"))
            for p in ("test", "train")
        ],
        "which say a language or a style",
    ),
    "two books of M-AILABS": (
        [f"{b}/wavs/{b}_01_f00000{n}.wav" for b in ("sky_island", "ozma_of_oz") for n in (1, 2)],
        "2 ways",
    ),
    "one speaker of EmoV-DB": (
        [f"bea_{e}_000{n}.wav" for e in ("amused", "Angry") for n in (1, 2)],
        "{system:1}_{sentence}: 1 system (bea), 4 sentences",
    ),
    "two speakers of EmoV-DB": (
        [
            f"{s}_{e}_000{n}.wav"
            for s in ("bea", "sam")
            for e in ("amused", "neutral")
            for n in (1, 2)
        ],
        "2 systems (bea, sam)",
    ),
    "VoiceMOS, where no sentence is said by all": (
        ["sys1234-utt5678.wav", "sys1234-utt0001.wav", "sys00af2-utt5678.wav", "sys9-utt7777.wav"],
        "make no table",
    ),
    "RAVDESS": (
        [
            f"Actor_{a:02}/03-01-0{e}-01-0{s}-01-{a:02}.wav"
            for a in (1, 2)
            for e in (1, 3)
            for s in (1, 2)
        ],
        "No sentence of “Actor_01” is one of another system.",
    ),
    "VoxCeleb": (
        [
            f"{s}/{v}/0000{n}.wav"
            for s, v in (("id10001", "1zcIwhmdeo4"), ("id10002", "6WO410QOeuo"))
            for n in (1, 2)
        ],
        "",
    ),
    "JVS": (
        [
            f"jvs00{s}/parallel100/wav24kHz16bit/VOICEACTRESS100_00{n}.wav"
            for s in (1, 2)
            for n in (1, 2)
        ],
        "2 ways",
    ),
    "actors of CREMA-D": (
        [
            f"{a}_{s}_{e}_{v}.wav"
            for a in (1001, 1002)
            for s in ("IEO", "TIE")
            for e in ("ANG", "HAP")
            for v in ("HI", "LO")
        ],
        "There would be 8 systems, and only 2 sentences.",
    ),
    "capitals": (
        [
            *named("{s}/{i}.wav", ["gt"]),
            "VITS/s0870.wav",
            "VITS/s0880.wav",
            "vits/s0890.wav",
            "vits/s0920.wav",
        ],
        "“VITS” and “vits” differ only in capitals",
    ),
    "names with a word more": (
        [
            *named("{s}/{i}.wav", ["gt"]),
            *named("{s}/{i}_generated.wav", ["hifigan_1", "hifigan_2"]),
        ],
        "No sentence of “gt” is one of another system.",
    ),
    "numbers with and without zeros": (
        [f"{s}/{n:0{w}}.wav" for s, w in (("gt", 1), ("vits", 4)) for n in range(1, 6)],
        "No sentence of “gt” is one of another system.",
    ),
}


@pytest.mark.parametrize("kind", DOUBTFUL)
def test_a_table_that_nobody_means_is_asked_about(kind: str) -> None:
    names, why = DOUBTFUL[kind]
    with pytest.raises(UnclearNames) as asked:
        scan(names)
    assert why in asked.value.what
    assert asked.value.patterns
    for pattern in asked.value.patterns:
        assert not scan(names, pattern).ignored
    for pattern in asked.value.patterns:  # who means it, says so
        assert scan(names, pattern).cells


def test_pasted_texts_find_their_sentences() -> None:
    texts, unknown = texts_in("s1\tHello.\ns2.wav|Bye, then.\n\nnobody|x", ["s1", "s2", "s3"])
    assert (texts, unknown) == ({"s1": "Hello.", "s2": "Bye, then."}, ["nobody|x"])
    assert texts_in("One.\nTwo.", ["s1", "s2"]) == ({"s1": "One.", "s2": "Two."}, [])
    assert texts_in("One.", ["s1", "s2"]) == ({}, ["One."])
    assert texts_in("s1|raw|Normal.", ["s1"])[0] == {"s1": "Normal."}
    assert texts_in("\u00fc1\tTag.", ["u\u03081"])[0] == {
        "u\u03081": "Tag."
    }  # as macOS names files
    table = 's1,"Hello, you said ""go""."\ns2,Well, yes.\n"s3"\t"Bye."'
    texts = {"s1": 'Hello, you said "go".', "s2": "Well, yes.", "s3": "Bye."}
    assert texts_in(table, ["s1", "s2", "s3"]) == (texts, [])
    assert texts_in("s1," + "a" * 200_000, ["s1"])[0]["s1"].startswith("aaa")


SENTENCES = ["LJ001-0001", "LJ001-0002"]
TABLES = {
    "LJSpeech": 'LJ001-0001|Mr. "X", in 1455|Mister "X", in 1455\nLJ001-0002|Bye|Bye',
    "LJSpeech with empty columns": 'LJ001-0001|Mister "X", in 1455|\nLJ001-0002|Bye|',
    "paths": 'wavs/LJ001-0001.wav|Mister "X", in 1455\nwavs/LJ001-0002.wav|Bye',
    "tabs": 'LJ001-0001\tMister "X", in 1455\nLJ001-0002\tBye',
    "tabs with a head": 'n\tid\ttext\n1\tLJ001-0001\tMister "X", in 1455\n2\tLJ001-0002\tBye',
    "the words first": 'Mister "X", in 1455\tLJ001-0001\nBye\tLJ001-0002',
    "semicolons": 'id;text\nLJ001-0001;"Mister ""X"", in 1455"\nLJ001-0002;Bye',
    "quoted newlines": 'id,text\nLJ001-0001,"Mister ""X"",\nin 1455"\nLJ001-0002,Bye',
    "Windows": 'LJ001-0001,"Mister ""X"", in 1455"\r\nLJ001-0002,Bye\r\n',
    "commas in words": 'LJ001-0001,Mister "X", in 1455\nLJ001-0002,Bye',
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_texts_are_read_as_they_are_written(kind: str) -> None:
    words = {"LJ001-0001": 'Mister "X", in 1455', "LJ001-0002": "Bye"}
    assert texts_in(TABLES[kind], SENTENCES) == (words, [])


ASKED = {
    "names of others": ("LJ009-0001|One.\nLJ009-0002|Two.", "table with | between"),
    "tabs and other names": ("a\tOne.\nb\tTwo.", "table with a tab between"),
    "ids and commas": ("u1,One.\nu2,Two.", "table with a comma between"),
    "three columns": ("LJ001-0001\tx\tOne.\nLJ001-0002\ty\tTwo.", "which one holds the words"),
    "another encoding": ("LJ001-0001\tT\ufffdr.\nLJ001-0002\tBye.", "Save the file as UTF-8"),
}


@pytest.mark.parametrize("kind", ASKED)
def test_lines_that_may_be_a_table_are_never_taken_whole(kind: str) -> None:
    pasted, asked = ASKED[kind]
    with pytest.raises(UnclearTexts, match=asked):
        texts_in(pasted, SENTENCES)


def test_words_alone_may_hold_commas_and_quotes() -> None:
    for pasted in ('"Go," he said, late.\nWell, yes, then.', "One, two.\nThree."):
        assert list(texts_in(pasted, SENTENCES)[0].values()) == pasted.splitlines()


NAMED = {
    "spaces, as in Kaldi": "LJ001-0001 Hello there\nLJ001-0002  Bye now",
    "colons": "LJ001-0001: Hello there\nLJ001-0002: Bye now",
    "file names": "wavs/LJ001-0001.wav Hello there\nwavs/LJ001-0002.wav Bye now",
}


@pytest.mark.parametrize("pasted", NAMED.values(), ids=NAMED)
def test_lines_that_begin_with_a_name_are_no_words_as_a_whole(pasted: str) -> None:
    words = {"LJ001-0001": "Hello there", "LJ001-0002": "Bye now"}
    assert texts_in(pasted, ["LJ001-0001", "LJ001-0002", "LJ001-0003"]) == (words, [])


@pytest.mark.parametrize(
    "pasted",
    [
        '( LJ001-0001 "Hello there." )\n( LJ001-0002 "Bye." )',
        '{"id":"LJ001-0001","text":"Hi"}\n{"id":"LJ001-0002","text":"Bye"}',
        "Hello there (LJ001-0001)\nBye now (LJ001-0002)",
    ],
    ids=["Festvox", "JSON lines", "names behind"],
)
def test_lines_that_name_sentences_in_another_way_are_asked_about(pasted: str) -> None:
    with pytest.raises(UnclearTexts, match="in a way that cannot be read"):
        texts_in(pasted, ["LJ001-0001", "LJ001-0002"])


def test_words_that_hold_a_number_are_words() -> None:
    assert texts_in("1 dog.\nA cat.", ["1", "2"])[0] == {"1": "1 dog.", "2": "A cat."}
    assert texts_in("Go on.\nWell no.", ["go", "well"])[0] == {"go": "Go on.", "well": "Well no."}
    assert texts_in("In 2001.\nIt was 1.", ["1", "2001"])[0] == {
        "1": "In 2001.",
        "2001": "It was 1.",
    }


def test_letters_that_macos_takes_apart_are_one_name() -> None:
    found = scan(["A/e\u0301te\u0301.wav", "A/z.wav", "B/\u00e9t\u00e9.wav", "B/z.wav"])
    assert (found.systems, found.sentences) == (["A", "B"], ["z", "\u00e9t\u00e9"])
    assert not found.holes
    assert found.cells["A", "\u00e9t\u00e9"] == "A/e\u0301te\u0301.wav"
