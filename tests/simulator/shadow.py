"""A second opinion on every transition: what the promises allow, said again without the store's scripts.

After each script call the new lines of the run history are replayed on a model of the occurrences. The model knows
what the store cannot: which simulated processes still live, and which effects there have been.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.simulator.internals import Call, Records
from tests.simulator.seen import (
    APPROVED,
    FENCES,
    HOLDS_BIND,
    IN_ORDER,
    ONE_OCCURRENCE,
    ONE_OWNER,
    ONE_RECORD,
    UNKNOWN,
    Everything,
    Seen,
)
from tests.simulator.stage import Stage, Violation
from tests.simulator.verdicts import Verdicts
from tests.simulator.work import Journal

Record = Mapping[str, str]

NO_STATE = {"delivered", "refused", "late_result", "late_failure", "approved"}
NO_CHANGE = {"delivered", "refused", "late_failure"}
OVER = {"SUCCEEDED", "COALESCED", "CANCELLED"}
LEGAL = {
    "enqueued": ({""}, "PENDING"),
    "acquired": ({"PENDING"}, "LEASED"),
    "began": ({"LEASED"}, "RUNNING"),
    "succeeded": ({"RUNNING", "LEASED", "HELD"}, "SUCCEEDED"),
    "failed": ({"RUNNING"}, "RETRY_WAIT"),
    "outcome_unknown": ({"RUNNING"}, "RETRY_WAIT"),
    "held": ({"PENDING", "LEASED", "RUNNING", "RETRY_WAIT", *OVER}, "HELD"),
    "released": ({"LEASED"}, "PENDING"),
    "retry_due": ({"RETRY_WAIT"}, "PENDING"),
    "resolved": ({"HELD"}, "PENDING"),
    "coalesced": ({"PENDING", "LEASED"}, "COALESCED"),
    "cancelled": ({"PENDING", "RETRY_WAIT"}, "CANCELLED"),
    "abandoned": ({"HELD", "PENDING"}, "ABANDONED"),
}


class Shadow:
    """Raises Violation as soon as a promise is broken."""

    def __init__(self, stage: Stage, records: Records, journal: Journal, everything: Everything) -> None:
        self._stage, self._records, self._journal, self._all = stage, records, journal, everything
        self.verdicts = Verdicts(stage, records, journal)
        self._last_fence = 0
        self.backlogs: set[str] = set()
        """Schedules with a backlog that was cut: its later parts were decided with the first."""
        self.asked: set[str] = set()
        """Ticks that somebody asked for: they wait for an earlier one where others are skipped."""
        self._checks: dict[str, Callable[[Seen, Record, Record, Call], None]] = {
            "enqueued": self._enqueued,
            "acquired": self._acquired,
            "began": self._began,
            "succeeded": self._succeeded,
            "failed": self._failed,
            "outcome_unknown": self._outcome_unknown,
            "held": self._held,
            "released": self._released,
            "retry_due": self._waited,
            "resolved": self._resolved,
            "coalesced": self._coalesced,
            "cancelled": self._cancelled,
            "abandoned": self._abandoned,
            "approved": self._approved,
            "late_result": self._late_result,
            "delivered": self._delivered,
        }

    def forget_fence(self) -> None:
        """A failover lost the counter's last step."""
        self._last_fence = self._records.last_fencing_token()

    def after(self, calls: Sequence[Call]) -> None:
        """Check one script call and everything it recorded; ``calls``: what it stands for, in their order."""
        touched: dict[str, tuple[Seen, bool]] = {}
        for event in self._records.new_runs():
            member = f"{event['schedule_id']}@{event['tick_ms']}"
            _, changed = touched.get(member, (None, False))
            call = calls[0] if len(calls) == 1 else _cause(member, event, calls)
            touched[member] = self._replay(member, event, call), changed or event["event"] not in NO_CHANGE
        for seen, changed in touched.values():
            record = self._records.occurrence(seen.member)
            if record.get("state") != seen.state:
                raise Violation(ONE_RECORD, f"{seen.member} is {record.get('state')}, and {seen.state} by its history")
            version = int(record.get("version") or 0)
            if changed and calls[0].script not in {"dispatch", "run_now"} and version <= seen.version:
                raise Violation(ONE_RECORD, f"{seen.member} changed, and is still at version {version}")
            seen.version = version

    def _replay(self, member: str, event: Record, call: Call) -> Seen:
        name, seen = event["event"], self._all.known(member)
        self._stage.say(f"  {member} {name} {event['state']} {event['reason']}".rstrip())
        before, after = ({seen.state}, seen.state) if name in NO_STATE else LEGAL[name]
        if seen.state not in before or event["state"] != after:
            promise = ONE_OCCURRENCE if name == "enqueued" else ONE_RECORD
            raise Violation(promise, f"{member}: {seen.state or 'nothing'} -> {name} -> {event['state']}")
        if name in self._checks:
            self._checks[name](seen, event, self._records.occurrence(member), call)
        seen.state = event["state"]
        return seen

    # --- one for each event ----------------------------------------------------------------------------

    def _enqueued(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        seen.kind, seen.task = event["reason"], record["task"]
        seen.awaits = record.get("approval") == "required"
        if self._all.others(seen, {"HELD"}):
            raise Violation(HOLDS_BIND, f"{seen.member} was enqueued while its schedule is held")
        if seen.awaits and self._records.has_job(record["job_id"]):
            raise Violation(APPROVED, f"{seen.member} has a job, and nobody approved it")
        busy = seen.kind == "scheduled" and record["overlap"] == "skip" and self._all.busy(seen)
        if busy and seen.schedule_id not in self.backlogs and seen.member not in self.asked:
            raise Violation(IN_ORDER, f"{seen.member} was enqueued while another is running, and skips overlaps")

    def _acquired(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        attempt, fence = int(event["attempt"]), int(event["fencing_token"])
        if fence <= self._last_fence:
            raise Violation(FENCES, f"{seen.member}: token {fence} after {self._last_fence}")
        self._last_fence = fence
        if int(call.arguments["attempt"]) != seen.attempt + 1:
            said = f"the job of attempt {call.arguments['attempt']} came after {seen.attempt} were made"
            raise Violation(ONE_OWNER, f"{seen.member}: {said}")
        counted = seen.attempt < int(record["retry_budget"])
        if attempt != seen.attempt + counted or record["counted"] != str(int(counted)):
            raise Violation(
                HOLDS_BIND, f"{seen.member}: attempt {attempt} of {record['retry_budget']} after {seen.attempt}"
            )
        self._may_start(seen, record)
        if seen.kind == "scheduled" and seen.attempt == 0:
            self._in_time(seen, record)
            self._fresh(seen, record)
        self._no_second_owner(seen, call)
        seen.attempt, seen.counted, seen.fence = attempt, counted, fence
        seen.lease, seen.owner = call.arguments["token"], call.arguments["owner"]

    def _may_start(self, seen: Seen, record: Record) -> None:
        if self._all.others(seen, {"HELD"}):
            raise Violation(HOLDS_BIND, f"{seen.member} was started while its schedule is held")
        if seen.awaits:
            raise Violation(APPROVED, f"{seen.member} was started, and nobody approved it")
        if record["overlap"] != "allow" and self._all.busy(seen):
            raise Violation(IN_ORDER, f"{seen.member} was started beside another one")
        if self._stage.now_ms < seen.not_before_ms:
            raise Violation(IN_ORDER, f"{seen.member} was started before its backoff was over")
        if self._records.schedule(seen.schedule_id).get("incarnation") != record["incarnation"]:
            raise Violation(IN_ORDER, f"{seen.member} was started after its schedule was deleted")

    def _in_time(self, seen: Seen, record: Record) -> None:
        lateness = record.get("max_lateness_ms")
        if lateness and self._stage.now_ms - seen.tick_ms > int(lateness):
            raise Violation(IN_ORDER, f"{seen.member} was started too late")

    def _fresh(self, seen: Seen, record: Record) -> None:
        """No later tick is there, or will be as soon as the sweep comes: it would have to give way."""
        if record["coalesces"] != "1" or seen.approved:
            return
        schedule, now_ms = self._records.schedule(seen.schedule_id), self._stage.now_ms
        last, following = int(schedule.get("last_tick_ms") or 0), int(schedule.get("next_run_ms") or 0)
        if seen.tick_ms < last <= now_ms:
            raise Violation(IN_ORDER, f"{seen.member} was started although {last} is there")
        held, busy = self._all.others(seen, {"HELD"}), self._all.busy(seen, following)
        released = self._records.due_ms(seen.schedule_id) <= now_ms and "failures" not in schedule
        swept_soon = schedule.get("state") == "active" and released and not held
        if swept_soon and not (busy and record["overlap"] == "skip") and seen.tick_ms < following <= now_ms:
            raise Violation(IN_ORDER, f"{seen.member} was started although {following} is due")

    def _began(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        token = call.arguments["token"]
        if self._records.lease(seen.member) != token or token != seen.lease:
            raise Violation(ONE_OWNER, f"{seen.member} was begun by one that does not own it")
        if not seen.counted or seen.attempt > int(record["retry_budget"]):
            raise Violation(HOLDS_BIND, f"{seen.member} was begun beyond its budget of {record['retry_budget']}")
        if seen.awaits:
            raise Violation(APPROVED, f"{seen.member} was begun, and nobody approved it")
        self.verdicts.began(seen, event["reason"], call)
        if seen.kind == "scheduled" and seen.made == 0:
            self._fresh(seen, record)

    def _succeeded(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        by = {"complete": "RUNNING", "commit_by_probe": "LEASED", "resolve_hold": "HELD"}.get(call.script)
        if by != seen.state:
            raise Violation(UNKNOWN, f"{seen.member} succeeded by {call.script} when it was {seen.state}")
        if call.script == "complete" and not self._journal.by(seen.owner):
            raise Violation(UNKNOWN, f"{seen.member} succeeded, and had no effect")
        if call.script == "commit_by_probe":
            self.verdicts.last_is(seen, "ALREADY_COMMITTED")
            if not self._journal.of(seen.member):
                raise Violation(UNKNOWN, f"{seen.member} succeeded by its probe, and had no effect")
        seen.settled_by, seen.unknown = call.script, False
        seen.unseen = seen.unseen and call.script == "complete"

    def _failed(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        self._left_nothing(seen, record)
        self._back_off(seen, record)

    def _left_nothing(self, seen: Seen, record: Record) -> None:
        if self._journal.by(seen.owner) and not seen.forgotten:
            raise Violation(UNKNOWN, f"{seen.member} failed, and its attempt {seen.attempt} had an effect")
        seen.unknown = seen.unknown and record["task"] != "sim.guarded"
        if (record["prior_outcome"] == "UNKNOWN") != seen.unknown:
            raise Violation(UNKNOWN, f"{seen.member}: prior outcome {record['prior_outcome']}")

    def _back_off(self, seen: Seen, record: Record) -> None:
        if seen.attempt >= int(record["retry_budget"]):
            raise Violation(HOLDS_BIND, f"{seen.member} waits for an attempt beyond its budget")
        base, most = int(record["backoff_base_ms"]), int(record["backoff_max_ms"])
        delay = min(int(base * float(record["backoff_factor"]) ** (seen.attempt - 1)), most)
        seen.not_before_ms = self._stage.now_ms + delay

    def _outcome_unknown(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        self._no_second_owner(seen, call)
        if record["task"] == "sim.unsafe":
            raise Violation(UNKNOWN, f"{seen.member} is to be tried again, its outcome unknown and its effect unsafe")
        seen.unknown = True
        if record["prior_outcome"] != "UNKNOWN":
            raise Violation(UNKNOWN, f"{seen.member}: prior outcome {record['prior_outcome']}")
        if record["task"] == "sim.guarded" and seen.attempt >= int(record["retry_budget"]):
            seen.not_before_ms = 0  # there is only its probe to be asked
        else:
            self._back_off(seen, record)

    def _held(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        if seen.state == "RUNNING" and call.script == "fail" and seen.unseen:
            seen.unknown = True
        elif seen.state == "RUNNING" and call.script == "fail":
            self._left_nothing(seen, record)
        elif seen.state == "RUNNING" and call.script != "complete":
            self._no_second_owner(seen, call)
        self.verdicts.held(seen, event["reason"], record, call)
        seen.unseen = seen.unseen or (call.script == "complete" and seen.state == "RUNNING")
        if seen.state in {"RUNNING", *OVER} and call.script != "fail":
            seen.unknown = True
        if record["prior_outcome"] == "UNKNOWN":
            seen.unknown = True
        elif seen.unknown:
            raise Violation(UNKNOWN, f"{seen.member}: prior outcome {record['prior_outcome']}")

    def _released(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        self._no_second_owner(seen, call)
        if call.script == "hand_back":
            self.verdicts.last_is(seen, event["reason"])
            seen.attempt = seen.made
        if int(event["attempt"]) != seen.attempt:
            raise Violation(HOLDS_BIND, f"{seen.member}: attempt {event['attempt']} of {seen.attempt} made")

    def _no_second_owner(self, seen: Seen, call: Call) -> None:
        """The occurrence is taken from its owner: that one must not be able to do anything more."""
        for process in seen.acting.values():
            if not process.doomed and not seen.forgotten:
                raise Violation(ONE_OWNER, f"{call.script} takes {seen.member} from {process.name}, which still works")

    def _waited(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        if self._stage.now_ms < seen.not_before_ms:
            raise Violation(IN_ORDER, f"{seen.member} is due again before its backoff was over")

    def _resolved(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        if seen.attempt >= int(record["retry_budget"]):
            raise Violation(HOLDS_BIND, f"{seen.member} may be tried again beyond its budget")
        seen.unknown, seen.unseen, seen.not_before_ms, seen.foreign = False, False, 0, False

    def _coalesced(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        if seen.made or seen.kind != "scheduled" or seen.unknown:
            raise Violation(IN_ORDER, f"{seen.member} gave way after attempt {seen.attempt} ({seen.kind})")
        if record["coalesces"] != "1":
            raise Violation(IN_ORDER, f"{seen.member} gave way, and its policy keeps each tick")
        if seen.approved or seen.unseen:
            raise Violation(IN_ORDER, f"{seen.member} gave way, and it was approved, or has a result nobody has seen")
        self.verdicts.last_is(seen, "COALESCED_STALE_TICK")

    def _cancelled(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        if seen.unknown or seen.unseen:
            raise Violation(UNKNOWN, f"{seen.member} was cancelled, its outcome unknown")

    def _abandoned(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        if seen.state == "PENDING" and not seen.awaits:
            raise Violation(APPROVED, f"{seen.member} was abandoned, and waited for nobody")

    def _approved(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        if not seen.awaits or seen.state != "PENDING" or event["reason"] != record["review_owner"]:
            raise Violation(APPROVED, f"{seen.member} ({seen.state}) was approved by {event['reason']}")
        seen.awaits, seen.approved = False, True

    def _late_result(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        seen.unseen = True
        if seen.state in {"PENDING", "LEASED", "RETRY_WAIT"}:
            seen.unknown = True  # whoever is next must find it before it begins
            if record["prior_outcome"] != "UNKNOWN":
                raise Violation(UNKNOWN, f"{seen.member}: prior outcome {record['prior_outcome']} and a late result")

    def _delivered(self, seen: Seen, event: Record, record: Record, call: Call) -> None:
        if seen.awaits:
            raise Violation(APPROVED, f"{seen.member} was delivered, and nobody approved it")


def _cause(member: str, event: Record, calls: Sequence[Call]) -> Call:
    """Which of the two calls that a turn stands for recorded this: the report of a success, or the claim after it."""
    report, claim = calls
    of_report, of_claim = (f"{call.arguments['schedule_id']}@{call.arguments['tick_ms']}" for call in calls)
    if member == of_report and (of_report != of_claim or event["event"] in {"succeeded", "late_result", "held"}):
        return report
    return claim
