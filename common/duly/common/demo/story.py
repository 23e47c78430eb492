"""The story: five chapters of things that go wrong, each told from what the records say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from duly.common.demo.evidence import read_events, read_records
from duly.common.demo.fleet import LEASE_TTL_MS, name_of
from duly.common.demo.journal import Journal
from duly.common.demo.scene import Scene, StoryStalled, clock_time
from duly.common.demo.tally import Tally, tally
from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceState
from duly.common.records.trail import EnqueueEvent, RunEvent

REVIEWER = "Ada"
_COMMON: dict[str, Any] = {
    "review_owner": REVIEWER,
    "lease_ttl_ms": LEASE_TTL_MS,
    "timeout_ms": 30_000,
    "retry_budget": 10,
}
_QUICK_RETRY = {"base_ms": 500, "factor": 1, "max_ms": 500}
_DOWN_MS = 6_500
_STEP_MS = 2_000
# Long enough into the work to be in its middle, before its effect at the end.
_MIDDLE_MS = 400
# Runs that are let go because the duty holder makes them.
_CHANCES = 3


def tell(scene: Scene) -> Tally:
    """Tell the whole story and return what the records say about it; raises StoryStalled."""
    ticks_and_owners(scene)
    duty_holder_killed(scene)
    busy_worker_killed(scene)
    fleet_down(scene)
    unsafe_work_killed(scene)
    return settle(scene)


def ticks_and_owners(scene: Scene) -> None:
    """(a) Ticks become jobs, and every job has an owner."""
    scene.begin("Ticks and owners", shown=lambda _: True)
    name, _ = scene.until("a duty holder", scene.holder)
    scene.narrator.say(f"{name} holds the duty: it alone turns due ticks into jobs")
    scene.add_schedule(
        "docs", "docs.refresh", 0, spec="@every:1000", missed_run_policy="backfill", backfill_limit=5,
        overlap="buffer_one", backoff=_QUICK_RETRY, **_COMMON,
    )  # fmt: skip
    scene.narrator.say("schedule docs:  every second; if ticks are missed, the latest 5 run")
    scene.add_schedule(
        "crawl", "docs.refresh", 1_500, spec="@every:2000", missed_run_policy="run_once",
        backoff=_QUICK_RETRY, **_COMMON,
    )  # fmt: skip
    scene.narrator.say("schedule crawl: every 2 s, each run takes 1.5 s; if missed, the latest runs")
    scene.point_to("/schedules/docs")
    for _ in range(3):
        scene.event("a run of docs", _succeeded("docs"))
    _edit(scene, "Added while the fleet watches.")
    scene.event("a report of the change", lambda e: _succeeded("docs")(e) and _changed(scene, e))


def duty_holder_killed(scene: Scene) -> None:
    """(b) Another worker takes the duty over; no tick is lost."""
    scene.begin("The holder of the duty is killed")
    name, fence = scene.until("a duty holder", scene.holder)
    killed_ms = scene.store.schedules.now_ms()
    count = scene.fleet.kill(name)
    scene.narrator.say(f"kill -9 {name}, which holds the duty: all {count} processes of it", "act")
    successor, _ = scene.until("a new duty holder", lambda: _newer(scene.holder(), fence))
    took_ms = scene.store.schedules.now_ms() - killed_ms
    scene.narrator.say(f"{successor} holds the duty, {took_ms / 1000:.1f} s later (its time to live is 2 s)", "good")
    taken_ms = killed_ms + took_ms
    scene.event("a run of docs after it", lambda e: _succeeded("docs")(e) and e.tick_ms > taken_ms)
    gap = [e for e in read_events(scene.store, "docs") if killed_ms < e.last_tick_ms <= taken_ms]
    scene.narrator.say(f"docs ticks in the gap: {_described(gap)}")
    scene.fleet.start(name)
    scene.narrator.say(f"{name} is started again", "act")
    _so_far(scene, "docs")


def busy_worker_killed(scene: Scene) -> None:
    """(c) An idempotent attempt is cut off; its lease expires, and another worker makes the next attempt."""
    scene.begin("A worker is killed in the middle of its work")
    victim = _middle_of(scene, "crawl", spare_holder=True)
    worker = name_of(victim.worker)
    scene.fleet.kill(worker)
    scene.narrator.say(f"kill -9 {worker}, at work on crawl {clock_time(victim.tick_ms)}", "act")
    scene.event("the end of the lease", lambda e: e.event == "outcome_unknown" and _same(e, victim))
    scene.narrator.say("its lease ran out; the outcome is unknown; crawl is idempotent: retry")
    scene.point_to(f"/schedules/crawl/ticks/{victim.tick_ms}")
    again = scene.event("another attempt", lambda e: e.event == "began" and _same(e, victim))
    scene.narrator.say(
        f"attempt {again.attempt} by {name_of(again.worker)}, fencing token {again.fencing_token}"
        f" (the dead owner had {victim.fencing_token})"
    )
    scene.fleet.start(worker)
    scene.narrator.say(f"{worker} is started again", "act")
    done = scene.event("its success", lambda e: e.event == "succeeded" and _same(e, victim))
    scene.narrator.say(f"crawl {clock_time(done.tick_ms)} succeeded: {scene.result(done)}", "good")


def fleet_down(scene: Scene) -> None:
    """(d) Nobody is there for a while; what is stale is dropped, on record."""
    scene.begin("The whole fleet is down for a while")
    scene.fleet.stop()
    down_ms = scene.store.schedules.now_ms()
    scene.narrator.say("all three workers are stopped, as for a deploy; running work finished", "act")
    _edit(scene, "Added while nobody watched.")
    scene.narrator.say(f"now nobody is there for {_DOWN_MS / 1000:.1f} s, and ticks come due all the same")
    for passed_ms in range(_STEP_MS, _DOWN_MS + 1, _STEP_MS):
        scene.pause(_STEP_MS)
        scene.narrator.say(f"... {passed_ms / 1000:.0f} s", "dim")
    scene.pause(_DOWN_MS % _STEP_MS)
    scene.narrator.say(f"{_DOWN_MS / 1000:.1f} s of ticks came due, and nobody was there")
    scene.fleet.start()
    scene.narrator.say("all three workers are started again", "act")
    for schedule_id in ("docs", "crawl"):
        backlog = scene.until(f"the backlog of {schedule_id}", lambda: _backlog(scene, schedule_id, down_ms))  # noqa: B023
        scene.narrator.say(f"{schedule_id}: {_described(backlog)}")
    scene.point_to("/schedules/docs")
    changed = scene.event("a report of the change", lambda e: e.tick_ms > down_ms and _changed(scene, e))
    scene.narrator.say(f"{changed.schedule_id} {clock_time(changed.tick_ms)} reports: {scene.result(changed)}", "good")


def unsafe_work_killed(scene: Scene) -> None:
    """(e) Work that must not be repeated is cut off: held, until its reviewer says what is true."""
    scene.begin("Work that must not be repeated", shown=lambda e: e.schedule_id == "publish")
    scene.add_schedule(
        "publish", "docs.publish", 1_200, spec="@every:2000", missed_run_policy="run_once", **_COMMON
    )  # fmt: skip
    scene.narrator.say(f"schedule publish: every 2 s; unsafe to repeat; {REVIEWER} reviews its holds")
    scene.event("a run of publish", _succeeded("publish"))
    victim = _middle_of(scene, "publish")
    worker = name_of(victim.worker)
    scene.fleet.kill(worker)
    scene.narrator.say(f"kill -9 {worker}, at work on publish {clock_time(victim.tick_ms)}", "act")
    scene.event("the hold", lambda e: e.event == "held" and _same(e, victim))
    scene.narrator.say("its lease ran out. Was the note sent? Unknown: HELD, nobody retries", "bad")
    scene.point_to(f"/schedules/publish/ticks/{victim.tick_ms}")
    scene.fleet.start(worker)
    scene.narrator.say(f"{worker} is started again", "act")
    skipped = scene.until("a skipped tick", lambda: _quarantined(scene))
    scene.narrator.say(f"publish {clock_time(skipped.tick_ms)} skipped: quarantined while a tick is held")
    _resolve(scene, victim)
    after = scene.event("the held tick's end", lambda e: e.event == "succeeded" and _same(e, victim))
    following = scene.event("the next tick", lambda e: _succeeded("publish")(e) and e.tick_ms > after.tick_ms)
    scene.narrator.say(f"publish runs again since {clock_time(following.tick_ms)}", "good")


def settle(scene: Scene) -> Tally:
    """Pause the schedules, let what is open end, and recompute everything from the records."""
    for schedule_id in schedule_ids(scene):
        scene.store.schedules.pause(schedule_id, "the story is over")
    scene.shown = lambda _: False
    scene.until("the end of all runs", lambda: not final_tally(scene).open)
    # Read again: what ended while it was read above was read half before and half after.
    return final_tally(scene)


def final_tally(scene: Scene) -> Tally:
    """What the records say of all schedules."""
    return tally([read_records(scene.store, scene.journals, each) for each in schedule_ids(scene)])


def schedule_ids(scene: Scene) -> list[str]:
    """The schedules there are."""
    return [record.schedule_id for record in scene.store.schedules.page(100)[0]]


def _edit(scene: Scene, line: str) -> None:
    name = scene.documents.edit(scene.chapter - 1, line)
    scene.narrator.say(f"you add a line to {name}", "act")


def _succeeded(schedule_id: str) -> Callable[[RunEvent], bool]:
    return lambda event: event.event == "succeeded" and event.schedule_id == schedule_id


def _same(event: RunEvent, other: RunEvent) -> bool:
    return (event.schedule_id, event.tick_ms) == (other.schedule_id, other.tick_ms)


def _changed(scene: Scene, event: RunEvent) -> bool:
    """Whether the event is a run that reported a change."""
    if event.event != "succeeded" or event.schedule_id == "publish":
        return False
    return not scene.result(event).startswith("no change")


def _newer(holder: tuple[str, int] | None, fence: int) -> tuple[str, int] | None:
    return holder if holder is not None and holder[1] > fence else None


def _middle_of(scene: Scene, schedule_id: str, *, spare_holder: bool = False) -> RunEvent:
    """An attempt that is running right now; with ``spare_holder`` not by the duty holder, if that can be had."""
    for chance in range(1, 20):
        began = scene.event(f"a run of {schedule_id}", lambda e: e.event == "began" and e.schedule_id == schedule_id)
        holder = scene.holder()
        if spare_holder and chance <= _CHANCES and holder is not None and holder[0] == name_of(began.worker):
            continue
        scene.pause(_MIDDLE_MS)
        record = scene.store.attempts.get(Occurrence(schedule_id, began.tick_ms))
        if record.state is OccurrenceState.RUNNING and record.fencing_token == began.fencing_token:
            return began
    raise StoryStalled(f"chapter {scene.chapter}: no run of {schedule_id} could be met in its middle")


def _backlog(scene: Scene, schedule_id: str, since_ms: int) -> list[EnqueueEvent] | None:
    """What one sweep made of the ticks that came due since; None until it has."""
    events = read_events(scene.store, schedule_id)
    for event in events:
        if event.reason == "backlog_dropped" and event.last_tick_ms > since_ms:
            return [each for each in events if each.recorded_ms == event.recorded_ms]
    return None


def _described(events: list[EnqueueEvent]) -> str:
    """``9 due; 5 enqueued; 4 dropped on record, 14:00:01 to 14:00:04``."""
    dropped = [event for event in events if event.reason == "backlog_dropped"]
    counts = Counter(event.outcome for event in events if event.reason != "backlog_dropped")
    parts = [f"{count} {outcome}" for outcome, count in counts.items()]
    parts += [f"{event.count} dropped on record, {_span(event)}" for event in dropped]
    due = counts.total() + sum(event.count for event in dropped)
    return f"{due} due; {'; '.join(parts)}" if parts else "none came due"


def _span(event: EnqueueEvent) -> str:
    first, last = clock_time(event.first_tick_ms), clock_time(event.last_tick_ms)
    return first if first == last else f"{first} to {last}"


def _so_far(scene: Scene, schedule_id: str) -> None:
    row = tally([read_records(scene.store, scene.journals, schedule_id)]).rows[0]
    on_record = row.due - row.vanished
    scene.narrator.say(
        f"{schedule_id} so far: {row.due} ticks due, {on_record} on record, {row.duplicates} doubled", "good"
    )


def _quarantined(scene: Scene) -> EnqueueEvent | None:
    events = read_events(scene.store, "publish")
    return next((event for event in events if event.reason == "quarantined"), None)


def _resolve(scene: Scene, held: RunEvent) -> None:
    """What the reviewer does: look whether the effect is there, and say so."""
    outbox = Journal(scene.journals / "publish.jsonl")
    sent = any(effect.tick_ms == held.tick_ms for effect in outbox.read())
    finding = "a note" if sent else "no note"
    scene.narrator.say(f"{REVIEWER} looks into the outbox: {finding} for {clock_time(held.tick_ms)}, and says so:")
    scene.duly(
        "hold", "resolve", "publish", str(held.tick_ms),
        "--outcome", "committed" if sent else "no-committed-result",
        "--by", REVIEWER, "--evidence", f"{outbox.path.name}: {finding} for this tick",
    )  # fmt: skip
