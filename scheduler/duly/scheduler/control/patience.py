"""How long a connection may take to say what it asks.

uvicorn closes a connection that is quiet after an answer, and lets one that begins a request take for ever: some
hundred of them, each sending a byte now and then, would keep everybody else out.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""From the opening of a connection, or from the answer before, to the end of a request's headers."""


class Impatient(H11Protocol):
    """HTTP/1.1 on one connection, closed when the headers of a request are not there in time."""

    _waits: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop()
        self._waits = self.loop.call_later(HEAD_S, self._lose_patience)

    def _stop(self) -> None:
        if self._waits is not None:
            self._waits.cancel()

    def _lose_patience(self) -> None:
        # A request whose headers came is another matter: its body and its answer have limits of their own.
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
