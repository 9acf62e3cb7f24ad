"""A lean HTTP/1.1 client on asyncio: one connection, one request at a time, little parsing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(slots=True)
class Reply:
    status: int
    head: bytes
    body: bytes

    def header(self, name: bytes) -> bytes | None:
        """The first header with this name (lower case)."""
        return next(iter(self.headers(name)), None)

    def headers(self, name: bytes) -> list[bytes]:
        found = []
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.lower() == name:
                found.append(value.strip())
        return found


class Gone(ConnectionError):
    """The server closed the connection before it answered."""


CHUNKED = -1


def unchunked(data: bytes) -> bytes:
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        body += data[: int(size, 16)]
        data = data[int(size, 16) + 2 :]
    return body


class _Wire(asyncio.Protocol):
    def __init__(self) -> None:
        self.buffer = bytearray()
        self.needed = 0  # bytes of the body, once the head is read
        self.head = b""
        self.waiter: asyncio.Future[Reply] | None = None
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.head:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self.head = bytes(self.buffer[:end])
            del self.buffer[: end + 4]
            self.needed = self._length()
        if self.needed == CHUNKED:
            if not self.buffer.endswith(b"0\r\n\r\n"):
                return
            self._finish(unchunked(bytes(self.buffer)))
        elif len(self.buffer) >= self.needed:
            self._finish(bytes(self.buffer))

    def _finish(self, body: bytes) -> None:
        reply = Reply(int(self.head[9:12]), self.head, body)
        self.buffer.clear()
        self.head = b""
        if self.waiter and not self.waiter.done():
            self.waiter.set_result(reply)

    def _length(self) -> int:
        lower = self.head.lower()
        at = lower.find(b"\r\ncontent-length:")
        if at >= 0:
            return int(lower[at + 17 :].split(b"\r\n", 1)[0])
        return CHUNKED if b"\r\ntransfer-encoding: chunked" in lower else 0

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        if self.waiter and not self.waiter.done():
            self.waiter.set_exception(Gone(str(error or "closed")))


class Browser:
    """One rater's connection, kept alive, opened again when the server has closed it."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.host, self.port = host, port
        self.wire: _Wire | None = None
        self.reconnects = -1

    async def request(
        self, method: str, path: str, headers: str = "", body: bytes | None = None
    ) -> Reply:
        """`headers`: whole lines, each with its line end."""
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n{headers}{length}\r\n"
        wire = self.wire
        if wire is None or wire.lost:
            loop = asyncio.get_running_loop()
            _, wire = await loop.create_connection(_Wire, self.host, self.port)
            self.wire = wire
            self.reconnects += 1
        wire.waiter = asyncio.get_running_loop().create_future()
        wire.transport.write(head.encode() + (body or b""))
        return await wire.waiter

    def close(self) -> None:
        if self.wire and not self.wire.lost:
            self.wire.transport.close()
        self.wire = None
