"""What people read says a command as it is typed here: `earnest` where a wheel was installed."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.template import engines

from listening.common.command_name import PROGRAM, as_typed_here, command
from tools.layers import APPS, ROOT, modules

SOURCE = ROOT / "listening" / "common" / "command_name.py"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def words_of(path: Path) -> Iterator[str]:
    """Every string of a module, apart from its docstrings."""
    tree = ast.parse(path.read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, DOCUMENTED)]
    told = {id(each.body[0].value) for each in nodes if ast.get_docstring(each, clean=False)}  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


@pytest.mark.medium
def test_no_message_says_how_a_command_is_typed_by_itself():
    sources = [path for app in APPS for path in modules(app).values() if path != SOURCE]
    named = [path for path in sources if "manage.py" in path.read_text()]
    wrong = [str(path) for path in named if any("manage.py" in each for each in words_of(path))]
    pages = (ROOT / "templates").rglob("*.*")
    wrong += [str(page) for page in pages if "manage.py" in page.read_text()]
    assert named  # docstrings of commands: this looks where it means to
    assert wrong == []


def test_pages_and_messages_say_the_same():
    page = engines["django"].from_string("{% load program %}{% program %} plan")
    assert page.render() == command("plan") == "python manage.py plan"


def test_a_preset_is_written_with_commands_as_they_are_typed_here():
    line = "# Try it:   manage.py import_study FOLDER --open"
    assert as_typed_here(line) == f"# Try it:   {PROGRAM} import_study FOLDER --open"


@pytest.mark.parametrize(
    ("rooms", "program"), [(["templates"], "python manage.py"), ([], "earnest")]
)
def test_a_wheel_has_a_command_of_its_own(tmp_path: Path, rooms: list[str], program: str):
    for room in [*rooms, "listening/common"]:
        (tmp_path / room).mkdir(parents=True)
    (tmp_path / "listening" / "common" / "command_name.py").write_text(SOURCE.read_text())
    code = "from listening.common.command_name import command; print(command('plan'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == (f"{program} plan\n", "")
