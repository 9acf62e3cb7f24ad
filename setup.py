"""What a wheel holds; the rest stands in pyproject.toml.

Templates, static files, words, the demo and the documentation lie beside the code in a clone, and
in a folder of their own in a wheel: config/installation.py finds both.
"""

from setuptools import find_packages, setup

ROOMS = ("config", "listening", "metrics", "analysis", "rest", "earnest")
FILES = ("templates", "static", "locale", "demo", "docs")

setup(
    packages=[
        *find_packages(include=[*ROOMS, *(f"{room}.*" for room in ROOMS)]),
        *(f"earnest_files.{name}" for name in FILES),
    ],
    package_dir={f"earnest_files.{name}": name for name in FILES},
    package_data={
        "": [
            "**/*.bib",
            "**/*.css",
            "**/*.flac",
            "**/*.opus",
            "**/*.html",
            "**/*.pyi",
            "**/*.toml",
            "**/*.yaml",
        ],
        "metrics": ["bundled/*"],
        **{f"earnest_files.{name}": ["**/*"] for name in FILES},
    },
)
