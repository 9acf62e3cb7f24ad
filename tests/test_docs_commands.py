"""Commands in the documentation exist, and their options are those that the programs take."""

import re
import shlex
from argparse import ArgumentParser
from functools import cache

import pytest
from django.core.management import get_commands, load_command_class

from tools.docs import GENERATED, navigation
from tools.locks import ROOT

BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|\s)(?:\$ )?(?:\S*python )?manage\.py (\w.*)")
ENDS = {"|", ">", "&&", ";", "&", "||"}
PAGES = [
    page
    for page in navigation().pages()
    if page.endswith(".md") and page not in GENERATED and "/adr/" not in page
]


def commands_of(text: str) -> list[list[str]]:
    """Return the arguments of each `manage.py` command in a page's console blocks."""
    found = []
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            for match in COMMAND.finditer(line):
                words = shlex.split(match[1], comments=True)
                stop = next((n for n, word in enumerate(words) if word in ENDS), len(words))
                found.append(words[:stop])
    return found


@cache
def parser_of(name: str) -> ArgumentParser:
    return load_command_class(get_commands()[name], name).create_parser("manage.py", name)


@pytest.mark.medium
def test_every_command_of_the_docs_is_one_that_earnest_takes() -> None:
    commands = [
        (page, words)
        for page in (*PAGES, "README.md")
        for words in commands_of((ROOT / page).read_text("utf-8"))
    ]
    assert len(commands) > 40
    for page, (name, *arguments) in commands:
        assert name in get_commands(), f"{page}: {name}"
        if "--help" in arguments:
            continue
        try:
            parser_of(name).parse_args(arguments)
        except Exception as error:
            pytest.fail(f"{page}: {name} {' '.join(arguments)}: {error}")


def test_a_command_with_a_wrong_option_is_found() -> None:
    (words,) = commands_of(
        "```console\n.venv/bin/python manage.py list_presets --nonsense  # no\n```\n"
    )
    assert words == ["list_presets", "--nonsense"]
    with pytest.raises(Exception, match="nonsense"):
        parser_of(words[0]).parse_args(words[1:])
