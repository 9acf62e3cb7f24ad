"""Stands between Playwright and a Firefox that is older than Playwright expects.

Run in place of Firefox, with its arguments. All messages of WebDriver BiDi pass. Only where Firefox
does not know a command that changes looks alone does the bridge answer that it is done: Playwright
sends it for each new page, whether a test asks for it or not.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve

LOOKS = {"emulation.setMediaFeaturesOverride"}
LISTENS = re.compile(r"(WebDriver BiDi listening on )(ws://\S+)")
NO_LIMITS: dict[str, Any] = {"max_size": None, "ping_interval": None}


class Bridge:
    """Takes Playwright's connections and opens one to Firefox for each."""

    def __init__(self) -> None:
        self.firefox_url = ""

    async def join(self, playwright: ServerConnection) -> None:
        assert playwright.request is not None
        async with connect(self.firefox_url + playwright.request.path, **NO_LIMITS) as firefox:
            asked: set[int] = set()
            answers = asyncio.create_task(self.answer(firefox, playwright, asked))
            async for message in playwright:
                sent = json.loads(message)
                if sent.get("method") in LOOKS:
                    asked.add(sent["id"])
                await firefox.send(message)
            answers.cancel()

    async def answer(
        self, firefox: ClientConnection, playwright: ServerConnection, asked: set[int]
    ) -> None:
        async for message in firefox:
            told = json.loads(message) if asked else {}
            if told.get("id") in asked:
                asked.discard(told["id"])
                if told.get("error") == "unknown command":
                    done = {"type": "success", "id": told["id"], "result": {}}
                    await playwright.send(json.dumps(done))
                    continue
            await playwright.send(message)
        await playwright.close()


async def main(arguments: list[str]) -> int:
    firefox = await asyncio.create_subprocess_exec(
        os.environ["FIREFOX"], *arguments, stderr=asyncio.subprocess.PIPE
    )
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, firefox.terminate)
    bridge = Bridge()
    async with serve(bridge.join, "127.0.0.1", 0, **NO_LIMITS) as server:
        own_url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert firefox.stderr is not None
        async for line in firefox.stderr:
            text = line.decode(errors="replace")
            if found := LISTENS.search(text):
                bridge.firefox_url = found[2]
                text = f"{found[1]}{own_url}\n"  # Playwright reads where to connect
            sys.stderr.write(text)
            sys.stderr.flush()
        return await firefox.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
