"""Scripts import each other by hashed names; what comments say is left alone."""

import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import override_settings

FILES = {
    "main.js": 'import { play } from "./deep1.js";\nconst later = () => import("./face.js");\n',
    "face.js": '/** @typedef {import("./main.js").Main} Main */\nexport const face = 1;\n',
} | {f"deep{n}.js": f'export {{ play }} from "./deep{n + 1}.js";\n' for n in range(1, 8)}
LEAN = """/** What it does. */

import { play } from "./deep8.js";

/**
 * @param {string} url
 */
export function open(url) {
  // why
  const all = /** @type {HTMLElement[]} */ (url); // goes
  all.push(" // stays"); // stays: "a quote"
  return url + "//x/* y */";
}
"""
FILES["deep8.js"] = "export const play = 1; // like import('./main.js')\n"


def collect(folder: Path, files: dict[str, str], *plugins: tuple[str, Path]) -> Path:
    source, target = folder / "source", folder / "target"
    source.mkdir(parents=True)
    for name, text in files.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text)
    storages = {"staticfiles": {"BACKEND": "config.static.ModuleManifestStorage"}}
    finders = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    with override_settings(
        STATICFILES_DIRS=[source, *plugins],
        STATIC_ROOT=target,
        STORAGES=storages,
        STATICFILES_FINDERS=finders,
    ):
        call_command("collectstatic", interactive=False, verbosity=0)
    return target


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return collect(tmp_path_factory.mktemp("static"), FILES)


def hashed(folder: Path, stem: str) -> str:
    (found,) = [p for p in folder.iterdir() if re.fullmatch(rf"{stem}\.[0-9a-f]{{12}}\.js", p.name)]
    return found.read_text()


def test_imports_get_hashed_names_however_deep(collected: Path):
    assert re.search(r'from "\./deep1\.[0-9a-f]{12}\.js"', hashed(collected, "main"))
    assert re.search(r'import\("\./face\.[0-9a-f]{12}\.js"\)', hashed(collected, "main"))
    assert re.search(r'from "\./deep8\.[0-9a-f]{12}\.js"', hashed(collected, "deep7"))


def test_types_named_in_comments_make_no_circle(collected: Path):
    assert 'import("./main.js").Main' in hashed(collected, "face")


def test_a_changed_script_changes_all_that_import_it(collected: Path, tmp_path: Path):
    changed = FILES | {"deep8.js": "export const play = 2;\n"}
    again = collect(tmp_path, changed)
    for stem in ("deep7", "deep1", "main"):
        assert hashed(again, stem) != hashed(collected, stem)
    assert hashed(again, "face") == hashed(collected, "face")


def test_a_script_of_a_plug_in_that_names_a_missing_file_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    own = tmp_path / "own"
    own.mkdir()
    (own / "dial.js").write_text('import "../js/main.js";\nimport "./gone.js";\n')
    target = collect(tmp_path, {"js/main.js": "export const a = 1;\n"}, ("lab_dial", own))
    script = hashed(target / "lab_dial", "dial")
    assert re.search(r'import ?"\.\./js/main\.[0-9a-f]{12}\.js";\nimport "\./gone\.js"', script)
    assert "lab_dial/dial.js of a plug-in names a file that is not there" in caplog.text


def test_our_scripts_are_served_without_comments_and_those_of_others_whole(tmp_path: Path):
    style = "/* Colours. */\na:hover>b,\ni {\n  margin: -0.5em 10.5em;\n  color: red;\n}\n"
    style += "/* b */ b {\n}\n/* End. */\n"
    files = {
        "js/lean.js": LEAN.replace("./deep8", "./end"),
        "js/end.js": "export const play = 1;\n",
    }
    target = collect(tmp_path, files | {"admin/theirs.js": LEAN[:20], "css/lean.css": style})
    script = hashed(target / "js", "lean")
    assert re.fullmatch(
        r'import { play } from "\./end\.[0-9a-f]{12}\.js";export function open\(url\) {'
        r'const all = \(url\);all\.push\(" // stays"\); // stays: "a quote"\n'
        r'return url \+ "//x/\* y \*/";\n}\n',
        script,
    )
    assert hashed(target / "admin", "theirs") == LEAN[:20]
    (sheet,) = (target / "css").glob("lean.*.css")
    assert sheet.read_text() == "a:hover>b,i{margin:-.5em 10.5em;color:red}/* b */ b{}"


def test_no_string_of_our_scripts_spans_lines():
    for script in (Path(__file__).parents[2] / "static/js").rglob("*.js"):
        for number, line in enumerate(script.read_text().splitlines(), start=1):
            assert line.count("`") % 2 == 0, f"{script.name}:{number}"
