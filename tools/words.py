"""Print how plain the words are that people read: python -m tools.words [--list AREA].

A mirror, not a gate. For each area it counts words, long sentences, words that the style guide
replaces, headless clauses ("what is …", "who has …") and passive verbs; --list prints sentences.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.locks import ROOT
from tools.size import AVOIDED_PHRASES

# Words of the style guide's left column that are plain enough in code, beside those of size.py.
REPLACED = re.compile(
    rf"{AVOIDED_PHRASES.pattern}|\bhalls?\b|\bthe doors? of\b|\btold\b|\bwho listen(?:s|ed)?\b"
    r"|\bwhoever\b|\blet nobody in\b|\bwas left out\b|\bin full\b|\bbefore you rely\b"
    r"|\bhowever often one looks\b|\bbeside\b|\basked (?:twice|a second time)\b|\bis owed\b"
    r"|\bis whole\b|\bceiling of people\b|\blog-in\b|\bspoil(?:ing|ed)?\b|\bgoes by\b"
    r"|\bon purpose\b|\bit alone\b|\bover runs\b|\bagree well\b",
    re.IGNORECASE,
)
HEADLESS = re.compile(r"\b(?:what|who) (?:is|are|was|were|has|have|had|does)\b", re.IGNORECASE)
PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being) (?:not |never |already |only )?"
    r"(?:\w{2,}ed|given|taken|shown|known|heard|made|found|kept|held|left|sent|read|written|chosen"
    r"|told|asked|drawn|seen|said|put|cut|paid)\b",
    re.IGNORECASE,
)
PROPER_ENDS = re.compile(r"(?<=[.!?…])[\"”’)]*\s+(?=[“\"(]?[A-Z{0-9])|\n\s*\n")
WORD = re.compile(r"[A-Za-zÀ-ÿ][\w’'-]*")

FEWEST_WORDS = 3  # what is shorter is a label or a key
LONGEST = {"docs": 30}  # words of a sentence; on pages 25
LONGEST_ON_PAGES = 25


def texts_of(area: str) -> Iterator[tuple[str, str]]:
    """Return file and text of everything in an area that a person reads."""
    for path in AREAS[area]():
        name = str(path.relative_to(ROOT))
        content = path.read_text("utf-8")
        if path.suffix == ".py":
            texts = _python_texts(content, helps=area == "commands")
        elif path.suffix == ".js":
            texts = _script_texts(content)
        elif path.suffix == ".html":
            texts = _template_texts(content)
        else:
            texts = _prose(content)
        for text in texts:
            if len(WORD.findall(text)) >= FEWEST_WORDS:
                yield name, " ".join(text.split())


def _files(*patterns: str) -> list[Path]:
    paths = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(path for path in paths if "migrations" not in path.parts)


COMMANDS = ("*/management/commands/*.py", "earnest/*.py", "config/run/command*.py")
AREAS = {
    "templates": lambda: _files("templates/**/*.html", "analysis/**/*.html"),
    "scripts": lambda: _files("static/js/**/*.js"),
    "commands": lambda: _files(*COMMANDS),
    "reports": lambda: _files("analysis/report/**/*.py"),
    "messages": lambda: sorted(
        set(_files(*(f"{app}/**/*.py" for app in ("listening", "metrics", "rest", "config"))))
        | set(_files("analysis/web/*.py", "analysis/ratings/*.py")) - set(_files(*COMMANDS))
    ),
    "docs": lambda: _files("README.md", "docs/*.md", "CHANGELOG.md"),
}


def _python_texts(content: str, *, helps: bool) -> Iterator[str]:
    """Return the sentences in a module's strings, without docstrings; of commands the help too."""
    tree = ast.parse(content)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if (id(node) in docstrings and not helps) or id(node) in inside:
            continue
        if _is_sentence(text):
            yield text


def _is_sentence(text: str) -> bool:
    """Return whether a string is words for people, and no SQL, address, pattern or key."""
    if re.search(
        r"[\\^$|]|::|</|==|[\w)]\{[\w-]+:|\bSELECT\b|\bFROM\b|\bWHERE\b|\bCREATE\b|\bUPDATE\b", text
    ):
        return False
    return text.count(" ") + 1 >= FEWEST_WORDS and len(WORD.findall(text)) >= FEWEST_WORDS


def _script_texts(content: str) -> Iterator[str]:
    code = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", content, flags=re.DOTALL)
    for match in re.finditer(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', code):
        text = re.sub(r"\$\{[^}]*\}", "{}", match[1] or match[2] or "")
        if _is_sentence(text):
            yield text


def _template_texts(content: str) -> Iterator[str]:
    content = re.sub(r"{#.*?#}|{% comment.*?endcomment %}", "", content, flags=re.DOTALL)
    content = re.sub(r"<(script|style|svg)\b.*?</\1>", "", content, flags=re.DOTALL)
    for match in re.finditer(r"{% (?:translate|trans) [\"'](.*?)[\"'](?: |%)", content):
        yield match[1]
    content = re.sub(r"{% (?:translate|trans) .*?%}", " ", content, flags=re.DOTALL)
    for attribute in re.finditer(r'\b(?:title|aria-label|placeholder)="([^"{]+)"', content):
        yield attribute[1]
    content = re.sub(r"{{.*?}}", "{}", content)
    block = r"</?(?:p|li|h\d|td|th|dt|dd|div|label|button|summary|option|section|legend)\b[^>]*>"
    for text in re.split(rf"{block}|{{%[^%]*%}}", content):
        yield re.sub(r"<[^>]+>", "", text)


def _prose(content: str) -> Iterator[str]:
    content = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", content, flags=re.DOTALL | re.MULTILINE)
    content = re.sub(r"`[^`]*`", "code", content)
    content = re.sub(r"\]\([^)]*\)", "]", content)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.|\||#)\s)", content):
        if block.lstrip().startswith("|"):
            yield from (cell for cell in block.split("|"))
        else:
            yield re.sub(r"[*_#>\[\]]", "", block)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [each.strip() for each in PROPER_ENDS.split(text) if each and each.strip()]


def findings(area: str, texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Return kind, file and sentence of everything that the style guide would say otherwise."""
    longest = LONGEST.get(area, LONGEST_ON_PAGES)
    for name, text in texts:
        for sentence in sentences(text):
            if len(WORD.findall(sentence)) > longest:
                yield "long", name, sentence
            for kind, pattern in (
                ("replaced", REPLACED),
                ("headless", HEADLESS),
                ("passive", PASSIVE),
            ):
                for _ in pattern.finditer(sentence):
                    yield kind, name, sentence


KINDS = ("long", "replaced", "headless", "passive")


def main() -> None:
    parser = argparse.ArgumentParser(description="Print how plain the words are that people read.")
    parser.add_argument("--list", choices=sorted(AREAS), help="print the sentences of an area")
    listed = parser.parse_args().list
    if listed:
        for kind, name, sentence in findings(listed, texts_of(listed)):
            print(f"{kind}: {name}: {sentence}")
        return
    print(f"{'area':<12}{'words':>9}" + "".join(f"{kind:>10}" for kind in KINDS))
    totals = dict.fromkeys(("words", *KINDS), 0)
    for area in AREAS:
        counts = dict.fromkeys(KINDS, 0)
        texts = list(texts_of(area))
        words = sum(len(WORD.findall(text)) for _, text in texts)
        for kind, _, _ in findings(area, texts):
            counts[kind] += 1
        print(f"{area:<12}{words:>9,}" + "".join(f"{count:>10,}" for count in counts.values()))
        totals["words"] += words
        for kind, count in counts.items():
            totals[kind] += count
    print(f"{'all':<12}" + f"{totals['words']:>9,}" + "".join(f"{totals[k]:>10,}" for k in KINDS))


if __name__ == "__main__":
    main()
