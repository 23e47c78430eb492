"""What must be true when nothing moves any more."""

from __future__ import annotations

from fnmatch import fnmatchcase

from duly.common.store.keys import LIFETIMES, Lifetime
from tests.simulator.seen import ACTIVE, ONE_RECORD, TERMINAL, Seen
from tests.simulator.stage import Violation
from tests.simulator.world import World

NOTHING_STUCK = "nothing is forgotten"
BOUNDED = "every key is bounded"
INDEXES = {
    "PENDING": "pending",
    "HELD": "held",
    **dict.fromkeys(ACTIVE, "active"),
}


def settled(world: World) -> bool:
    """Whether no occurrence is on its way."""
    return not any(_on_its_way(world, seen) for seen in world.all.of.values())


def full(world: World, schedule_id: str) -> bool:
    """Whether as many occurrences as a queue may have wait for the reviewer: new ticks stay due meanwhile."""
    waiting = [each for each in world.all.of_schedule.get(schedule_id, []) if each.state == "PENDING"]
    return len(waiting) >= world.settings.queue_limit and not any(_on_its_way(world, each) for each in waiting)


def _on_its_way(world: World, seen: Seen) -> bool:
    """Neither over nor held, and nothing there that it may wait for: a hold, or its approval while not too late."""
    if seen.state != "PENDING":
        return seen.state in ACTIVE
    if not seen.awaits:
        return not any(each.state == "HELD" for each in world.all.of_schedule[seen.schedule_id])
    lateness = world.records.occurrence(seen.member).get("max_lateness_ms")
    return bool(lateness) and seen.kind == "scheduled" and world.stage.now_ms > seen.tick_ms + int(lateness)


def check_nothing_stuck(world: World) -> None:
    """Raise Violation for an occurrence that should have moved on."""
    for seen in world.all.of.values():
        if _on_its_way(world, seen):
            raise Violation(NOTHING_STUCK, f"{seen.member} is left {seen.state}")


def answered(world: World) -> bool:
    """Whether every occurrence is over: what waited for a reviewer was answered."""
    return all(seen.state in TERMINAL for seen in world.all.of.values())


def check_all_over(world: World) -> None:
    """Raise Violation for an occurrence that goes on for ever although every question was answered."""
    for seen in world.all.of.values():
        if seen.state not in TERMINAL:
            raise Violation(NOTHING_STUCK, f"{seen.member} is left {seen.state}, and everything was answered")


def check_decisions(world: World) -> None:
    """Whatever was decided comes out the same from its evidence."""
    for seen in world.all.of.values():
        world.shadow.verdicts.check_all(seen.member)
        if seen.state == "HELD":
            world.shadow.verdicts.last_is(seen, world.records.occurrence(seen.member)["hold_reason"])


def check_records(world: World) -> None:
    """The occurrences, their histories and their indexes tell the same story."""
    records = world.records
    for member, seen in world.all.of.items():
        state = records.occurrence(member).get("state")
        if state != seen.state:
            raise Violation(ONE_RECORD, f"{member} is {state}, and {seen.state} by its history")
    for schedule_id, all_seen in world.all.of_schedule.items():
        for which in ("pending", "active", "held"):
            wanted = {str(each.tick_ms) for each in all_seen if INDEXES.get(each.state) == which}
            found = records.index(which, schedule_id)
            if found != wanted:
                raise Violation(ONE_RECORD, f"{which} of {schedule_id} is {sorted(found)}, not {sorted(wanted)}")
        between = {str(each.tick_ms) for each in all_seen if each.state == "PENDING" and each.attempt}
        if records.index("retrying", schedule_id) != between:
            raise Violation(ONE_RECORD, f"between two attempts of {schedule_id} are {sorted(between)}")
    everything = world.all.of.values()
    lists = {
        records.keys.holds: {each.member for each in everything if each.state == "HELD"},
        records.keys.approvals: {each.member for each in everything if each.state == "PENDING" and each.awaits},
    }
    for key, wanted in lists.items():
        found = set(records.members(key))
        if found != wanted:
            raise Violation(ONE_RECORD, f"the list {key} is {sorted(found)}, not {sorted(wanted)}")
    watched = set(records.members(records.keys.watch))
    due = {each.member for each in world.all.of.values() if each.state not in TERMINAL | {"HELD"}}
    if watched != due:
        raise Violation(NOTHING_STUCK, f"the sweep looks at {sorted(watched)}, not {sorted(due)}")


def check_keys(world: World) -> None:
    """Every key of the fleet has a bound, and it is there."""
    records, prefix = world.records, f"{world.settings.prefix}:"
    for key in records.all_keys():
        if not key.startswith(prefix):
            continue
        name = key.removeprefix(prefix)
        patterns = [pattern for pattern in LIFETIMES if fnmatchcase(name, pattern)]
        if not patterns:
            raise Violation(BOUNDED, f"{key} is on no list")
        kind = LIFETIMES[max(patterns, key=len)]
        if kind is Lifetime.TTL and records.ttl_ms(key) <= 0:
            raise Violation(BOUNDED, f"{key} has no time to live")
        if kind is Lifetime.CAPPED and records.kind(key) != "stream":
            raise Violation(BOUNDED, f"{key} is no stream")
        if kind is Lifetime.OPEN and not _open_or_expiring(world, name, key):
            raise Violation(BOUNDED, f"{key} stays behind, and nothing it speaks of is open")


def _open_or_expiring(world: World, name: str, key: str) -> bool:
    kind, _, rest = name.partition(":")
    if world.records.ttl_ms(key) > 0:
        return True
    if kind == "occurrence":
        return world.all.of[rest].state not in TERMINAL
    schedule_id = rest.partition(":")[0]
    return any(each.state not in TERMINAL for each in world.all.of_schedule.get(schedule_id, []))
