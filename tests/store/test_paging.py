"""Every list walked page by page while entries come and go: what is there throughout is seen once, nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import pytest

from duly.common.errors import InvalidField
from duly.common.identity import Occurrence
from duly.common.records.schedule import ScheduleState
from duly.common.store.holds import Resolution, Waiting
from duly.common.store.searching import Wanted
from tests.store.conftest import Bench, definition

Page: TypeAlias = Callable[[int, Any], tuple[list[str], Any]]
"""Names of one page, and where the next begins."""
SEEDS = range(6)
# In an order that is the bytes', and no dictionary's.
IDS = ["a", "a-", "a-b", "a0", "a_", "aa", "b", "b-1", "b_", "ba", "docs", "docs-2", "docs_1", "docs0", "e", "z", "zz"]


def walk(page: Page, there: Callable[[], list[str]], disturb: Callable[[], None], limit: int) -> None:
    """All pages; before each but the first the list is disturbed."""
    throughout, seen, place = set(there()), list[str](), None
    while True:
        names, place = page(limit, place)
        assert len(names) <= limit
        seen += names
        if place is None:
            break
        disturb()
        throughout &= set(there())
        assert len(seen) < 1_000
    assert len(seen) == len(set(seen))
    assert throughout <= set(seen)


class Written:
    """Schedules and what waits for a reviewer, written and removed without the scripts, hundreds in a moment."""

    def __init__(self, bench: Bench, rng: Random) -> None:
        bench.doctored = True
        self.written = set[Occurrence]()
        self.bench, self.rng, self.client, self.keys = bench, rng, bench.backend.client, bench.store.keys
        bench.add(schedule_id="template", approval="required", spec="@every:100")
        asked = bench.due("template")
        self.schedule = self.client.hgetall(self.keys.schedule("template"))
        self.record = self.client.hgetall(self.keys.occurrence(asked))
        self.client.delete(self.keys.schedules, self.keys.approvals)

    def add_schedule(self, schedule_id: str, state: str = "active") -> None:
        text = definition(schedule_id=schedule_id, review_owner=self.rng.choice(["ann", "docs-team"])).to_json()
        self.client.hset(self.keys.schedule(schedule_id), mapping={**self.schedule, "definition": text, "state": state})
        self.client.zadd(self.keys.schedules, {schedule_id: 0})

    def remove_schedule(self, schedule_id: str) -> None:
        self.client.delete(self.keys.schedule(schedule_id))
        self.client.zrem(self.keys.schedules, schedule_id)

    def schedules(self) -> list[str]:
        return list(self.client.zrange(self.keys.schedules, 0, -1))

    def add_waiting(self, kind: Waiting, since_ms: int) -> None:
        occurrence = Occurrence(self.rng.choice(IDS), self.rng.randrange(1_000))
        held = {"state": "HELD", "hold_reason": "HOLD_LEASE_MISSING", "held_ms": since_ms}
        change: dict[str, Any] = held if kind is Waiting.HOLD else {"state": "PENDING", "approval": "required"}
        if occurrence in self.written:  # one that is held again waits anew, at another place
            return
        self.written.add(occurrence)
        self.client.hset(self.keys.occurrence(occurrence), mapping={**self.record, **change})
        self.client.zadd(self.list_of(kind), {str(occurrence): since_ms})

    def remove_waiting(self, kind: Waiting, rank: int) -> None:
        for name in self.client.zrange(self.list_of(kind), rank, rank):
            self.client.zrem(self.list_of(kind), name)
            self.client.delete(self.keys.occurrence(Occurrence.parse(name)))

    def waiting(self, kinds: list[Waiting]) -> list[str]:
        return [name for kind in kinds for name in self.client.zrange(self.list_of(kind), 0, -1)]

    def list_of(self, kind: Waiting) -> str:
        return self.keys.holds if kind is Waiting.HOLD else self.keys.approvals


@pytest.mark.parametrize("kind", [None, *Waiting])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_waits_throughout_is_seen_once_while_holds_come_and_are_resolved(
    bench: Bench, seed: int, kind: Waiting | None
) -> None:
    rng = Random(seed)
    written, kinds = Written(bench, rng), list(Waiting) if kind is None else [kind]

    def disturb() -> None:
        for each in Waiting:
            for _ in range(rng.randrange(4)):
                written.remove_waiting(each, rng.choice([0, 1, 2, -1, rng.randrange(20)]))
                written.add_waiting(each, rng.choice([0, 5, 99, rng.randrange(12)]))

    def page(limit: int, place: Any) -> tuple[list[str], Any]:
        records, after = bench.store.holds.page(limit, place or "", kind)
        return [str(record.occurrence) for record in records], after

    for _ in range(60):
        written.add_waiting(rng.choice(list(Waiting)), rng.randrange(6))
    walk(page, lambda: written.waiting(kinds), disturb, rng.randrange(1, 9))


def test_a_hold_that_is_resolved_between_two_pages_hides_no_other(fake_bench: Bench) -> None:
    held = list[Occurrence]()
    for n in range(6):
        fake_bench.add(schedule_id=f"s{n}", spec="@every:1000")
        occurrence = fake_bench.due(f"s{n}")
        fake_bench.store.attempts.relinquish(fake_bench.running(occurrence), "timeout")
        held.append(occurrence)
    first, after = fake_bench.store.holds.page(3)
    for seen in (held[0], held[2]):  # the last one shown among them
        fake_bench.store.holds.resolve(seen, Resolution.ABANDONED, "ann", "seen")
    second, end = fake_bench.store.holds.page(3, after or "")
    assert [record.occurrence for record in first + second] == held
    assert end is None


def test_holds_of_one_instant_are_paged_in_the_order_of_their_names(bench: Bench) -> None:
    written = Written(bench, Random(1))
    for _ in range(120):
        written.add_waiting(Waiting.HOLD, 7)
    names, place = list[str](), ""
    while True:
        records, after = bench.store.holds.page(7, place)
        names += [str(record.occurrence) for record in records]
        if after is None:
            break
        place = after
    assert names == sorted(names) == written.waiting([Waiting.HOLD])


@pytest.mark.parametrize(
    "place", ["x", "50", "hold", "hold:1", "hold:1:docs", "hold:-1:docs@1", "approval:1:docs@1", "hold:1:docs@1\n"]
)
def test_a_place_that_the_list_of_holds_does_not_have_is_refused(fake_bench: Bench, place: str) -> None:
    with pytest.raises(InvalidField, match="cursor"):
        fake_bench.store.holds.page(10, place, Waiting.HOLD)


@pytest.mark.parametrize("seed", SEEDS)
def test_schedules_are_seen_once_while_others_are_written_and_deleted(bench: Bench, seed: int) -> None:
    rng = Random(seed)
    written = Written(bench, rng)

    def page(limit: int, place: Any) -> tuple[list[str], Any]:
        records, after = bench.store.schedules.page(limit, place or "")
        return [record.schedule_id for record in records], after

    for schedule_id in rng.sample(IDS, 12):
        written.add_schedule(schedule_id)
    walk(page, written.schedules, lambda: churn(written, rng), rng.randrange(1, 5))


@pytest.mark.parametrize("text", ["", "d", "docs", "DOCS", "a", "docs-team", "refresh default", "zz", "-", "team "])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_search_shows_each_that_fits_once_while_schedules_come_and_go(bench: Bench, seed: int, text: str) -> None:
    rng = Random(seed)
    written = Written(bench, rng)
    wanted = Wanted(text.strip(), ScheduleState.ACTIVE if not text else None)

    def page(limit: int, place: Any) -> tuple[list[str], Any]:
        found = bench.store.search.page(wanted, limit, place or "")
        return [record.schedule_id for record in found.records], found.after

    def fitting() -> list[str]:
        return [r.schedule_id for r in bench.store.schedules.page(100)[0] if wanted.fits(r)]

    for schedule_id in rng.sample(IDS, 14):
        written.add_schedule(schedule_id, rng.choice(["active", "paused"]) if not text else "active")
    walk(page, fitting, lambda: churn(written, rng), rng.randrange(1, 5))


def churn(written: Written, rng: Random) -> None:
    ids = written.schedules()
    for gone in {ids[0], ids[-1], rng.choice(ids)} if len(ids) > 6 else ():
        if rng.random() < 0.4:
            written.remove_schedule(gone)
    for schedule_id in rng.sample(IDS, 2):
        written.add_schedule(schedule_id)


def test_ids_that_begin_with_what_was_looked_for_come_first(fake_bench: Bench) -> None:
    written = Written(fake_bench, Random(1))
    for number in range(40):
        written.add_schedule(f"a{number:03}")
    written.add_schedule("z-docs-refresh")
    written.add_schedule("docs-late")
    found = fake_bench.store.search.page(Wanted("docs"), 3)  # the task of every one is docs.refresh
    assert [record.schedule_id for record in found.records] == ["docs-late", "a000", "a001"]


def test_a_search_finds_letters_that_are_not_ascii_in_either_case(bench: Bench) -> None:
    bench.add(schedule_id="x", review_owner="Zoë Straße")
    bench.add(schedule_id="y", review_owner='quote " and \\ backslash')
    bench.add(schedule_id="z", kwargs={"note": "Zoë"})

    def ids(text: str) -> list[str]:
        return [record.schedule_id for record in bench.store.search.page(Wanted(text), 9).records]

    assert ids("ZOË") == ids("strasse") == ids("ë s") == ["x"]
    assert ids('" AND \\') == ids("backslash") == ["y"]
    assert ids("run_once") == []


@pytest.mark.parametrize("state", ScheduleState)
def test_a_search_by_state_tells_what_is_paused_from_what_is_held(bench: Bench, state: ScheduleState) -> None:
    for name in ("active", "paused", "quarantined"):
        bench.add(schedule_id=name, spec="@every:1000")
    bench.store.schedules.pause("paused", "n")
    occurrence = bench.due("quarantined")
    bench.store.attempts.relinquish(bench.running(occurrence), "timeout")
    found = bench.store.search.page(Wanted(state=state), 9)
    assert [record.schedule_id for record in found.records] == [state.value]


@pytest.mark.parametrize("place", ["x", "docs", "all:docs", "before", "first:DOCS", "before:docs\n", ":docs"])
def test_a_place_that_a_search_does_not_have_is_refused(fake_bench: Bench, place: str) -> None:
    with pytest.raises(InvalidField, match="cursor"):
        fake_bench.store.search.page(Wanted("docs"), 9, place)


@pytest.mark.parametrize("trail", ["events", "runs", "changes", "fleet runs"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_past_is_seen_once_while_records_come_and_old_ones_are_cut_off(bench: Bench, seed: int, trail: str) -> None:
    rng, client, keys, trails = Random(seed), bench.backend.client, bench.store.keys, bench.store.trails
    bench.doctored = True
    bench.add()
    bench.due()
    key, read = {
        "events": (keys.events("docs"), lambda limit, place: trails.events("docs", limit, place)),
        "runs": (keys.runs("docs"), lambda limit, place: trails.runs("docs", limit, place)),
        "changes": (keys.changes("docs"), lambda limit, place: trails.changes("docs", limit, place)),
        "fleet runs": (keys.fleet_runs, lambda limit, place: trails.runs(None, limit, place)),
    }[trail]
    entry = client.xrevrange(key, count=1)[0][1]

    def there() -> list[str]:
        return [name for name, _ in client.xrange(key)]

    def disturb() -> None:
        for _ in range(rng.randrange(3)):
            client.xadd(key, entry)
        client.xtrim(key, maxlen=max(1, len(there()) - rng.randrange(3)), approximate=False)
        if rng.random() < 0.5:  # a failure that is repeated takes the place of the one before
            client.xdel(key, there()[-1])

    def page(limit: int, place: Any) -> tuple[list[str], Any]:
        records, after = read(limit, place)
        return [record.cursor for record in records], after

    for _ in range(40):
        client.xadd(key, entry)
    walk(page, there, disturb, rng.randrange(1, 7))


def test_a_page_of_which_nothing_can_be_used_costs_as_much_as_any(fake_bench: Bench) -> None:
    written = Written(fake_bench, Random(1))
    for number in range(50):
        written.add_schedule(f"s{number:02}")
        if number < 49:
            written.client.hset(written.keys.schedule(f"s{number:02}"), "definition", "{}")
    records, after = fake_bench.store.schedules.page(100)
    assert ([record.schedule_id for record in records], after) == (["s49"], None)
