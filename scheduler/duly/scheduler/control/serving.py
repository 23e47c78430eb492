"""The console as a process: one web server in this process, until SIGTERM or SIGINT lets open requests finish."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

import uvicorn

from duly.common.errors import DulyError
from duly.common.settings import Settings
from duly.common.store import Store
from duly.scheduler.control.app import create_app
from duly.scheduler.control.patience import Impatient
from duly.scheduler.control.security import Access

STORE_TIMEOUT_S = 2.0
"""How long a request waits for Redis before it says that Redis is away."""
STOP_GRACE_S = 5
"""How long open requests may take when it is told to stop; a page that listens for changes would never end."""
_BACKLOG = 128
_MAX_CONNECTIONS = 512


class CannotListen(DulyError):
    """The address cannot be listened on."""

    code = "cannot_listen"


def run(
    settings: Settings,
    host: str,
    port: int,
    environ: Mapping[str, str],
    announce: Callable[[str, int], None],
) -> int:
    """Serve until told to stop; ``announce`` is given the address once connections are accepted.

    ``port`` 0 takes a free one. Raises OpenToAll for an address that others can reach while no token is set,
    CannotListen, InvalidField. Redis need not be there: what needs it answers 503 until it is.
    """
    access = Access.from_environment(host, environ)
    store = Store.connect(settings, socket_timeout_s=STORE_TIMEOUT_S)
    config = uvicorn.Config(
        create_app(store, access=access),
        loop="asyncio",
        http=Impatient,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",  # what strangers send that is no request is no news
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=STOP_GRACE_S,
    )
    with _listening(host, port) as listener:
        bound_host, bound_port = listener.getsockname()[:2]
        announce(bound_host if host == "localhost" else host, bound_port)
        _Server(config).run(sockets=[listener])
    return 0


class _Server(uvicorn.Server):
    """uvicorn's server, which after a clean stop returns instead of ending the process by the signal."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        previous = {each: signal.signal(each, self._stop) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.handle_exit(number, frame)


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens; raises CannotListen."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"cannot listen on {host!r}: it is no address of this machine") from error
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError as error:
            reason = error.strerror or "refused"
            raise CannotListen(f"cannot listen on {host} port {port}: {reason.lower()}") from error
        yield listener
