"""The MCP server, asked by a real MCP client: by stdio and by HTTP, against a real web process."""

import base64
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx
import pytest

from listening.models import Study
from rest.tokens import READ
from tests.config.helpers import free_port, wait_for
from tests.factories import answer_all, arrive, make_study
from tests.listening.folders import TOML, make_folder
from tests.listening.web import WebProcess
from tests.rest.asking import token_of

pytestmark = pytest.mark.slow
READING = {
    *("list_methods", "list_presets", "get_preset", "get_study_schema", "validate_study"),
    *("plan_study", "list_studies", "get_status", "preview_study", "get_results"),
    *("get_results_file", "opening_page", "read_docs"),
}
COMMAND = [sys.executable, "-m", "earnest", "mcp"]
Call = Callable[..., Awaitable[Any]]


def environment(web: WebProcess, token: str) -> dict[str, str]:
    return {**os.environ, "EARNEST_URL": web.url, "EARNEST_TOKEN": token}


async def asked(client: Any, tool: str, **arguments: Any) -> Any:
    """What a tool answers; its words where it refuses."""
    answer = await client.call_tool(tool, arguments)
    if answer.is_error:
        return answer.content[0].text
    return (answer.structured_content or {}).get("result", answer.structured_content) or answer


def sent(folder: Any) -> dict[str, Any]:
    """A study folder as an agent sends it that shares no disk with the server."""
    clips = [path for path in folder.rglob("*") if path.is_file() and path.suffix in (".wav",)]
    return {
        "study_toml": (folder / "study.toml").read_text(),
        "stimuli_csv": (folder / "stimuli.csv").read_text(),
        "files": {
            path.relative_to(folder).as_posix(): base64.b64encode(path.read_bytes()).decode()
            for path in clips
        },
    }


def test_an_agent_designs_a_draft_looks_at_it_and_opens_nothing(
    web: WebProcess, transactional_db: None, tmp_path: Any
):
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    folder = make_folder(tmp_path / "study")
    wrong = make_folder(tmp_path / "wrong", toml=TOML.replace('method = "mos"', 'method = "mso"'))
    server = StdioServerParameters(
        command=COMMAND[0], args=COMMAND[1:], env=environment(web, token_of())
    )

    async def main() -> None:
        async with Client(stdio_client(server)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == READING | {"create_draft", "run_analysis"}
            assert {n for n, tool in tools.items() if tool.annotations.read_only_hint} == READING
            assert "mos" in {each["key"] for each in await asked(client, "list_methods")}
            assert "mos" in {each["name"] for each in await asked(client, "list_presets")}
            preset = await asked(client, "get_preset", name="mos")
            assert 'method = "mos"' in preset["study_toml"]
            schema = await asked(client, "get_study_schema", table="Task")
            assert "method" in schema["properties"]
            assert "/help/methods.md" in await asked(client, "read_docs")
            assert "## " in await asked(client, "read_docs", page="methods")
            checked = await asked(client, "validate_study", folder=str(wrong))
            assert "Did you mean “mos”?" in str(checked["mistakes"])
            plan = await asked(client, "plan_study", size=0.2, options={"conditions": 6})
            assert plan["plan"]["reached"] <= 0.2
            made = await asked(client, "create_draft", folder=str(folder))
            key = made["study"]["key"]
            assert made["opening_page"] == f"{web.url}/studies/{key}/"
            status = await asked(client, "get_status", key=key)
            assert status["study"]["state"] == "draft"
            picture = (await client.call_tool("preview_study", {"key": key})).content[0]
            assert base64.b64decode(picture.data).startswith(b"\x89PNG")
            assert "No analysis is finished yet" in await asked(client, "get_results", key=key)
            assert "There is no study" in await asked(client, "get_status", key="nothing")

    anyio.run(main)
    assert Study.objects.get().state == Study.State.DRAFT


def test_by_http_each_request_has_the_rights_of_its_token(
    web: WebProcess, transactional_db: None, tmp_path: Any
):
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    study = make_study(key="voices", items=2)
    answer_all(arrive(study))
    folder, port = make_folder(tmp_path / "study"), free_port()
    words = [*COMMAND, "--port", str(port)]
    process = subprocess.Popen(words, env=environment(web, ""))
    address = f"http://127.0.0.1:{port}/mcp"

    def answers() -> bool:
        try:
            return httpx.get(address).status_code >= 400
        except httpx.TransportError:
            return False

    reader, writer, stranger = token_of("researcher", READ), token_of(), token_of("stranger")

    async def main() -> None:
        async def ask(token: str, tool: str, **arguments: Any) -> Any:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with (
                create_mcp_http_client(headers=headers) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                return await asked(client, tool, **arguments)

        assert "Send a token of Earnest" in await ask("", "list_studies")
        assert "Unknown token" in await ask("earnest_guess", "list_studies")
        assert [each["key"] for each in await ask(reader, "list_studies")] == ["voices"]
        assert "There is no study" in await ask(stranger, "get_status", key="voices")
        assert "lacks the scope" in await ask(reader, "create_draft", **sent(folder))
        assert "reads no folders" in await ask(writer, "validate_study", folder="/etc")
        made = await ask(writer, "create_draft", **sent(folder))
        assert made["study"]["state"] == "draft"

    try:
        wait_for(answers)
        anyio.run(main)
    finally:
        process.terminate()
        process.wait()
