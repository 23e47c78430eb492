"""What the scripts answer must be true, and be told only to those it is true of."""

from __future__ import annotations

from collections.abc import Mapping

from duly.common.identity import Occurrence
from tests.simulator.internals import Call, Records
from tests.simulator.seen import DUTY, EVIDENCE, HOLDS_BIND, ONE_OCCURRENCE, ONE_OWNER, Everything, Seen
from tests.simulator.stage import Stage, Violation

OWNS = {"acquire": "acquired", "begin": "begun", "renew": "renewed"}
ENDS = {"complete", "fail", "relinquish", "hold", "hand_back", "commit_by_probe"}
TAKEN = {"recorded", "retry", "held", "released", "coalesced"}


class Replies:
    """Raises Violation for an answer that is not so."""

    def __init__(self, stage: Stage, records: Records, everything: Everything) -> None:
        self._stage, self._records, self._all = stage, records, everything
        self._owners: dict[str, str] = {}
        self._taken: set[tuple[str, str]] = set()
        self._manual: dict[str, str] = {}
        self._resolutions: dict[str, set[str]] = {}
        self._duty, self._duty_until_ms = "", 0

    def after(self, call: Call) -> None:
        said, given = call.word, call.arguments
        self._duty_checks(call)
        if call.script == "acquire":
            self._owners[given["token"]] = given["owner"]
        if "token" in given and "tick_ms" in given and said not in {"missing", "gone"}:
            self._of_owner(call, str(Occurrence(given["schedule_id"], int(given["tick_ms"]))))
        if call.script == "resolve_hold" and said == "resolved":
            self._resolution(call)
        if call.script == "release_schedule" and said == "released":
            self._release(call)
        if call.script == "run_now" and said in {"accepted", "replayed"}:
            tick = str(call.reply[1])
            if self._manual.setdefault(given["manual_key"], tick) != tick:
                raise Violation(ONE_OCCURRENCE, f"two manual runs under one key: {self._manual[given['manual_key']]}")

    def _resolution(self, call: Call) -> None:
        given = call.arguments
        member = f"{given['schedule_id']}@{given['tick_ms']}"
        if given["evidence"] in self._resolutions.setdefault(member, set()):
            raise Violation(HOLDS_BIND, f"{member} was resolved by what was seen of an earlier hold")
        self._resolutions[member].add(given["evidence"])
        version = self._all.of[member].version
        if int(given["seen"]) != version - 1:
            raise Violation(
                HOLDS_BIND, f"{member} was resolved as it was at version {given['seen']}, not {version - 1}"
            )

    def _release(self, call: Call) -> None:
        schedule_id = call.arguments["schedule_id"]
        if any(each.state == "HELD" for each in self._all.of_schedule.get(schedule_id, [])):
            raise Violation(HOLDS_BIND, f"{schedule_id} was released while it is held")
        if self._records.schedule(schedule_id)["state"] != "active":
            raise Violation(HOLDS_BIND, f"{schedule_id} was released while it is paused")

    def _of_owner(self, call: Call, member: str) -> None:
        """Whoever is told that it owns, or that its report was taken, is the one that the record names."""
        token, said, record = call.arguments["token"], call.word, self._records.occurrence(member)
        if OWNS.get(call.script) == said and self._records.lease(member) != token:
            raise Violation(ONE_OWNER, f"{call.script} of {member} said {said} to one that does not hold its lease")
        if call.script in ENDS and said in TAKEN:
            # Whoever asks again is given the same answer, whoever owns it by now.
            let_go = token in record.get("let_go", "").split()
            if record.get("lease_id") != token and (call.script, token) not in self._taken and not let_go:
                said = f"{call.script} of {member} was taken from one that does not own it"
                raise Violation(ONE_OWNER, said)
            self._taken.add((call.script, token))
        if call.script == "acquire" and said == "acquired":
            self._all.of[member].lost_claims.discard(token)  # asked again after a failover, the record knows it again
        if call.script == "begin" and said == "begun":
            self._all.of[member].begun.add(self._owners[token])
        if call.script == "complete":
            self._kept(call, self._all.of[member], record)
        if call.script in {"complete", "renew", "relinquish"} and token in self._all.of[member].lost_claims:
            self._shown(call, record, member)

    def _shown(self, call: Call, record: Mapping[str, str], member: str) -> None:
        """An owner came whose claim was forgotten: while its lease is not over, two may own the occurrence."""
        if record["state"] in {"HELD", "ABANDONED"}:
            self._all.of[member].lost_claims.discard(call.arguments["token"])  # a reviewer decides, or has decided
        elif int(call.arguments["expires_ms"]) > self._stage.now_ms:
            raise Violation(ONE_OWNER, f"{member} may have two owners, and is not held but {record['state']}")

    def _kept(self, call: Call, seen: Seen, record: Mapping[str, str]) -> None:
        token, fence, result = (call.arguments[name] for name in ("token", "fencing_token", "result_ref"))
        seen.completed.add(token)
        own = record["state"] == "SUCCEEDED" and record.get("lease_id") == token and seen.settled_by == "complete"
        late = {value for name, value in record.items() if name.split("/")[0] == f"late_result:{fence}"}
        if result not in (late | {record.get("result_ref")} if own else late):
            raise Violation(EVIDENCE, f"the result of {seen.member} by token {fence} is lost")
        if len(seen.completed) > 1 and record["state"] == "SUCCEEDED" and "resolution" not in record:
            raise Violation(EVIDENCE, f"{seen.member} has results of two owners, and is {record['state']}")

    def _duty_checks(self, call: Call) -> None:
        given, now_ms = call.arguments, self._stage.now_ms
        if call.script in {"survey", "dispatch", "attend"} and call.word != "lost_duty":
            if self._records.duty() != given["duty_token"]:
                raise Violation(DUTY, f"{call.script} was carried out for one that does not hold the duty")
            if call.script == "survey":
                self._duty_until_ms = now_ms + int(given["duty_ttl_ms"])
        if call.script == "claim_duty" and call.word == "holding":
            if self._duty not in {"", given["token"]} and now_ms < self._duty_until_ms:
                raise Violation(DUTY, f"{given['holder']} took the duty from one that holds it")
            self._duty, self._duty_until_ms = given["token"], now_ms + int(given["ttl_ms"])
        if call.script == "release_duty" and call.word == "released":
            if self._duty != given["token"]:
                raise Violation(DUTY, "the duty was handed over by one that does not hold it")
            self._duty = ""
