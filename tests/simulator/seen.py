"""What the history has told of each occurrence so far, in words of its own, and the promises that may be broken."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.simulator.stage import Process

ONE_OWNER = "one proven owner"
ONE_OCCURRENCE = "one occurrence for a tick"
ONE_RECORD = "state and history agree"
UNKNOWN = "unknown is no outcome"
HOLDS_BIND = "holds and budgets bind"
JUSTIFIED = "holds are justified"
APPROVED = "approvals bind"
RECOMPUTED = "decisions recompute"
IN_ORDER = "waits, overlap and lateness bind"
EVIDENCE = "results are kept"
DUTY = "one duty holder"
FENCES = "fencing tokens grow"
IN_HAND = "each job is in one hand"

ACTIVE = {"LEASED", "RUNNING", "RETRY_WAIT"}
TERMINAL = {"SUCCEEDED", "COALESCED", "CANCELLED", "ABANDONED"}


@dataclass(slots=True)
class Seen:
    """One occurrence, as its history tells it."""

    member: str
    state: str = ""
    attempt: int = 0
    counted: bool = False
    """Whether the present lease came with an attempt."""
    lease: str = ""
    owner: str = ""
    fence: int = 0
    kind: str = ""
    task: str = ""
    awaits: bool = False
    approved: bool = False
    unknown: bool = False
    unseen: bool = False
    """A result came from an owner that could not prove its lease, and no reviewer has seen it."""
    not_before_ms: int = 0
    version: int = 0
    settled_by: str = ""
    """`complete`, `commit_by_probe` or `resolve_hold`: whose word made it a success."""
    forgotten: bool = False
    """Its lease was deleted behind everybody's back: two owners are possible, and must show."""
    lost_claims: set[str] = field(default_factory=set)
    """The leases of which the record knows nothing any more."""
    foreign: bool = False
    """Somebody else wrote the key of its lease."""
    completed: set[str] = field(default_factory=set)
    """The leases under which a result was reported."""
    begun: set[str] = field(default_factory=set)
    """The owners that were told to begin."""
    acting: dict[str, Process] = field(default_factory=dict)

    @property
    def schedule_id(self) -> str:
        return self.member.rpartition("@")[0]

    @property
    def tick_ms(self) -> int:
        return int(self.member.rpartition("@")[2])

    @property
    def made(self) -> int:
        """Attempts before the one that the present lease is for."""
        return self.attempt - (1 if self.state == "LEASED" and self.counted else 0)

    def back_to(self, record: dict[str, str]) -> None:
        """A failover has forgotten all that was written since the record was like this."""
        self.lost_claims.add(self.lease)
        late = sum(name.startswith("late_result:") for name in record)
        self.unseen = late > int(record.get("late_results_seen") or 0)
        if not late:
            self.completed.clear()
        self.state, self.attempt, self.forgotten = record["state"], int(record["attempt"]), True
        self.unknown = record["prior_outcome"] == "UNKNOWN"
        self.not_before_ms = int(record.get("not_before_ms") or 0)
        self.version = int(record.get("version") or 0)
        self.lease, self.owner = record.get("lease_id", ""), record.get("lease_owner", "")


class Everything:
    """All occurrences of a run, by name and by schedule."""

    def __init__(self) -> None:
        self.of: dict[str, Seen] = {}
        self.of_schedule: dict[str, list[Seen]] = {}

    def known(self, member: str) -> Seen:
        seen = self.of.get(member)
        if seen is None:
            seen = self.of[member] = Seen(member)
            self.of_schedule.setdefault(seen.schedule_id, []).append(seen)
        return seen

    def others(self, seen: Seen, states: set[str]) -> list[Seen]:
        """Other occurrences of the same schedule in one of the states."""
        return [each for each in self.of_schedule[seen.schedule_id] if each is not seen and each.state in states]

    def busy(self, seen: Seen, tick_ms: int | None = None) -> list[Seen]:
        """Those that run, and earlier ones that are between two attempts: with overlap forbidden, it waits.

        ``tick_ms``: what a later tick of its schedule, which is no occurrence yet, would wait for besides it.
        """
        before_ms = seen.tick_ms if tick_ms is None else tick_ms
        between = [each for each in self.others(seen, {"PENDING"}) if each.attempt and each.tick_ms < before_ms]
        return self.others(seen, ACTIVE) + between
