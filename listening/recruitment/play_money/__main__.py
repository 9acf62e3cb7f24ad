"""Starts the double: `python -m listening.recruitment.play_money --port 0 --data FILE.json`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from listening.recruitment.play_money import people
from listening.recruitment.play_money.server import Server
from listening.recruitment.play_money.state import State


def main(kind: type[Server] = Server) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--data", type=Path, help="everything is kept in this file")
    parser.add_argument("--balance", type=float, default=100_000, help="in minor units")
    parser.add_argument("--currency", default="GBP", choices=("GBP", "USD"))
    parser.add_argument("--participants", type=int, default=0, help="so many at the first start")
    parser.add_argument("--public-url", default="", help="what links to the API begin with")
    parser.add_argument("--completion-base", default="", help="what links to its pages begin with")
    options = parser.parse_args()
    if options.data is not None:
        options.data.parent.mkdir(parents=True, exist_ok=True)
    is_new = options.data is None or not options.data.exists()
    state = State(options.data, balance=options.balance, currency=options.currency)
    if is_new:
        for _ in range(options.participants):
            people.create(state)
    server = kind(state, options.host, options.port)
    url = f"http://{options.host}:{server.server_address[1]}"
    api = (options.public_url or url).rstrip("/")
    state.links.update(api=api, pages=(options.completion_base or api).rstrip("/"))
    state.save()

    def stop(_: int, __: FrameType | None) -> None:
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    print(f"listening on {url}", flush=True)
    server.serve_forever(poll_interval=0.2)
    server.server_close()
    sys.exit(0)


if __name__ == "__main__":
    main()
