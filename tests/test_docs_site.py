"""The site has every page once, the tutorial says what is on the pages, pictures are small."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tools import docs_reference
from tools.docs import GENERATED, home, lay_out, navigation
from tools.docs_api import page
from tools.locks import ROOT
from tools.screenshots import FOLDER, MOST_BYTES, SHOTS

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
# Where words of pages stand, beside templates
PLACES = (
    "analysis/report/html/first_screen.py",
    "config/run/supervisor.py",
    "listening/design/draft_toml.py",
    "listening/methods/att.py",
    "listening/templatetags/study_tabs.py",
    "listening/web/researcher/drafts.py",
)
NO_LABELS = {"like this"}


def test_every_page_of_the_docs_is_in_the_navigation_once():
    named = Counter(navigation().pages())
    assert [page for page, times in named.items() if times > 1] == []
    assert [name for name in named if name not in GENERATED and not (ROOT / name).is_file()] == []
    docs = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "docs").rglob("*")
        if path.suffix in (".md", ".ipynb")
    }
    assert docs - set(named) == set()
    assert len(navigation().parts) == 4


def test_the_pages_of_the_site_lie_as_in_the_clone(tmp_path: Path):
    lay_out(tmp_path, dict.fromkeys(GENERATED, "# All\n"))
    assert (tmp_path / GENERATED[0]).read_text() == "# All\n"
    assert (tmp_path / "docs" / "api.md").read_text() == (ROOT / "docs" / "api.md").read_text()
    notebook = (tmp_path / "docs" / "notebooks" / "a-study-by-script.md").read_text()
    assert notebook.startswith("# A study by script")
    assert "```python\nimport sys" in notebook
    assert (tmp_path / "docs" / "notebooks" / "a-study-by-script.ipynb").is_file()
    front = (tmp_path / "index.md").read_text()
    assert front == home((ROOT / "README.md").read_text(), navigation())
    assert "## Read on" not in front
    assert (
        "/docs/adr/0005-ratings-are-only-added\n" in (tmp_path / "docs/adr/README.md").read_text()
    )


def test_an_operation_of_the_api_is_told_whole():
    state = {"name": "state", "schema": {"enum": ["draft", "open"]}, "description": "* draft"}
    told = page(
        {
            "Studies": [
                {
                    "method": "POST",
                    "path": "/api/v1/studies",
                    "summary": "Makes a study",
                    "words": "All or nothing.",
                    "parameters": [{**state, "required": True}],
                    "sent": [
                        ("application/zip", []),
                        ("x/y", [{"name": "a", "needed": False, "words": "b|c"}]),
                    ],
                    "answers": [("201", ["application/json"]), ("204", ["nothing"])],
                }
            ]
        }
    )
    for line in (
        "### POST `/api/v1/studies`",
        "Makes a study.",
        "| `state` (needed) | `draft`, `open` |",
        "Sent as `application/zip`.",
        "| `a` | b\\|c |",
        "Answered with 201: `application/json`.",
        "Answered with 204: nothing.",
    ):
        assert f"\n{line}\n" in told


@pytest.mark.medium
def test_the_references_list_every_metric_and_every_argument():
    metrics = docs_reference.metrics_page()
    assert "\n| `dnsmos_sig` | MOS, higher is better | DNSMOS P.835, quality" in metrics
    assert "\n| `beam` | `5` |\n" in metrics
    commands = docs_reference.commands_page()
    assert "\n## `score_files`\n" in commands
    assert "\n| `STUDY` | Study key. |\n" in commands
    assert "--traceback" not in commands
    python = docs_reference.python_page()
    assert "\n### `analysis.krippendorff_alpha`\n" in python
    assert "\nkendall_w(unit, rater, score, level=0.95, replicates=1000, seed=0)\n" in python
    assert "\n### `metrics.core.metric.Score`\n" in python


@pytest.mark.medium
def test_the_labels_that_the_tutorial_names_are_on_the_pages():
    labels = set(re.findall(r"\*\*(.+?)\*\*", TUTORIAL)) - NO_LABELS
    assert len(labels) > 30
    folders = (ROOT / "templates", ROOT / "analysis" / "report" / "html" / "templates")
    pages = [path.read_text("utf-8") for folder in folders for path in folder.rglob("*.html")]
    words = "\n".join([*pages, *((ROOT / place).read_text("utf-8") for place in PLACES)])
    missing = [label for label in labels if not re.search(rf"(?<![\w]){re.escape(label)}", words)]
    assert missing == []


def test_pictures_of_pages_are_those_of_the_script_and_small():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    words = "".join(path.read_text("utf-8") for path in pages)
    named = set(re.findall(r"!\[[^]]+\]\((?:docs/)?images/([\w-]+)\.webp\)", words))
    assert named - {"desk"} == {shot.name for shot in SHOTS}
    sizes = {shot.name: (FOLDER / f"{shot.name}.webp").stat().st_size for shot in SHOTS}
    assert [name for name, size in sizes.items() if size > MOST_BYTES] == []
