"""The evidence plane's store: everything durable, in Redis, changed only by atomic scripts.

Model. A *schedule* is a hash; the set `due` says when the sweep must look at it. An *occurrence* is a hash that
authorises attempts; the set `watch` says when the sweep must look at it. The *lease* of an occurrence and the
*duty* are keys set with NX and PX. What happened is appended to streams by the script that made it happen.

Invariants. A script reads the store's clock once, checks before its first write, and changes state, indexes and
history together. Nothing decides on a caller's clock. An occurrence leaves LEASED or RUNNING only under its
token, under its dead owner's name, or after its lease expired.

Failure handling. Connections do not retry. A lost reply is asked again with the same token, or treated as "no".
RQ's keys may vanish at any time: the sweep finds the PENDING occurrence without a job and delivers it again.

Non-goals. Redis Cluster (RQ does not run on it); surviving the loss of acknowledged writes unseen: a failover
that forgets a lease can let two workers believe they own one occurrence, which shows in the fencing tokens.
"""

from __future__ import annotations

from typing import Any

from duly.common.records.line import check_line
from duly.common.settings import Settings
from duly.common.store.attempts import AttemptStore
from duly.common.store.connection import Client, connect
from duly.common.store.fleet import FleetStore
from duly.common.store.holds import HoldStore
from duly.common.store.keys import Keys
from duly.common.store.manual import ManualRuns
from duly.common.store.permissions import Permissions
from duly.common.store.schedules import ScheduleStore
from duly.common.store.scripts import Scripts
from duly.common.store.searching import ScheduleSearch
from duly.common.store.sweeping import SweepStore
from duly.common.store.trails import TrailStore
from duly.common.store.turns import TurnStore

MAX_ACTOR = 200


class Store:
    """All of a fleet's records on one connection. Cheap to build; connects at its first request."""

    def __init__(
        self, client: Client, settings: Settings | None = None, *, shebang: bool = True, actor: str = "python"
    ) -> None:
        """``shebang`` False is for fakeredis, which cannot read a script's first line; ``actor``: see `acting_as`."""
        self.client = client
        self._shebang = shebang
        self.settings = settings or Settings()
        self.keys = Keys(self.settings.prefix)
        scripts = Scripts(client, self.settings, shebang=shebang, actor=check_line("actor", actor, MAX_ACTOR))
        self.schedules = ScheduleStore(client, self.keys, scripts)
        self.search = ScheduleSearch(self.schedules, scripts)
        self.attempts = AttemptStore(client, self.keys, scripts)
        self.turns = TurnStore(scripts)
        self.sweeping = SweepStore(client, scripts)
        self.manual = ManualRuns(client, self.keys, scripts, self.settings)
        self.holds = HoldStore(client, self.keys, scripts)
        self.trails = TrailStore(client, self.keys)
        self.fleet = FleetStore(client, self.keys, scripts)
        self.permissions = Permissions(self.keys, scripts)

    def acting_as(self, actor: str) -> Store:
        """The same store for somebody else: what changes through it is recorded as theirs.

        ``actor`` is one printable line of at most 200 characters, such as ``cli ann@host`` or ``api``. Cheap.
        """
        return Store(self.client, self.settings, shebang=self._shebang, actor=actor)

    @classmethod
    def connect(cls, settings: Settings, **options: Any) -> Store:
        """A store on the Redis that the settings name."""
        return cls(connect(settings.redis_url, **options), settings)
