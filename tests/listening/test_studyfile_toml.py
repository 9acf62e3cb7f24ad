"""Every mistake in study.toml is named with its key path and a remedy."""

from pathlib import Path

import pytest

from listening.design.studyfile import Problem
from tests.listening.folders import CONDITIONS, CSV, STUDY, TASK, TOML, problems_of, the_problem


def check(problem: Problem, place: str, what: str, remedy: str = "") -> None:
    assert problem.file == "study.toml"
    assert problem.row is None
    assert (problem.place, what in problem.what) == (place, True), str(problem)
    assert remedy in problem.remedy, str(problem)


@pytest.mark.parametrize(
    ("old", "new", "place", "what", "remedy"),
    [
        ('title = "A small study"', "", "study.title", "missing", "title ="),
        ('title = "A small study"', 'titel = "x"\ntitle = "y"', "study.titel", "no field", "title"),
        ('title = "A small study"', "title = 3", "study.title", "a whole number", "quotes"),
        ('title = "A small study"', 'title = " "', "study.title", "empty", "Fill"),
        ('title = "A small study"', f'title = "{"x" * 201}"', "study.title", "201 char", "Short"),
        ('key = "small"', 'key = "small study"', "study.key", "only letters", "title"),
        ('key = "small"', 'key = "研究"', "study.key", "only letters", "title"),
        ('key = "small"', 'key = "small"\nseed = 1.5', "study.seed", "no whole number", "digits"),
        ('key = "small"', 'key = "small"\nseed = true', "study.seed", "true or false", "digits"),
        ('key = "small"', f'key = "small"\nseed = {2**70}', "study.seed", "outside", "between"),
        ('key = "small"', 'key = "small"\ntask_plan = "both"', "study.task_plan", "none of", ""),
        ('key = "small"', 'key = "small"\nlanguage = "english!"', "study.language", "no lan", ""),
        ('key = "small"', 'key = "small"\nlease_minutes = 0', "study.lease_minutes", "outside", ""),
        ('key = "small"', 'key = "small"\nlease_minutes = nan', "study.lease_minutes", "no n", ""),
        ('key = "small"', 'key = "sm\\u0000all"', "study.key", "NUL", "Delete"),
        ('title = "A small study"', 'title = "a\\u0007b"', "study.title", "control", "Delete"),
        (
            *('key = "small"', 'key = "small"\npublication = { audio_licence = "my own" }'),
            *("study.publication.audio_licence", "no short name of a licence", "CC-BY-4.0"),
        ),
        (
            *('key = "small"', 'key = "small"\npublication = { consent_covers_ratings = true }'),
            *("study.publication.consent_covers_ratings", "no consent text", "[study.texts]"),
        ),
        (
            *('key = "small"', 'key = "small"\npayment = { by = "us", currency = "yuan" }'),
            *("study.payment.currency", "no code of a currency", "CNY"),
        ),
        (
            *('key = "small"', 'key = "small"\npayment = { per_clip = 0.8 }'),
            *("study.payment.per_clip", "by the hour", "by ="),
        ),
        ('key = "sys-a"', 'key = "sys a ~ b"', "conditions[1].key", "“ ~ ”", "another name"),
        ('key = "sys-a"', 'key = "sys-a\\u200b"', "conditions[1].key", "invisible", "anew"),
        ('key = "sys-a"', 'key = "sys-a"\nrole = "tset"', "conditions[1].role", "none of", ""),
        ('key = "sys-a"', 'key = "sys-a"\nattributes = 3', "conditions[1].attributes", "table", ""),
        ('key = "sys-a"', 'key = "sys-a"\nattributes = {d = 1979-05-27}',
         "conditions[1].attributes", "a date", "quotes"),
        ('method = "mos"', 'method = "moss"', "tasks[1].method", "no method “moss”", "“mos”"),
        ("block_size = 2", 'block_size = "2"', "tasks[1].block_size", "a text", "digits"),
        ("block_size = 2", "", "tasks[1].block_size", "missing", "block_size ="),
        ("block_size = 2", "block_size = 0", "tasks[1].block_size", "outside", ""),
        ("ratings_per_stimulus = 3", "", "tasks[1].ratings_per_stimulus", "missing", ""),
        ("ratings_per_stimulus = 3", "ratings_per_stimulus = -1", "tasks[1].ratings_per_stimulus",
         "outside", ""),
        ("block_size = 2", 'block_size = 2\nrepeat_items = "yes"', "tasks[1].repeat_items",
         "a text", "true or false"),
        ("block_size = 2", 'block_size = 2\nconditions = "sys-a"', "tasks[1].conditions",
         "no list", "["),
        ("block_size = 2", 'block_size = 2\nconditions = ["sys-c"]', "tasks[1].conditions",
         "no condition", "“sys-b”"),
        ("block_size = 2", 'block_size = 2\nconditions = ["sys-a", "sys-a"]',
         "tasks[1].conditions", "twice", "Keep one"),
    ],
)  # fmt: skip
def test_one_mistake_gives_one_problem(
    tmp_path: Path, old: str, new: str, place: str, what: str, remedy: str
) -> None:
    assert old in TOML
    found = problems_of(tmp_path, TOML.replace(old, new))
    assert found, "nothing was found"
    check(found[0], place, what, remedy)
    if place not in ("tasks[1].conditions", "conditions[1].key"):  # these have consequences
        assert len(found) == 1, "\n".join(map(str, found))


@pytest.mark.parametrize(
    ("stop", "place", "what", "remedy"),
    [
        ("looks = 5", "stop.rule", "missing", "rule ="),
        ('rule = "luck"', "stop.rule", "none of", ""),
        ('rule = "half_width"', "stop.target", "needs the field target", "target ="),
        ('rule = "half_width"\ntarget = 0', "stop.target", "outside", "between"),
        (
            *('rule = "half_width"\ntarget = 0.2\ndifference = 1', "stop.difference"),
            *("takes no difference", "planned_looks"),
        ),
        ('rule = "planned_looks"\nlooks = 1', "stop.looks", "outside 2 to 20", "whole number"),
        ('rule = "planned_looks"\nlooks = [0.5, 0.9]', "stop.looks", "ascend", "1.0"),
        ('rule = "planned_looks"\nlooks = [0.9, 0.5, 1]', "stop.looks", "ascend", "1.0"),
        ('rule = "planned_looks"\nlooks = "five"', "stop.looks", "neither", "whole number"),
        ('rule = "planned_looks"\ncriteria = ["x"]', "stop.criteria", "no criterion", ""),
        ('rule = "planned_looks"\ncompare = "reference"', "stop.compare", "role", "systems"),
        ('rule = "budget"\namount = 100', "stop.rule", "not known", "[study.payment]"),
    ],
)
def test_stop_rules_that_cannot_be(
    tmp_path: Path, stop: str, place: str, what: str, remedy: str
) -> None:
    check(the_problem(tmp_path, f"{TOML}\n[stop]\n{stop}\n"), place, what, remedy)


def test_a_field_at_the_top_level_is_unknown(tmp_path: Path) -> None:
    check(the_problem(tmp_path, "titel = 1\n" + TOML), "titel", "no field “titel”")


def test_unknown_texts_codes_and_nested_fields_are_named(tmp_path: Path) -> None:
    toml = (
        STUDY
        + '[study.texts]\nwelcom = "x"\n[study.completion_codes]\nscreenedout = "A1"\n'
        + CONDITIONS
        + TASK
        + '[tasks.justification]\nmin_char = 3\n[[tasks.criteria]]\nkey = "q"\nhelp = "x"\n'
    )
    found = problems_of(tmp_path, toml)
    places = [p.place for p in found]
    assert places == [
        "study.texts.welcom",
        "study.completion_codes.screenedout",
        "tasks[1].justification.min_char",
        "tasks[1].criteria[1].help",
    ]
    wanted = ("“welcome”", "“screened_out”", "“min_chars”", "“help_text”")
    assert all(word in p.remedy for word, p in zip(wanted, found, strict=True))


def test_duplicate_keys_are_named(tmp_path: Path) -> None:
    twice = TOML + CONDITIONS + TASK
    found = [p for p in problems_of(tmp_path, twice) if "stands already" in p.what]
    assert [p.place for p in found] == ["conditions[3].key", "conditions[4].key", "tasks[2].key"]


def test_two_outcomes_with_one_completion_code(tmp_path: Path) -> None:
    codes = '[study.completion_codes]\ncomplete = "AAAA1111"\npartial = "AAAA1111"\n'
    problem = the_problem(tmp_path, STUDY + codes + CONDITIONS + TASK)
    check(problem, "study.completion_codes.partial", "that of another outcome", "“complete”")


@pytest.mark.parametrize(
    ("check_toml", "what"),
    [('key = "volum"', "no check “volum”"), ('title = "x"', "missing")],
)
def test_an_unknown_check(tmp_path: Path, check_toml: str, what: str) -> None:
    toml = STUDY + f"[[study.checks]]\n{check_toml}\n" + CONDITIONS + TASK
    check(the_problem(tmp_path, toml), "study.checks[1].key", what)


@pytest.mark.parametrize(
    ("toml", "place", "what"),
    [
        ("", "study", "missing"),
        ("[study\n", "line 1, column 7", "not TOML"),
        ('[study]\nkey = "a"\nkey = "b"\n', "line 3, column 10", "not TOML"),
        (b"[study]\ntitle = \"caf\xe9\"\n", "line 2", "0xe9) is not UTF-8"),
        (TOML.encode("utf-16"), "line 1", "not UTF-8"),
        ("study = 3\n", "study", "no table"),
        ("a = " + "[" * 5000, "", "nested too deeply"),
        (b"#" * (6 * 1024**2), "", "6,291,456 bytes"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_toml(tmp_path: Path, toml: str | bytes, place: str, what: str) -> None:
    found = problems_of(tmp_path, toml)
    check(found[0], place, what)


@pytest.mark.parametrize("value", ["One clip", "“One clip”", "'One' clip'"])
def test_a_text_without_straight_quotes_is_told_which_it_needs(tmp_path: Path, value: str) -> None:
    (found,) = problems_of(tmp_path, TOML.replace('key = "mos"', f"key = {value}"))
    assert found.place.startswith("line ")
    assert ("straight quotes" in found.remedy) == (value[0] != "'")


def test_the_table_is_checked_even_when_the_toml_is_broken(tmp_path: Path) -> None:
    found = problems_of(tmp_path, "[study\n", CSV.replace("audio/a1.wav", "audio/a9.wav"))
    assert [(p.file, p.row) for p in found] == [("study.toml", None), ("stimuli.csv", 2)]


def test_all_mistakes_of_a_bad_study_are_listed_at_once(tmp_path: Path) -> None:
    toml = """
    [study]
    key = "bad study"
    seed = "none"
    [[conditions]]
    key = "sys-a"
    [[conditions]]
    key = "unused"
    [[tasks]]
    key = "t"
    method = "mos"
    block_size = 20
    ratings_per_stimulus = 0
    [tasks.options]
    step = 0.3
    stepp = 1
    [tasks.traps]
    [[tasks.traps.kinds]]
    kind = "gold"
    expected = ["6"]
    """
    csv = (
        "stimulus,condition,item,file\n"
        "a1,sys-a,i1,audio/a1.wav\n"
        "a1,sys-b,i1,../secret.wav\n"
        "a3,sys-a,i3,audio/none.wav,extra\n"
    )
    text = "\n".join(map(str, problems_of(tmp_path, toml, csv)))
    for part in (
        "study.toml, study.key:",
        "study.toml, study.title:",
        "study.toml, study.seed:",
        "study.toml, conditions[2].key: No stimulus belongs",
        "study.toml, tasks[1].ratings_per_stimulus:",
        "study.toml, tasks[1].options: The options do not fit the method “mos”",
        "study.toml, tasks[1].options.stepp:",
        "study.toml, tasks[1].traps.kinds[1].kind: No clip",
        "study.toml, tasks[1].block_size:",
        "stimuli.csv, row 3, stimulus: The id “a1” stands already in row 2.",
        "stimuli.csv, row 3, condition: “sys-b” is not declared as a condition",
        "stimuli.csv, row 3, file: “../secret.wav” leads out of the folder.",
        "stimuli.csv, row 4: The row has 5 cells, the header 4.",
    ):
        assert part in text, f"{part}\n---\n{text}"
