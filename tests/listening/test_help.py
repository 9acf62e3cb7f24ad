"""The documentation as pages of the site: order, links, anchors, images; nothing outside docs/."""

import re
from urllib.parse import urlsplit

import pytest

from listening.web.researcher.help import help_parts, rendered_page
from tools.docs import navigation

PAGES = [page.name for _, pages in help_parts() for page in pages]


def test_pages_are_those_of_the_navigation():
    named = [page for page in navigation().pages() if re.fullmatch(r"docs/[\w-]+\.md", page)]
    assert [f"docs/{name}.md" for name in PAGES] == [
        page for page in named if not page.endswith("-reference.md")
    ]


@pytest.mark.medium
def test_every_link_within_the_help_leads_to_a_heading():
    pages = {name: rendered_page(name)[1] for name in PAGES}
    broken = [
        (name, link)
        for name, html in pages.items()
        for link in re.findall(r'<a href="(?!http|mailto)([^"]+)"', html)
        if not _leads_somewhere(link, name, pages)
    ]
    assert broken == []


def _leads_somewhere(link: str, name: str, pages: dict[str, str]) -> bool:
    address, _, anchor = link.partition("#")
    target = pages[address.rstrip("/").rpartition("/")[2]] if address else pages[name]
    return not anchor or f'id="{anchor}"' in target


@pytest.mark.django_db
@pytest.mark.medium
def test_pages_and_images_are_served_to_those_who_are_logged_in(admin_client, client):
    assert "Run a MOS test" in admin_client.get("/help/").content.decode()
    page = admin_client.get("/help/tutorial/").content.decode()
    image = re.search(r'src="(/help/images/[^"]+)"', page)
    assert "<h2 id=" in page
    assert image is not None
    assert admin_client.get(image[1]).headers["Content-Type"] == "image/webp"
    assert admin_client.get("/help/architecture-of-nothing/").status_code == 404
    assert admin_client.get("/help/images/..%2Fconf.py").status_code == 404
    assert client.get("/help/").status_code == 302


def test_pages_are_there_as_markdown_for_whoever_asks(client):
    listed = client.get("/llms.txt").content.decode()
    addresses = re.findall(r"\]\((\S+)\)", listed)
    assert len(addresses) == len(PAGES)
    for address in addresses:
        page = client.get(urlsplit(address).path)
        assert page["Content-Type"].startswith("text/markdown")
        assert page.content.decode().startswith("# ")
    assert client.get("/help/architecture-of-nothing.md").status_code == 404
