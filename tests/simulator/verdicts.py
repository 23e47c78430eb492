"""A second opinion on decisions: each must follow from its evidence, and its evidence from what happened."""

from __future__ import annotations

from collections.abc import Mapping

from duly.common.contract import Decision
from tests.simulator.internals import Call, Records
from tests.simulator.seen import HOLDS_BIND, JUSTIFIED, RECOMPUTED, UNKNOWN, Seen
from tests.simulator.stage import Stage, Violation
from tests.simulator.work import Journal

CLAIMS = Decision.HOLD_CONCURRENT_LEASE_CLAIM.value
EXPIRED = Decision.HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN.value
PRIOR = Decision.HOLD_PRIOR_OUTCOME_UNKNOWN.value
MISSING = Decision.HOLD_LEASE_MISSING.value
BUDGET = Decision.HOLD_RETRY_BUDGET_EXHAUSTED.value


class Verdicts:
    """Raises Violation for a decision that nothing justifies, or that comes out differently the second time."""

    def __init__(self, stage: Stage, records: Records, journal: Journal) -> None:
        self._stage, self._records, self._journal = stage, records, journal
        self._reasons = {
            CLAIMS: self._claims,
            EXPIRED: self._expired,
            PRIOR: self._prior,
            BUDGET: self._budget,
            MISSING: self._missing,
        }

    def check_all(self, member: str) -> None:
        """Decide again whatever was decided of an occurrence."""
        for each in self._records.decisions(member):
            again = each.again().decision.value
            if again != each.decision:
                said = f"decision {each.number} of {member} was {each.decision or 'not kept'}"
                raise Violation(RECOMPUTED, f"{said}, and is {again} by its evidence")

    def last_is(self, seen: Seen, decision: str) -> None:
        """What was done is what was decided last, from evidence that was true."""
        last = self._records.decisions(seen.member, last=True)
        if not last or last[0].decision != decision:
            said = last[0].decision if last else "nothing"
            raise Violation(RECOMPUTED, f"{seen.member}: {decision}, and {said} was decided")
        again = last[0].again().decision.value
        if again != decision:
            raise Violation(RECOMPUTED, f"{seen.member}: {decision}, and its evidence says {again}")

    def began(self, seen: Seen, decision: str, call: Call) -> None:
        """It was decided that it may run, from evidence that still held when it began."""
        if not Decision(decision).runs:
            raise Violation(RECOMPUTED, f"{seen.member} was begun: {decision}")
        self.last_is(seen, decision)
        fields = self._records.decisions(seen.member, last=True)[0].evidence.fields
        truth = {"attempt": str(seen.attempt), "lease_id": call.arguments["token"], "state": "LEASED"}
        wrong = [name for name, value in truth.items() if fields.get(name) != value]
        if seen.unknown != (fields.get("prior_outcome") == "UNKNOWN"):
            wrong.append("prior_outcome")
        if seen.unseen != ("late_results" in fields):
            wrong.append("late_results")
        if wrong:
            raise Violation(RECOMPUTED, f"{seen.member} was begun on evidence that is not so: {', '.join(wrong)}")
        if seen.unknown:
            self._reconciled(seen, str(fields.get("reconciled", "")))

    def _reconciled(self, seen: Seen, by: str) -> None:
        effects = seen.task.removeprefix("sim.")
        settled = {"idempotent": "idempotent", "guarded": "probe"}.get(effects)
        asked = self._journal.probed.get(seen.owner)
        if settled is None or (effects == "guarded" and asked != "NO_COMMITTED_RESULT"):
            raise Violation(UNKNOWN, f"{seen.member} was begun again, its outcome unknown ({effects}, probe: {asked})")
        if by != settled:
            raise Violation(RECOMPUTED, f"{seen.member}: an {effects} effect was settled by '{by}'")

    # Holds.
    def held(self, seen: Seen, code: str, record: Mapping[str, str], call: Call) -> None:
        """It was decided, it says why, and there is a reason for it."""
        if record.get("hold_reason") != code:
            raise Violation(RECOMPUTED, f"{seen.member} is held for {record.get('hold_reason')}, and history: {code}")
        self.last_is(seen, code)
        self.check_all(seen.member)
        if code not in self._reasons:
            raise Violation(JUSTIFIED, f"{seen.member} is held: {code}, and nothing of it is so")
        self._reasons[code](seen, record, call)

    def _claims(self, seen: Seen, record: Mapping[str, str], call: Call) -> None:
        if not (seen.forgotten or seen.foreign):
            raise Violation(JUSTIFIED, f"{seen.member} is held for two owners, and its lease was never forgotten")

    def _expired(self, seen: Seen, record: Mapping[str, str], call: Call) -> None:
        if seen.state != "RUNNING" or int(record["lease_expires_ms"]) > self._stage.now_ms:
            raise Violation(JUSTIFIED, f"{seen.member} was {seen.state}, and its lease lasts")

    def _prior(self, seen: Seen, record: Mapping[str, str], call: Call) -> None:
        two = (
            len(seen.completed | {call.arguments.get("token", "")} if call.script == "complete" else seen.completed) > 1
        )
        if seen.state == "RUNNING":
            if call.script == "complete" and not (two or seen.unseen):
                raise Violation(JUSTIFIED, f"{seen.member} is held for two results, and has one")
        elif seen.state == "SUCCEEDED":
            if not two or seen.settled_by != "complete":
                raise Violation(JUSTIFIED, f"{seen.member} is held for two results, and has one")
        elif not (seen.unknown or seen.unseen):
            raise Violation(JUSTIFIED, f"{seen.member} is held, and nothing about it is unknown")

    def _budget(self, seen: Seen, record: Mapping[str, str], call: Call) -> None:
        if seen.attempt < int(record["retry_budget"]) or seen.made < int(record["retry_budget"]):
            left = f"attempt {seen.attempt} of {record['retry_budget']}"
            raise Violation(HOLDS_BIND, f"{seen.member} is held for its budget, and has some left ({left})")

    def _missing(self, seen: Seen, record: Mapping[str, str], call: Call) -> None:
        over = int(record["lease_expires_ms"]) <= self._stage.now_ms
        if seen.state != "LEASED" or seen.counted or not over:
            raise Violation(JUSTIFIED, f"{seen.member} was {seen.state}, and there was an attempt to be made again")
