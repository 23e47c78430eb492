"""Everything the simulator knows of how the store keeps its records: the one module to change with the store.

It depends on: the names in `Keys`, the fields of the schedule's and the occurrence's hash read here by name, the
order of a script's arguments (as its header states them), the first word of its reply, and the RQ job's data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from redis.client import NEVER_DECODE
from rq.defaults import RQ_KEY_PREFIX

from duly.common.identity import Occurrence
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.evidence import RecordedDecision, decisions_of
from duly.common.records.trail import EVENT_LINE, RUN_LINE, fields_of
from duly.common.store import carry, script_source, scripts
from duly.common.store.keys import RQ_JOB_STEM, RQ_QUEUE_STEM, Keys
from tests.simulator.fast_fake import FastFake

QUEUE = "default"
QUEUE_KEY = f"{RQ_QUEUE_STEM}{QUEUE}"
IN_BETWEEN_KEY = f"{QUEUE_KEY}:intermediate"
WIP_KEY = f"{RQ_KEY_PREFIX}:wip:{QUEUE}"


@lru_cache(maxsize=4096)
def read_definition(text: str) -> ScheduleDefinition:
    """A definition as the store keeps it."""
    return ScheduleDefinition.from_json(text)


@dataclass(frozen=True, slots=True)
class Call:
    """A script call as the server saw it: the script, its named arguments, and the reply."""

    script: str
    arguments: dict[str, str]
    reply: Any
    rest: tuple[str, ...] = ()
    """What the script takes more of, and has one name for."""

    @property
    def word(self) -> str:
        return str(self.reply[0]) if isinstance(self.reply, list) and self.reply else ""


_loaded: dict[str, str] = {}


def _sha_on(client: FastFake, text: str) -> str:
    """The script's name on the one server, which keeps it from run to run."""
    if text not in _loaded:
        _loaded[text] = client.straight("SCRIPT LOAD", text)
    return _loaded[text]


class Row(Mapping[str, str]):
    """A hash as it stands: read from it at once, or copy it."""

    __slots__ = ("_fields",)

    def __init__(self, fields: dict[bytes, bytes]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> str:
        return self._fields[name.encode()].decode()

    def __iter__(self) -> Iterator[str]:
        return (name.decode() for name in self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class Records:
    """Reads the store's records, past every gate."""

    def __init__(self, client: FastFake) -> None:
        self._client, self.keys = client, Keys()
        self._values = client.values()
        self._scripts: dict[str, script_source.ScriptSource] = {}
        self._seen: dict[str, Any] = {}
        stems = self.keys.stems()
        self._lease_stem, self._occurrence_stem = stems["LEASE"], stems["OCCURRENCE"]
        self._before_claim: dict[tuple[str, str], dict[str, str]] = {}

    def load_scripts(self) -> None:
        """Give the server all scripts, so that no run is the one that pays for it, or waits for it."""
        for name in script_source.script_names():
            source = scripts.source(name)
            self._scripts[_sha_on(self._client, source.text)] = source

    def script_of(self, command: tuple[Any, ...]) -> str | None:
        """The script that a command calls; None for any other command."""
        source = self._scripts.get(str(command[1])) if command[0] == "EVALSHA" else None
        return source.name if source else None

    def call_of(self, command: tuple[Any, ...], reply: Any) -> Call | None:
        """The script call that a command is; None for any other command."""
        source = self._scripts.get(str(command[1])) if command[0] == "EVALSHA" else None
        if source is None:
            return None
        first = 3 + len(source.keys) + len(script_source.LIMITS)
        end = first + len(source.arguments)
        values, rest = map(str, command[first:end]), tuple(map(str, command[end:])) if source.rest else ()
        return Call(source.name, dict(zip(source.arguments, values, strict=True)), reply, rest)

    def parts_of(self, command: tuple[Any, ...], reply: Any) -> tuple[Call, ...]:
        """The same, and a turn as the calls that it stands for: the report of a success, then a claim or a refusal.

        A turn that stands for none of them is itself. Without a reply what it would claim is not known.
        """
        call = self.call_of(command, reply)
        if call is None or call.script != "turn":
            return (call,) if call else ()
        return (*_report(call), *_claim(call)) or (call,)

    # Hashes, sets and streams.
    def hash_of(self, key: str) -> dict[str, str]:
        found: dict[bytes, bytes] | None = self._client.peek(key)
        return {name.decode(): value.decode() for name, value in found.items()} if found else {}

    def schedule(self, schedule_id: str) -> dict[str, str]:
        return self.hash_of(self.keys.schedule(schedule_id))

    def occurrence(self, member: str) -> Row:
        return Row(self._client.peek(f"{self._occurrence_stem}{member}") or {})

    def decisions(self, member: str, *, last: bool = False) -> tuple[RecordedDecision, ...]:
        """What was decided of an occurrence, the oldest first; or only the last of it."""
        fields = self.occurrence(member)
        if last and fields.get("decisions"):
            only = {"decisions": "1", "decision:1": fields.get(f"decision:{fields['decisions']}", "")}
            return decisions_of(Occurrence.parse(member), only)
        return decisions_of(Occurrence.parse(member), fields)

    def lease(self, member: str) -> str | None:
        token: bytes | None = self._client.peek(f"{self._lease_stem}{member}")
        return token.decode() if token else None

    def duty(self) -> str | None:
        token: bytes | None = self._client.peek(self.keys.duty)
        return token.decode() if token else None

    def index(self, which: str, schedule_id: str) -> set[str]:
        return set(self._client.straight("ZRANGE", getattr(self.keys, which)(schedule_id), 0, -1))

    def due_ms(self, schedule_id: str) -> float:
        """When the sweep looks at the schedule next."""
        due = self._client.straight("ZSCORE", self.keys.due, schedule_id)
        return float("inf") if due is None else float(due)

    def members(self, key: str) -> dict[str, float]:
        """A sorted set of the fleet's, with scores."""
        return dict(self._client.straight("ZRANGE", key, 0, -1, "WITHSCORES", withscores=True))

    def all_keys(self) -> list[str]:
        return sorted(key.decode() for key in list(self._values) if self._client.peek(key.decode()) is not None)

    def ttl_ms(self, key: str) -> int:
        return int(self._client.straight("PTTL", key))

    def kind(self, key: str) -> str:
        return str(self._client.straight("TYPE", key))

    def new_runs(self) -> list[dict[str, str]]:
        """Run history since this was asked before, oldest first."""
        return self._since(self.keys.fleet_runs, RUN_LINE)

    def new_events(self, schedule_id: str) -> list[dict[str, str]]:
        """Enqueue events since this was asked before, oldest first."""
        return self._since(self.keys.events(schedule_id), EVENT_LINE)

    def _since(self, key: str, names: tuple[str, ...]) -> list[dict[str, str]]:
        entries, self._seen[key] = self._client.stream_after(key, self._seen.get(key))
        return [dict(fields_of(entry, names)) for entry in entries]

    # RQ.
    def queue_length(self) -> int:
        item = self._values.get(QUEUE_KEY.encode())
        return len(item.value) if item else 0

    def queued(self) -> list[str]:
        jobs: list[str] = self._client.straight("LRANGE", QUEUE_KEY, 0, -1)
        return jobs

    def job_call(self, job_id: str) -> tuple[str, int, int] | None:
        """Schedule, tick and attempt that the job names; None when its hash is gone."""
        data = self._client.straight("HGET", f"{RQ_JOB_STEM}{job_id}", "data", **{NEVER_DECODE: []})
        if data is None:
            return None
        schedule_id, tick_ms, attempt = json.loads(data)[2]
        return schedule_id, int(tick_ms), int(attempt)

    def drop_job(self, job_id: str, *, entry: bool) -> None:
        """RQ forgets: the job's hash, or the entries of its id in the queue."""
        if entry:
            self._client.straight("LREM", QUEUE_KEY, 0, job_id)
        else:
            self._client.straight("DEL", f"{RQ_JOB_STEM}{job_id}")

    def push_again(self, job_id: str) -> None:
        self._client.straight("RPUSH", QUEUE_KEY, job_id)

    def rewrite_job(self, job_id: str) -> None:
        """RQ writes the job anew, as its own tools do: what it says is the same."""
        call = self.job_call(job_id)
        if call:
            data = json.dumps(["duly.worker.entry.attempt_occurrence", None, call, {}])
            self._client.straight("HSET", f"{RQ_JOB_STEM}{job_id}", "data", data)

    def is_ours(self, job_id: str) -> bool:
        """Whether the job is written as the store writes it."""
        data = self._job(job_id).get("data", "")
        return data != "" and data == json.dumps(json.loads(data), separators=(",", ":"))

    def job_status(self, job_id: str) -> str | None:
        """None when RQ has no such job any more."""
        return self._job(job_id).get("status")

    def _job(self, job_id: str) -> Row:
        return Row(self._client.peek(f"{RQ_JOB_STEM}{job_id}") or {})

    def in_between(self, job_id: str) -> int:
        """How often the job is out of its queue, and in nobody's hand yet."""
        jobs: list[bytes] = self._client.peek(IN_BETWEEN_KEY) or []
        return jobs.count(job_id.encode())

    def wip(self) -> set[str]:
        """The executions that RQ takes for running."""
        item = self._client.peek(WIP_KEY)
        return {member.decode() for member in item.scores} if item else set()

    def execution(self, named: str, worker: str) -> set[str]:
        """Where RQ keeps an execution: among all that run, among the worker's, and what it knows of it."""
        found = {"wip"} if named in self.wip() else set()
        if named.encode() in (self._client.peek(f"{RQ_KEY_PREFIX}:worker:{worker}:executions") or {}):
            found.add("worker")
        return found | ({"itself"} if self._client.peek(f"{RQ_KEY_PREFIX}:execution:{named}") else set())

    def has_job(self, job_id: str) -> bool:
        """Whether RQ has been told of the job."""
        return self._client.peek(f"{RQ_JOB_STEM}{job_id}") is not None

    # What a failover does, and what others do to the fleet's keys.
    def forget_lease(self, member: str) -> None:
        """An acknowledged write is lost: the sweep finds the lease gone while its owner works on."""
        self._client.straight("DEL", f"{self._lease_stem}{member}")
        self._client.straight("ZADD", self.keys.watch, 0, member)

    def remember_before(self, command: tuple[Any, ...]) -> None:
        """Before a claim: keep the record as it is, so that a failover may bring it back."""
        call = self.call_of(command, None)
        if call is None or call.script not in {"acquire", "turn"}:
            return
        if call.script == "acquire":
            members = [f"{call.arguments['schedule_id']}@{call.arguments['tick_ms']}"]
        else:
            named = [call.arguments["given"]] if call.arguments["given"] else self.queued()[:3]
            members = ["{}@{}".format(*found) for each in named if (found := self.job_call(each))]
        for member in members:  # asked again it would be what the first time has made of it
            self._before_claim.setdefault((call.arguments["token"], member), dict(self.occurrence(member)))

    def forget_claim(self, member: str, *, fence: bool) -> dict[str, str] | None:
        """All writes about the present claim are lost, its fencing token too: the record as it is again, or None."""
        record, schedule_id = self.occurrence(member), member.rpartition("@")[0]
        before = self._before_claim.get((record.get("lease_id", ""), member))
        if before is None or record["state"] not in {"LEASED", "RUNNING"}:
            return None
        tick, key = member.rpartition("@")[2], f"{self._occurrence_stem}{member}"
        self._client.straight("DEL", f"{self._lease_stem}{member}", key)
        self._client.straight("HSET", key, *(part for pair in before.items() for part in pair))
        self._client.straight("ZREM", self.keys.active(schedule_id), tick)
        self._client.straight("ZADD", self.keys.pending(schedule_id), tick, tick)
        if before["attempt"] != "0":
            self._client.straight("ZADD", self.keys.retrying(schedule_id), tick, tick)
        self._client.straight("ZADD", self.keys.watch, 0, member)
        counter = str(self._client.straight("GET", self.keys.fence))
        if fence and counter == record["fencing_token"]:  # nobody was given a token since
            self._client.straight("SET", self.keys.fence, int(counter) - 1)
        return before

    def last_fencing_token(self) -> int:
        return int(self._client.straight("GET", self.keys.fence))

    def set_foreign_lease(self, member: str, ms: int) -> None:
        """Somebody else writes the lease's key, whoever has it."""
        self._client.straight("SET", f"{self._lease_stem}{member}", "somebody else", "PX", ms)


def _report(turn: Call) -> tuple[Call, ...]:
    given = turn.arguments
    if not given["last_token"]:
        return ()
    names = ("schedule_id", "tick_ms", "fencing_token", "result_ref", "expires_ms")
    arguments = {**{name: given[name] for name in names}, "token": given["last_token"], "owner": given["last_owner"]}
    return (Call("complete", arguments, [turn.reply[1]] if turn.reply else None),)


def _claim(turn: Call) -> tuple[Call, ...]:
    if turn.word not in {"taken", "refused"}:
        return ()
    _, _, _, _, schedule_id, tick_ms, attempt = turn.reply[:7]
    of = {"schedule_id": schedule_id, "tick_ms": tick_ms}
    if turn.word == "refused":
        return (Call("refuse", {**of, "reason": "task_not_registered"}, ["refused"]),)
    claimer = {"token": turn.arguments["token"], "owner": turn.arguments["owner"], "attempt": attempt}
    return (Call("acquire", {**of, **claimer}, turn.reply[7]),)


def asked_for(live: dict[str, str]) -> set[int]:
    """Ticks that a schedule carries because somebody wants them to run after all."""
    return {each.until_ms for each in carry.load(live.get("carry", "")) if each.asked_for}


def drop_to_come(live: dict[str, str]) -> tuple[int, int] | None:
    """First and last tick of a drop that is decided, and recorded with the last part of its backlog."""
    _, count, first, last = (live.get("backlog") or "0 0  ").split(" ")
    return (int(first), int(last)) if int(count) else None
