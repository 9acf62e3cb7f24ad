"""Sphinx's settings for the documentation as a site; `make docs` builds it."""

import tomllib
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]

project = "Earnest"
author = "The Earnest developers"
version = release = _PROJECT["version"]
language = "en"
extensions = ["myst_parser"]
root_doc = "index"
myst_heading_anchors = 6  # links such as running.md#backups, spelt as on GitHub
smartquotes = False  # pages say what they say

html_theme = "furo"  # no script, font or picture from elsewhere; light and dark
html_title = f"Earnest {version}"
html_favicon = str(_ROOT / "static" / "img" / "earnest.svg")
html_show_search_summary = False  # a page opened from a folder may not fetch others
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
