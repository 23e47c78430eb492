"""What waits for a reviewer: occurrences that nobody may attempt until somebody says what is true of them, and runs
that happen only when they are approved."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from enum import StrEnum

from duly.common.errors import InvalidField, OccurrenceNotFound, Refused
from duly.common.identity import Occurrence, check_schedule_id
from duly.common.instant import to_rfc3339
from duly.common.records.line import check_line
from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState
from duly.common.store.connection import Client, translated
from duly.common.store.keys import Keys
from duly.common.store.scripts import Scripts

log = logging.getLogger(__name__)

MAX_EVIDENCE = 500
PLACE = re.compile(r"(?:hold|approval):\d{1,15}:[a-z0-9][a-z0-9_-]{0,63}@\d{1,15}", re.ASCII)
"""A place in the list: what kind of entry stands there, since when it waits (epoch milliseconds), and which it is."""


class Resolution(StrEnum):
    """What a reviewer can find."""

    NO_COMMITTED_RESULT = "no-committed-result"
    """The effect did not happen: another attempt is made."""
    COMMITTED = "committed"
    """The effect happened: the occurrence is a success, with the evidence as its result."""
    ABANDONED = "abandoned"
    """The occurrence ends here, whatever happened."""


class Waiting(StrEnum):
    """What a reviewer is waited for."""

    HOLD = "hold"
    APPROVAL = "approval"


class HoldStore:
    """Holds of one fleet."""

    def __init__(self, client: Client, keys: Keys, scripts: Scripts) -> None:
        self._client = client
        self._keys = keys
        self._scripts = scripts

    def page(
        self, limit: int, after: str = "", kind: Waiting | None = None
    ) -> tuple[list[OccurrenceRecord], str | None]:
        """What waits for a reviewer, holds before approvals and the longest waiting first, or one kind of it.

        From the first entry behind the place ``after``. The second value is the ``after`` of the next page, None at
        the end. Stays right while entries come and go. Raises InvalidField for a place that this list does not have.
        """
        entries = self._named(limit + 1, after, list(Waiting) if kind is None else [kind])
        occurrences = [Occurrence.parse(name) for _, _, name in entries[:limit]]
        with translated(), self._client.pipeline(transaction=False) as pipe:
            for occurrence in occurrences:
                pipe.hgetall(self._keys.occurrence(occurrence))
            rows = pipe.execute()
        records = [found for o, row in zip(occurrences, rows, strict=True) if row and (found := _usable(o, row))]
        following = ":".join(entries[limit - 1]) if len(entries) > limit else None
        return [record for record in records if record.waits_because], following

    def _named(self, most: int, after: str, kinds: list[Waiting]) -> list[list[str]]:
        """(kind, instant, name) of the entries behind a place, of those that name an occurrence."""
        if after and not (PLACE.fullmatch(after) and after.partition(":")[0] in kinds):
            raise InvalidField("cursor", "is none that a page of this list gave")
        place = after.split(":") if after else [kinds[0], "0", ""]
        named = list[list[str]]()
        while True:
            entries = self._entries(most, place, kinds)
            named += [entry for entry in entries if _names_an_occurrence(entry)]
            if len(named) >= most or len(entries) < most:
                return named[:most]
            kind, after_ms, name = entries[-1]
            place = [kind, after_ms, name or "\0"]  # to the script no name at all is the beginning

    def _entries(self, most: int, place: Sequence[str], kinds: list[Waiting]) -> list[list[str]]:
        kind, after_ms, name = place
        left = kinds[kinds.index(Waiting(kind)) :]
        with translated():
            reply = self._scripts.call("waiting", kinds=" ".join(left), most=most, after_ms=after_ms, after_name=name)
        return list(reply[1])

    def orphaned(self, records: Sequence[OccurrenceRecord]) -> set[Occurrence]:
        """Those whose schedule was deleted since they were enqueued, though another may have its id now.

        Nothing of them is attempted again, whatever a reviewer finds.
        """
        ids = sorted({record.occurrence.schedule_id for record in records})
        with translated(), self._client.pipeline(transaction=False) as pipe:
            for schedule_id in ids:
                pipe.hget(self._keys.schedule(schedule_id), "incarnation")
            present = dict(zip(ids, pipe.execute(), strict=True))
        return {each.occurrence for each in records if each.incarnation != present[each.occurrence.schedule_id]}

    def count(self) -> int:
        """How many occurrences are held."""
        with translated():
            return int(self._client.zcard(self._keys.holds))

    def count_of(self, schedule_id: str) -> int:
        """How many occurrences of one schedule are held, whatever has become of the schedule itself."""
        with translated():
            return int(self._client.zcard(self._keys.held(schedule_id)))

    def awaiting(self) -> int:
        """How many runs wait to be approved."""
        with translated():
            return int(self._client.zcard(self._keys.approvals))

    def approve(self, occurrence: Occurrence, by: str) -> bool:
        """Let a run that waits for its approval happen; whether the same approval was recorded before.

        ``by`` must be its reviewer. Raises OccurrenceNotFound; Refused when it does not wait, or for somebody else.
        """
        check_schedule_id(occurrence.schedule_id)
        by = check_line("by", by, 200)
        with translated():
            reply = self._scripts.call("approve", schedule_id=occurrence.schedule_id, tick_ms=occurrence.tick_ms, by=by)
        word = reply[0]
        if word == "missing":
            raise OccurrenceNotFound(occurrence.schedule_id, occurrence.tick_ms)
        if word == "not_waiting":
            raise Refused(f"{occurrence} does not wait for an approval: it is {reply[1]}", code="not_waiting")
        if word == "not_reviewer":
            raise Refused(f"{occurrence} can be approved by its reviewer only: {reply[1]}", code="not_reviewer")
        return bool(word == "same")

    def resolve(
        self,
        occurrence: Occurrence,
        outcome: Resolution,
        by: str,
        evidence: str,
        extra_attempts: int = 0,
        *,
        seen: int | None = None,
    ) -> tuple[OccurrenceState, bool]:
        """Resolve a hold: the state after it, and whether the same resolution was recorded before.

        ``by`` names the person, ``evidence`` what they looked at; ``seen`` is the record's version that they looked
        at, by default the one it has now. Raises OccurrenceNotFound; Refused when the occurrence is not held, changed
        since it was looked at, was resolved differently, or has no attempt left for NO_COMMITTED_RESULT.
        """
        check_schedule_id(occurrence.schedule_id)
        by, evidence = check_line("by", by, 200), check_line("evidence", evidence, MAX_EVIDENCE)
        if not 0 <= extra_attempts <= 100:
            raise InvalidField("extra_attempts", "must be 0-100")
        if extra_attempts and outcome is not Resolution.NO_COMMITTED_RESULT:
            raise InvalidField("extra_attempts", "goes with the outcome no-committed-result only")
        if seen is None:
            seen = self._version(occurrence)
        with translated():
            reply = self._scripts.call(
                "resolve_hold",
                schedule_id=occurrence.schedule_id,
                tick_ms=occurrence.tick_ms,
                seen=seen,
                outcome=outcome.value,
                by=by,
                evidence=evidence,
                extra_attempts=extra_attempts,
            )
        word = reply[0]
        if word in {"resolved", "same"}:
            return OccurrenceState(reply[1]), word == "same"
        if word == "missing":
            raise OccurrenceNotFound(occurrence.schedule_id, occurrence.tick_ms)
        if word == "not_held":
            raise Refused(f"{occurrence} is not held: it is {reply[1]}", code="not_held")
        if word == "changed":
            raise Refused(
                f"{occurrence} changed since you looked at it (version {seen}, now {reply[1]}); look again",
                code="hold_changed",
            )
        if word == "claimed":
            raise Refused(
                f"{occurrence} is claimed by an owner whose lease lasts until {to_rfc3339(int(reply[1]))}; "
                "another attempt is safe only after that",
                code="lease_claimed",
            )
        if word == "spent":
            raise Refused(
                f"{occurrence} was held again after this very resolution; look again, and give what you found now",
                code="resolution_conflict",
            )
        if word == "budget_spent":
            raise Refused(
                f"{occurrence} has used its {reply[1]} attempts; allow more with --extra-attempts N",
                code="retry_budget_exhausted",
            )
        raise Refused(
            f"{occurrence} was resolved differently already (duly occurrence shows how)",
            code="resolution_conflict",
        )

    def _version(self, occurrence: Occurrence) -> int:
        with translated():
            return int(self._client.hget(self._keys.occurrence(occurrence), "version") or 0)


def _names_an_occurrence(entry: Sequence[str]) -> bool:
    try:
        Occurrence.parse(entry[2])
    except InvalidField:
        log.warning("an entry of the list of holds names no occurrence", extra={"action": "unusable_record"})
        return False
    return True


def _usable(occurrence: Occurrence, fields: dict[str, str]) -> OccurrenceRecord | None:
    """The record; one that cannot be used is named in the log and hides none of the others."""
    try:
        return OccurrenceRecord.from_hash(occurrence, fields)
    except InvalidField as error:
        log.warning("%s", error, extra={"action": "unusable_record"})
        return None
