"""Stands between Playwright and a Firefox that is older than Playwright expects.

Run in place of Firefox, with its arguments. All messages of WebDriver BiDi pass. Only where Firefox
does not know a command that changes looks alone does the bridge answer that it is done: Playwright
sends it for each new page, whether a test asks for it or not.

The bridge also asks Firefox now and then whether its pages still run scripts. One that gives no
answer for long has hung: the bridge says so, leaves a file that tests look for, and ends it, so
that nobody waits for it any longer.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve

LOOKS = {"emulation.setMediaFeaturesOverride"}
LISTENS = re.compile(r"(WebDriver BiDi listening on )(ws://\S+)")
BEAT_S = 15.0  # between two questions
HUNG_S = 90.0  # without an answer; a machine under load takes a fraction of it
OWN_IDS = 10**12  # of commands: Playwright counts from 1
NO_LIMITS: dict[str, Any] = {"max_size": None, "ping_interval": None}


class Bridge:
    """Takes Playwright's connections and opens one to Firefox for each."""

    def __init__(
        self, hung: Callable[[], None], *, beat_s: float = BEAT_S, hung_s: float = HUNG_S
    ) -> None:
        """`hung` is called once Firefox has not answered for `hung_s`."""
        self.firefox_url = ""
        self.hung, self.beat_s, self.hung_s = hung, beat_s, hung_s
        self.own: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def join(self, playwright: ServerConnection) -> None:
        assert playwright.request is not None
        async with connect(self.firefox_url + playwright.request.path, **NO_LIMITS) as firefox:
            asked: set[int] = set()
            answers = asyncio.create_task(self.answer(firefox, playwright, asked))
            beats = asyncio.create_task(self.beat(firefox))
            async for message in playwright:
                sent = json.loads(message)
                if sent.get("method") in LOOKS:
                    asked.add(sent["id"])
                await firefox.send(message)
            answers.cancel()
            beats.cancel()

    async def beat(self, firefox: ClientConnection) -> None:
        """Asks whether the newest page runs scripts, until there is no answer."""
        while True:
            await asyncio.sleep(self.beat_s)
            try:
                tree = await self.ask(firefox, "browsingContext.getTree", {"maxDepth": 0})
                for page in tree.get("result", {}).get("contexts", [])[-1:]:
                    target = {"context": page["context"], "sandbox": "beat"}
                    one = {"expression": "1", "target": target, "awaitPromise": False}
                    await self.ask(firefox, "script.evaluate", one)
            except TimeoutError:
                return self.hung()

    async def ask(
        self, firefox: ClientConnection, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """Firefox's answer to a command of our own, an error among them; TimeoutError without."""
        number = OWN_IDS + len(self.own)
        self.own[number] = asyncio.get_running_loop().create_future()
        await firefox.send(json.dumps({"id": number, "method": method, "params": params}))
        return await asyncio.wait_for(self.own[number], self.hung_s)

    async def answer(
        self, firefox: ClientConnection, playwright: ServerConnection, asked: set[int]
    ) -> None:
        async for message in firefox:
            told = json.loads(message) if asked or self.own else {}
            if told.get("id") in self.own:
                future = self.own[told["id"]]
                if not future.done():
                    future.set_result(told)
                continue
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

    def hung() -> None:
        sys.stderr.write("Firefox stopped answering: its ping timed out\n")
        Path(os.environ["FIREFOX_HUNG"]).touch()
        firefox.kill()

    bridge = Bridge(hung)
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
