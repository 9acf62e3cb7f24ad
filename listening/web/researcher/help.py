"""The documentation as pages of the site: the Markdown of docs/, in the order of its navigation."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from listening.checks import Check
from listening.common.addresses import public_route
from listening.common.plugins import origin_of, plugin_keys, purpose_of
from listening.common.views import logged_in_get
from listening.methods import Method

if TYPE_CHECKING:
    from markdown_it.token import Token

DOCS = Path(settings.BASE_DIR) / "docs"
IMAGES = DOCS / "images"
METHODS = "methods"  # the page of methods and checks
TYPES = {".png": "image/png", ".webp": "image/webp"}
ABOUT = "Crowdsourced listening tests of speech: studies, raters, metrics and statistics."
PAGE_LINK = re.compile(r"([\w-]+)\.md(#.*)?")
NOT_IN_A_SLUG = re.compile(r"[^\w\- ]")


@dataclass(frozen=True)
class HelpPage:
    """A page of docs/: the name of its file without `.md`, and its first heading."""

    name: str
    title: str


@logged_in_get
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "researcher/help.html", {"parts": help_parts()})


@logged_in_get
def page(request: HttpRequest, name: str) -> HttpResponse:
    if name not in _names():
        raise Http404(f"The documentation has no page “{name}”.")
    title, html = rendered_page(name)
    return render(request, "researcher/help_page.html", {"title": title, "html": html})


@require_GET
def markdown(request: HttpRequest, name: str) -> HttpResponse:
    """Return a page as it is written, for whoever asks: language models do not log in."""
    if name not in _names():
        raise Http404(f"The documentation has no page “{name}”.")
    return HttpResponse(page_text(name), content_type="text/markdown; charset=utf-8")


@require_GET
def llms(request: HttpRequest) -> HttpResponse:
    """Return the list of all pages, after llmstxt.org."""
    parts = [
        (title, [(each.title, public_route("help-markdown", each.name)) for each in pages])
        for title, pages in help_parts()
    ]
    return HttpResponse(llms_text(parts), content_type="text/plain; charset=utf-8")


def llms_text(parts: Iterable[tuple[str, Sequence[tuple[str, str]]]]) -> str:
    """Return llms.txt of parts, each with the titles and addresses of its pages."""
    sections = [
        f"## {title}\n\n" + "\n".join(f"- [{name}]({address})" for name, address in pages)
        for title, pages in parts
        if pages
    ]
    return "\n\n".join([f"# Earnest\n\n> {ABOUT}", *sections]) + "\n"


@logged_in_get
@cache_control(private=True, max_age=3600)
def image(request: HttpRequest, name: str) -> HttpResponse:
    if name not in {path.name for path in IMAGES.iterdir() if path.suffix in TYPES}:
        raise Http404(f"The documentation has no image “{name}”.")
    return HttpResponse((IMAGES / name).read_bytes(), content_type=TYPES[Path(name).suffix])


@cache
def help_parts() -> tuple[tuple[str, tuple[HelpPage, ...]], ...]:
    """Return the parts of the documentation, each with its pages.

    Pages outside docs/, in its folders, and those that only `make docs` generates are left out.
    """
    navigation = tomllib.loads((DOCS / "navigation.toml").read_text("utf-8"))
    return tuple((part["title"], tuple(_pages(part["pages"]))) for part in navigation["part"])


def _pages(paths: list[str]) -> Iterator[HelpPage]:
    for path in map(Path, paths):
        file = DOCS / path.name
        if path.parent == Path("docs") and path.suffix == ".md" and file.is_file():
            with file.open(encoding="utf-8") as lines:
                yield HelpPage(path.stem, next(lines).removeprefix("#").strip())


@cache
def _names() -> frozenset[str]:
    return frozenset(each.name for _, pages in help_parts() for each in pages)


def page_text(name: str) -> str:
    """Return the Markdown of a page of docs/; that of methods ends with those of plug-ins."""
    text = (DOCS / f"{name}.md").read_text("utf-8")
    return text + "".join(_plugin_sections()) if name == METHODS else text


def _plugin_sections() -> Iterator[str]:
    """Yield a section of Markdown for each method and check that a plug-in brings."""
    for registry in (Method.registry, Check.registry):
        for key in plugin_keys(registry):
            cls: Any = registry[key]
            standard = f"\n\nStandard: {cls.standard}." if hasattr(cls, "standard") else ""
            yield f"\n## `{key}`: {cls.title}\n\n{purpose_of(cls)}{standard}\n\n"
            yield f"This {registry.what} comes with {origin_of(cls)}.\n"


@cache
def rendered_page(name: str) -> tuple[str, str]:
    """Return the title of a page of docs/ and the HTML of what follows it."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(page_text(name))
    title = tokens[1].content  # of the level 1 heading, which each page begins with
    slugs: dict[str, int] = {}
    for opening, text in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", _slug(text.content, slugs))
        if opening.type == "table_open":  # wide tables scroll within themselves
            opening.attrSet("tabindex", "0")
        if text.type == "inline":
            text.children = list(_linked(text.children or []))
    html = str(parser.renderer.render(tokens[3:], parser.options, {}))
    return title, html.replace("<pre>", '<pre tabindex="0">')  # wide code scrolls, by keys as well


def _slug(heading: str, slugs: dict[str, int]) -> str:
    """Return the anchor of a heading, as GitHub and the documentation's site make it."""
    slug = NOT_IN_A_SLUG.sub("", heading.lower().replace("`", "")).replace(" ", "-")
    slugs[slug] = slugs.get(slug, -1) + 1
    return f"{slug}-{slugs[slug]}" if slugs[slug] else slug


def _linked(tokens: list[Token]) -> Iterator[Token]:
    """Yield the tokens of a paragraph with links to the site's pages; other files lose the link."""
    is_kept = True
    for token in tokens:
        if token.type == "link_open":
            address = _address(str(token.attrGet("href")))
            is_kept = address is not None
            token.attrSet("href", address or "")
        elif token.type == "image":
            token.attrSet("src", reverse("help-image", args=[Path(str(token.attrGet("src"))).name]))
        if is_kept or token.type not in ("link_open", "link_close"):
            yield token
        is_kept = is_kept or token.type == "link_close"


def _address(href: str) -> str | None:
    """Return the address on this site of a link in docs/; None where the site has no such page."""
    if href.startswith(("#", "https:", "http:", "mailto:")):
        return href
    link = PAGE_LINK.fullmatch(href)
    if link is None or link[1] not in _names():
        return None
    return reverse("help-page", args=[link[1]]) + (link[2] or "")
