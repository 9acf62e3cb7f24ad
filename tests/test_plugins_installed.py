"""The packages of examples/plugins, installed by pip: import, raters, scores, report and pages."""

import csv
import io
import json
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from babel.messages.catalog import Catalog
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.conftest import launching
from tests.catalogue import compiled
from tests.config.helpers import BASE_DIR, PATIENCE_S, own_folder
from tests.demo_house import DemoHouse
from tests.migrated_house import migrated_into
from tests.test_end_to_end import QUICK, run_commands

pytestmark = pytest.mark.slow

EXAMPLES = BASE_DIR / "examples" / "plugins"
KEY = "effort"
STUDY = """
[study]
key = "effort"
title = "Listening effort"

[study.texts]
consent = "I take part."

[[study.checks]]
key = "beeps"

[[questionnaires]]
key = "about"

[[questionnaires.questions]]
key = "voices"
question = "How much do you agree?"
kind = "likert_matrix"
options = [
    { value = "liked", text = "I like synthetic voices." },
    { value = "used", text = "I hear synthetic voices every day." },
]
low = 1
high = 5
prefer_not = true
covariate = true

[[conditions]]
key = "human"
role = "reference"

[[tasks]]
key = "effort"
method = "listening_effort"
block_size = 6
ratings_per_stimulus = 4
repeat_items = true
"""
QUESTION = "How much effort does it take to follow the speaker?"
IN_GERMAN = "Wie anstrengend ist es, dieser Person zu folgen?"
CONDITIONS = ("human", "flite-slt", "espeak-ng")
SOURCE = '[[sources]]\nkey = "pool"\nkind = "campus"\n'
BROKEN = {  # package -> group, code, why it is left out
    "broken-import": ("earnest.methods", "import no_such_package", "ModuleNotFoundError"),
    "broken-version": ("earnest.checks", "PLUGIN_API_VERSION = 9", "this Earnest reads"),
    "broken-type": ("earnest.report_parts", "class Part: key = 'odd'", "it brings no part"),
    "broken-site": (
        "earnest.providers",
        "from listening.design.providers import Provider\n"
        "class Odd(Provider):\n    key, title, framed_by = 'odd', 'Odd', ('*',)",
        "must be a site",
    ),
    "broken-question": (
        "earnest.questions",
        "from listening.design.questions import QuestionKind\n"
        "class Odd(QuestionKind):\n    key, title, fields = 'odd', 'Odd', ('answers',)",
        "fields is .*script is empty",
    ),
    "broken-raise": ("earnest.metrics", "raise OSError('no licence')", "OSError: no licence"),
}
BUILD = """
import os, sys
from setuptools import build_meta
folder, *packages = sys.argv[1:]  # which the builds overwrite
for package in packages:
    os.chdir(package)
    build_meta.build_wheel(folder)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples as pip installs them, and with packages that are broken."""
    folder = tmp_path_factory.mktemp("plugins")
    shutil.copytree(EXAMPLES, folder / "source")  # pip writes beside what it builds
    packages = [path.parent for path in sorted((folder / "source").glob("*/pyproject.toml"))]
    assert len(packages) == 6
    wheels = folder / "wheels"
    wheels.mkdir()
    build = [sys.executable, "-W", "ignore", "-c", BUILD, wheels, *packages]
    subprocess.run(build, check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    alone = ("--no-index", "--no-deps", "--target", str(folder / "site"))
    subprocess.run([*pip, *alone, *wheels.iterdir()], check=True, timeout=PATIENCE_S)
    words = folder / "site" / "earnest_effort" / "locale" / "de" / "LC_MESSAGES"
    words.mkdir(parents=True)
    german = Catalog(locale="de")
    german.add(QUESTION, IN_GERMAN)
    (words / "django.mo").write_bytes(compiled(german))
    for name, (group, code, _) in BROKEN.items():
        module = name.replace("-", "_")
        (folder / "site" / f"{module}.py").write_text(code)
        info = folder / "site" / f"{module}-2.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{module} = {module}\n")
    return folder / "site"


@pytest.fixture(scope="module")
def house(site: Path) -> Iterator[DemoHouse]:
    """An installation in whose environment these packages are."""
    with own_folder() as var:
        migrated_into(var)
        house = DemoHouse(var)
        house.environment |= {"PYTHONPATH": str(site), "EARNEST_DEMO": "0"}
        house.start()
        try:
            yield house
        finally:
            house.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study folder with a method and a check of the examples, with sounds of the demo."""
    folder = tmp_path_factory.mktemp("effort")
    (folder / "study.toml").write_text(STUDY)
    with (BASE_DIR / "demo" / "stimuli.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["condition"] in CONDITIONS]
    names = ("stimulus", "condition", "item", "file", "text")
    items = sorted({row["item"] for row in rows if not row["trap"]})[:4]
    rows = [row for row in rows if row["item"] in items and not row["trap"]]
    with (folder / "stimuli.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, names, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    (folder / "audio").mkdir()
    for row in rows:
        shutil.copy(BASE_DIR / "demo" / row["file"], folder / row["file"])
    return folder


@dataclass
class Run:
    """What was done with the commands, and what some of them printed."""

    out: Path  # what was exported
    scored: str
    checked: str


@pytest.fixture(scope="module")
def run(house: DemoHouse, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The studies, and the first one after its raters: exported and scored."""
    out, others = tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("others")
    for key, source in (("matrix", ""), ("campus", SOURCE)):
        shutil.copytree(folder, others / key)
        study = STUDY.replace('key = "effort"\ntitle', f'key = "{key}"\ntitle')
        (others / key / "study.toml").write_text(study + source)
    shares = ("--careless", "0", "--leaver", "0", "--returner", "0", "--withdrawer", "0")
    checked, *_, simulated, _, scored = run_commands(
        house,
        ("check",),
        *(
            ("import_study", each, "--open")
            for each in (folder, others / "matrix", others / "campus")
        ),
        ("simulate_raters", "--study", KEY, "--raters", "8", "--seed", "5", *shares),
        ("export_study", KEY, "--out", out, *QUICK),
        ("score_study", KEY, "--metrics", "active_level_dbfs"),
    )
    assert "Server errors" not in simulated[0]
    return Run(out, scored[0], checked[1])


@pytest.fixture(scope="module")
def exported(run: Run) -> Path:
    """The study after its raters, as it is exported."""
    return run.out


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, playwright.chromium.launch(**launching()) as browser:
        yield browser


@pytest.fixture(scope="module")
def administrator(house: DemoHouse) -> Iterator[httpx.Client]:
    """The browser of the first researcher, logged in."""
    login = (house.var / "researcher-login.txt").read_text()
    user, password = re.findall(r"(?:user|password): (\S+)", login)
    with httpx.Client(base_url=house.url, follow_redirects=True) as client:
        form = client.get("/login/").text
        token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[0]
        sent = {"username": user, "password": password, "csrfmiddlewaretoken": token}
        assert "Log out" in client.post("/login/", data=sent).text
        yield client


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_answers_on_the_scale_of_a_plug_in_are_stored_and_exported(exported: Path) -> None:
    ratings = rows_of(exported / "ratings.csv")
    assert len(ratings) == 4 * 3 * 4
    assert {row["label"] for row in ratings} <= {str(n) for n in range(1, 14)}
    assert all(float(row["score"]) == float(row["label"]) for row in ratings)


def test_the_report_estimates_them_and_has_the_part_of_a_plug_in(exported: Path) -> None:
    report: dict[str, Any] = json.loads((exported / "report.json").read_text())
    ratings = rows_of(exported / "ratings.csv")
    (part,) = [each for each in report["parts"] if each["key"] == "answer_times"]
    assert part["problem"] == ""
    shown = {row["condition"]: row["median_s"] for row in part["tables"][0]["rows"]}
    for condition in CONDITIONS:
        own = [row for row in ratings if row["condition"] == condition]
        scores = [float(row["score"]) for row in own]
        (mean,) = {
            row["value"]
            for row in report["estimates"]
            if row["estimand"] == "listening_effort" and row["condition"] == condition
            if row["breakdown"] == "condition:" and row["weighting"] == "ratings"
        }
        assert mean == pytest.approx(statistics.mean(scores))
        times_s = [float(row["latency_ms"]) / 1000 for row in own]
        assert shown[condition] == pytest.approx(statistics.median(times_s))
    assert report["provenance"]["packages"]["earnest-effort"] == "0.1.0"


def test_answers_to_a_kind_of_question_of_a_plug_in_are_exported_and_reported(
    house: DemoHouse, administrator: httpx.Client, exported: Path
) -> None:
    """Each statement of a matrix has a column, a slope in the report and a row of participants."""
    report: dict[str, Any] = json.loads((exported / "report.json").read_text())
    tables = {table["key"]: table["rows"] for part in report["parts"] for table in part["tables"]}
    sent = administrator.get("/studies/effort/results/sessions.csv").text.removeprefix("\ufeff")
    sessions = list(csv.DictReader(io.StringIO(sent)))
    ratings = rows_of(exported / "ratings.csv")
    for value, words in (("liked", "I like"), ("used", "I hear")):
        name = f"question_about_voices_{value}"
        answers = {row["rater"]: int(row[name]) for row in sessions if row[name]}
        assert len(answers) == 8
        assert {(row["rater"], int(row[name])) for row in ratings} <= answers.items()
        question = f"How much do you agree? {words} synthetic voices"
        (slope,) = [r for r in tables["rater_numbers"] if r["question"].startswith(question)]
        assert slope["raters"] == len({row["rater"] for row in ratings})
        own = [answers[rater] for rater in {row["rater"] for row in ratings}]
        assert slope["sd"] == pytest.approx(statistics.stdev(own))
        (shown,) = [r for r in tables["participants"] if r["characteristic"].startswith(question)]
        assert shown["raters"] == len(own)
        pairs = []  # of score and answer, each from its clip's mean
        for stimulus in {row["stimulus"] for row in ratings}:
            given = [row for row in ratings if row["stimulus"] == stimulus]
            scores = [float(row["score"]) for row in given]
            numbers = [answers[row["rater"]] for row in given]
            pairs += [
                (score - statistics.mean(scores), number - statistics.mean(numbers))
                for score, number in zip(scores, numbers, strict=True)
            ]
        assert slope["value"] == pytest.approx(
            sum(y * x for y, x in pairs) / sum(x * x for _, x in pairs)
        )


@pytest.mark.browser
def test_a_rater_answers_a_kind_of_question_of_a_plug_in(
    house: DemoHouse, run: Run, administrator: httpx.Client, browser: Browser
) -> None:
    (link,) = house.column("SELECT link FROM listening_study WHERE key = 'matrix'")
    with browser.new_page() as page:
        page.goto(f"{house.url}/r/{link}/")
        page.get_by_role("checkbox").check()
        page.get_by_role("button", name="Start").click()
        form = page.locator(".view-questionnaire")
        liked = form.get_by_role("radiogroup", name="I like synthetic voices.")
        liked.get_by_role("radio", name="2").focus()
        page.keyboard.press("ArrowRight")
        expect(liked.get_by_role("radio", name="3")).to_be_checked()
        form.get_by_role("button", name="Go on").click()
        expect(form.get_by_text("Please rate each statement.")).to_be_visible()
        page.reload()
        expect(liked.get_by_role("radio", name="3")).to_be_checked()
        used = form.get_by_role("radiogroup", name="I hear synthetic voices every day.")
        used.get_by_role("radio", name="5").check(force=True)
        form.get_by_role("button", name="Go on").click()
        expect(form).to_have_count(0)
    sent = administrator.get("/studies/matrix/results/sessions.csv").text
    (row,) = csv.DictReader(io.StringIO(sent))
    assert (row["question_about_voices_liked"], row["question_about_voices_used"]) == ("3", "5")


def test_a_metric_of_a_plug_in_scores_the_clips(house: DemoHouse, run: Run) -> None:
    assert "active_level_dbfs" in run.scored
    (count,) = house.column(
        "SELECT count(*) FROM metrics_metricscore WHERE metric = 'active_level_dbfs'"
    )
    assert count == 12


def test_a_rater_gets_the_check_the_widget_its_script_and_its_style(
    administrator: httpx.Client, exported: Path
) -> None:
    preview = administrator.get("/preview/examples/gallery/?task=listening_effort").text
    assert 'data-widget="earnest_effort"' in preview
    assert 'value="13"' in preview
    (style,) = re.findall(r'href="([^"]*earnest_effort/effort\.[0-9a-f]{12}\.css)"', preview)
    (script,) = re.findall(r'"script": "([^"]*earnest_effort/effort\.[0-9a-f]{12}\.js)"', preview)
    assert ".effort-step" in administrator.get(style).text
    code = administrator.get(script).text
    (imported,) = re.findall(r'from "\.\.(/js/rater/criteria\.[0-9a-f]{12}\.js)"', code)
    assert imported in preview
    german = administrator.get("/preview/examples/gallery/?task=listening_effort&lang=de").text
    assert f"<legend>{IN_GERMAN}</legend>" in german
    assert "How many beeps?" in administrator.get("/preview/examples/gallery/?check=beeps").text


@pytest.mark.browser
def test_arrow_keys_move_along_the_scale_of_a_plug_in(
    house: DemoHouse, administrator: httpx.Client, browser: Browser
) -> None:
    cookies = [{"name": k, "value": v, "url": house.url} for k, v in administrator.cookies.items()]
    with browser.new_page() as page:
        page.context.add_cookies(cookies)
        page.goto(f"{house.url}/preview/examples/gallery/?task=listening_effort")
        page.get_by_role("button", name="Begin").click()
        player = page.locator(".player")
        expect(player).to_have_attribute("data-state", "ready")
        page.keyboard.press("Space")
        expect(player).to_have_attribute("data-state", "heard")
        chosen = []
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
            page.keyboard.press(key)
            chosen.append(page.locator(".effort input:checked").get_attribute("value"))
    assert chosen == ["7", "8", "7"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/gallery/", ("Listening effort", "From the plug-in earnest-effort 0.1.0", "check-beeps")),
        ("/new/", ("Start: Listening effort",)),
        ("/schema/study.json", ('"listening_effort"', '"beeps"', '"campus"', '"likert_matrix"')),
        ("/operations/", ("earnest-beeps 0.1.0", "ModuleNotFoundError", "OSError: no licence")),
        ("/help/methods/", ("listening_effort", "This check comes with earnest-beeps 0.1.0")),
    ],
)
def test_pages_show_what_is_installed(
    administrator: httpx.Client, path: str, words: tuple[str, ...]
) -> None:
    text = administrator.get(path).text
    assert [each for each in words if each not in text] == []


def test_the_editor_begins_a_study_with_the_method_of_a_plug_in(
    administrator: httpx.Client,
) -> None:
    form = administrator.get("/new/").text
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[0]
    sent = {"kind": "listening_effort", "csrfmiddlewaretoken": token}
    draft = administrator.post("/new/", data=sent)
    questions = administrator.get(f"{draft.url.path}questions/").text
    assert QUESTION in questions
    assert "from none to extreme (ACALES)" in questions
    assert "How many beeps?" in administrator.get(f"{draft.url.path}raters/").text


def test_raters_come_from_a_provider_of_a_plug_in(run: Run, administrator: httpx.Client) -> None:
    page = administrator.get("/studies/campus/recruiting/").text
    assert "Campus pool" in page
    (address,) = re.findall(r"https?://[^\s<>\"]*student={{student}}[^\s<>\"]*", unescape(page))
    address = address.replace("{{student}}", "s17").replace("{{signup}}", "4")
    with httpx.Client(follow_redirects=True) as rater:
        begun = rater.get(address)
    assert "I take part." in begun.text


def test_the_broken_ones_are_named_by_check_and_log_and_every_process_runs(
    house: DemoHouse, run: Run
) -> None:
    for name, (_, _, why) in BROKEN.items():
        assert re.search(rf"{name} 2\.0 is left out: .*{why}", run.checked)
    logs = "".join(path.read_text() for path in (house.var / "logs").iterdir())
    assert "earnest.methods of broken-import 2.0 is left out" in logs
    assert house.health() == 200
