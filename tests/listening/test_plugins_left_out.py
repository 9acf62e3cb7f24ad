"""Classes of other packages, of every kind: what is broken is named and left out."""

import re
import textwrap
from pathlib import Path

import pytest
from django.conf import settings
from django.test import override_settings

from analysis.report import pipeline
from analysis.report.part import Part, PartInput
from analysis.statistics.options import Options
from config.operations import plugins as installed
from listening.checks import Check
from listening.common import plugins
from listening.methods import Method, method_named
from metrics.core.metric import Metric
from tests.factories import arrive, make_study
from tests.listening.sample_questionnaire import about
from tests.plugged import METRIC, installer


def method(key: str = "lab_mos", version: str = "1", body: str = "", name: str = "Lab") -> str:
    """The module of a method; `body` stands in its class."""
    return f"""
from listening.methods.mos import Mos as Base

PLUGIN_API_VERSION = {version}

class {name}(Base):
    key = "{key}"
    title = "Mean opinion score of a lab"
    {body}
"""


CHECK = """
import numpy as np
from listening.checks import Check, CheckOption

class Lab(Check):
    key = "lab_check"
    title = text = question = "Which?"
    options = (CheckOption("1", "One"), CheckOption("2", "Two"))
    truths = ("1", "2")
    trials = 4
    pass_at_least = 3

    def signal(self, settings, seed, place):
        return {wave}
"""
PART = """
from analysis.report.content import Content
from analysis.report.part import Part, PartInput
from analysis.report.pipeline import made_parts, parts_to_make
from analysis.statistics.options import Options

class Lab(Part):
    key = "{key}"
    version = "1"
    title = "Of a lab"

    def make(self, inputs):
        return Content(sentences=["Made by a lab."])
"""
GOOD = {
    Method: method(),
    Check: CHECK.format(wave="np.zeros(8000, np.float32)"),
    Part: PART.format(key="lab_part"),
    Metric: METRIC.format(name="Peak", key="lab_peak"),
}


@pytest.fixture(params=GOOD, ids=lambda base: base.__name__)
def base(request):
    return request.param


@pytest.fixture
def lab(tmp_path, monkeypatch, base):
    yield from installer(tmp_path, monkeypatch, base.registry)


def errors(base) -> dict[str, str]:
    plugins.load(base.registry)
    return {each.target: each.error for each in plugins.broken_plugins(base.registry)}


def test_a_class_of_a_package_joins_the_registry_and_says_where_it_comes_from(lab, base):
    lab("lab_tools", GOOD[base])
    assert errors(base) == {}
    (key,) = plugins.plugin_keys(base.registry)
    assert plugins.origin_of(base.registry[key]) == "lab_tools 1.5"
    assert plugins.packages_of(base.registry) == {"lab_tools": "1.5"}
    assert plugins.origin_of(next(iter(base.registry.values()))) == ""


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("raise SystemExit(2)", "SystemExit: 2"),
        ("x = 1", "it brings no"),
        ("import listening.common.plugins as p\nx = p.Plugin", "it brings no"),
    ],
)
def test_a_broken_package_is_named_and_the_registry_stays_as_it_was(lab, base, code, error):
    before = dict(base.registry)
    lab("lab_broken", code)
    lab("lab_tools", GOOD[base])
    assert error in errors(base)["lab_broken"]
    assert set(base.registry) - set(before) == set(plugins.plugin_keys(base.registry))
    assert {key: base.registry[key] for key in before} == before
    (warning,) = installed.check_plugins()
    assert f"plug-in of lab_broken 1.5 is left out: {error}" in warning.msg


@pytest.mark.parametrize("base", [Method], indirect=True)
@pytest.mark.parametrize(
    ("code", "error"),
    [
        (method(version="2"), "reads plug-ins of version 1"),
        (method(version="'one'"), "PLUGIN_API_VERSION is 'one'"),
        (method("mos"), "two methods have the key mos"),
        (method("mos", name="Mos"), "there is a method mos already; rename yours"),
        (method("Lab-MOS"), "key 'Lab-MOS' must be lower-case"),
        (method(body="estimand = 3.0"), "AttributeError: 'float' object has no attribute 'key'"),
        (method(body="standard = ''"), "standard must be a text"),
        (method(body="screen = 'grid'"), "screen is 'grid'"),
        (method(body="script = 'lab_broken/a.js'"), "a.js is not in the folder static of its"),
        (method(body="def scale(self, options): return options['scale']"), "KeyError: 'scale'"),
        (
            method(body="def scale(self, o): return replace(Base.scale(self, o), widget='dial')")
            + "from dataclasses import replace",
            "the widget dial must be called",
        ),
    ],
)
def test_a_method_that_breaks_the_contract_is_left_out(lab, base, code, error):
    before = dict(Method.registry)
    lab("lab_broken", code)
    assert error in errors(base)["lab_broken"]
    assert dict(Method.registry) == before
    with pytest.raises(KeyError, match=r"lab_broken 1\.5 is left out"):
        method_named("lab_mos")


@pytest.mark.parametrize("base", [Method], indirect=True)
def test_the_method_of_the_guide_keeps_the_contract(lab, base):
    page = (Path(settings.BASE_DIR) / "docs" / "plugins.md").read_text("utf-8")
    (code,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    lab("lab_clarity", textwrap.dedent(f"    {code.strip()}"))
    assert errors(base) == {}
    assert method_named("clarity").scale({}).score("7") == 7.0


@pytest.mark.parametrize("base", [Method], indirect=True)
def test_entry_points_that_cannot_be_read_stop_nothing(lab, base, tmp_path, caplog):
    lab("lab_tools", GOOD[base])
    (entries,) = tmp_path.glob("*/entry_points.txt")
    entries.write_text("[earnest.methods]\nlab_tools\n")
    assert errors(base) == {}
    assert plugins.groups_declared() == {}
    assert "entry points of installed packages cannot be read" in caplog.text


@pytest.mark.parametrize("base", [Method], indirect=True)
def test_a_template_that_cannot_be_read_is_named(lab, base, tmp_path, monkeypatch):
    (tmp_path / "widgets").mkdir()
    (tmp_path / "widgets" / "lab_dial.html").write_text("{% if %}")
    monkeypatch.setattr(installed, "folders", lambda name: {"lab": tmp_path})
    engine = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    with override_settings(TEMPLATES=engine):
        (warning,) = installed.check_plugins()
    assert re.search(r"lab_dial\.html cannot be read: Unexpected end of expression", warning.msg)


@pytest.mark.parametrize("base", [Method], indirect=True)
def test_an_entry_point_that_names_a_class_must_name_one_of_the_kind(lab, base):
    lab("lab_broken", "class Dial:\n    key = 'dial'\n", target="lab_broken:Dial")
    assert errors(base) == {
        "lab_broken:Dial": "lab_broken:Dial is no subclass of listening.methods.method.Method "
        "with a key"
    }


@pytest.mark.parametrize("base", [Method], indirect=True)
def test_the_second_package_with_a_key_is_left_out_and_the_first_named(lab, base):
    lab("lab_one", GOOD[Method])
    lab("lab_two", GOOD[Method])
    assert errors(base) == {
        "lab_two": "there is a method lab_mos already (of lab_one 1.5); rename yours"
    }
    assert Method.registry["lab_mos"].__module__ == "lab_one"


@pytest.mark.parametrize("base", [Method], indirect=True)
def test_what_a_broken_package_declared_elsewhere_is_taken_back(lab, base):
    """A part that a method's module defines comes by the group of parts, or not at all."""
    list(Part.registry)
    lab("lab_both", GOOD[Method] + PART.format(key="lab_part"))
    assert errors(base) == {}
    assert "lab_mos" in Method.registry
    assert "lab_part" not in Part.registry


@pytest.mark.parametrize("base", [Check], indirect=True)
@pytest.mark.parametrize(
    ("code", "error"),
    [
        (CHECK.format(wave="np.full(8000, 2.0)"), "from -1 to 1"),
        (CHECK.format(wave="np.full(8000, np.nan)"), "from -1 to 1"),
        (CHECK.format(wave="1 / 0"), "ZeroDivisionError: division by zero"),
        (CHECK.format(wave="np.zeros(9)") + "    kind = 'dial'\n", "kind is 'dial'"),
        (
            CHECK.format(wave="np.zeros(9)") + "    def read(self, answer, trial): return '0'\n",
            "a rater with every answer right does not pass",
        ),
    ],
)
def test_a_check_that_breaks_the_contract_is_left_out(lab, base, code, error):
    lab("lab_broken", code)
    assert error in errors(base)["lab_broken"]
    assert "lab_check" not in Check.registry


@pytest.mark.parametrize("base", [Part], indirect=True)
def test_a_part_that_makes_nothing_is_left_out(lab, base):
    lab("lab_broken", PART.format(key="lab_part").replace("def make", "def made"))
    assert errors(base)["lab_broken"] == "Lab: it has no method make"


@pytest.mark.parametrize("base", [Part], indirect=True)
@pytest.mark.parametrize("name", ["applies", "make"])
def test_a_part_that_breaks_names_its_package_and_the_report_stands(lab, base, name, monkeypatch):
    code = PART.format(key="lab_part").replace("def make", "def make_well")
    broken = f"\n    def {name}(self, inputs): return 1 / 0\n"
    other = "" if name == "make" else "\n    def make(self, inputs): return 1 / 0\n"
    lab("lab_tools", code + broken + other)
    assert errors(base) == {}
    monkeypatch.setattr(pipeline, "chosen_parts", lambda options: [Part.registry["lab_part"]])
    inputs = PartInput(None, None, Options())
    (record,) = pipeline.made_parts(inputs, pipeline.parts_to_make(inputs))
    assert record["problem"].startswith("This part of lab_tools 1.5 broke: please tell its authors")


@pytest.mark.parametrize("base", [Method], indirect=True)
def test_a_group_that_earnest_does_not_read_is_named(lab, base, monkeypatch, tmp_path):
    lab("lab_tools", GOOD[base])
    (entries,) = tmp_path.glob("*/entry_points.txt")
    entries.write_text("[earnest.method]\nlab = lab_tools\n")
    (warning,) = installed.check_plugins()
    assert warning.msg.startswith("lab_tools names the entry point group earnest.method, which")


@pytest.mark.django_db
def test_a_study_whose_plug_in_is_gone_says_so_and_its_raters_wait(client):
    study = make_study()
    study.tasks.update(method="lab_mos")
    client.force_login(study.owner)
    page = client.get(f"/studies/{study.key}/")
    assert page.status_code == 501
    assert "The method “lab_mos” is not in use here. Install or repair" in page.content.decode()
    assert client.get("/studies/").status_code == 200
    landing = client.get(f"/r/{study.link}/")
    assert (landing.status_code, "Retry-After" in landing) == (503, True)


@pytest.mark.django_db
def test_raters_wait_at_a_question_whose_plug_in_is_gone(client):
    form = about()
    form["questions"][0]["kind"] = "lab_matrix"
    session = arrive(make_study(questionnaires=[form | {"when": "before"}]))
    page = client.get(f"/s/{session.code}/")
    assert (page.status_code, "Retry-After" in page) == (503, True)
