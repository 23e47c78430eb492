"""The harness of the benchmarks: its arithmetic, its tables and files, and its peers. No figure is judged."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from rich.console import Console, RenderableType

from tests.benchmarks import __main__ as harness
from tests.benchmarks import peer_environment, processes
from tests.benchmarks.expressions import instants_s
from tests.benchmarks.growth import UNITS, Growth, too_large
from tests.benchmarks.measuring import (
    Comparison,
    Contestant,
    Figures,
    NotMeasured,
    compare,
    in_short,
    in_turn,
    percentile,
)
from tests.benchmarks.peer_environment import PEERS, Peer, PeerContestant
from tests.benchmarks.svg import Panel, chart, in_thousands


def printed(table: RenderableType, width: int = 80) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


class Fixed:
    """A contestant whose rounds are known."""

    def __init__(self, name: str, *rates: float) -> None:
        self.name, self._rates = name, iter(rates)

    def rate(self) -> float:
        return next(self._rates)


class Missing:
    name = "missing"

    def rate(self) -> float:
        raise NotMeasured("it cannot be installed")


def comparison() -> Comparison:
    rates = [Fixed("limit", 100.0, 50.0, 90.0), Fixed("duly, 100,000", 40.0, 45.0, 30.0)]
    made = compare("Some title", "ticks/s", "limit", [*rates, Fixed("peer", 1.0, 3.0, 2.0)], 3, also=["peer"])
    made.want("duly / limit", made.ratio("duly, 100,000"), "0.30", "0.50")
    return made


def test_a_ratio_is_the_median_of_those_of_each_round() -> None:
    made = comparison()
    assert made.ratio("duly, 100,000") == 40.0 / 100.0
    assert made.ratio("duly, 100,000", "peer") == 15.0
    assert (made.contestants["limit"].low, made.contestants["limit"].high) == (50.0, 100.0)


def test_contestants_are_measured_in_turn() -> None:
    order: list[str] = []

    def contestant(name: str) -> Contestant:
        return Contestant(name, lambda: order.append(f"prepare {name}"), lambda: len(order))

    compare("title", "things/s", "a", [contestant("a"), contestant("b")], 2)
    assert order == ["prepare a", "prepare b"] * 2


def test_only_the_run_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))

    def prepare() -> None:
        for _ in range(10):
            next(ticks)

    assert Contestant("a", prepare, lambda: 7).rate() == 7.0


def test_a_contestant_that_cannot_take_part_is_one_note_and_the_rest_runs() -> None:
    made = compare("title", "ticks/s", "limit", [Fixed("limit", 1.0, 2.0), Missing()], 2, also=["missing"])
    assert list(made.contestants) == ["limit"]
    assert made.notes == ["missing: not measured: it cannot be installed"]
    assert made.references == ["limit"]
    assert "x missing" not in printed(made.table())


def test_a_table_shows_what_is_wanted_beside_what_was_measured() -> None:
    lines = [line.replace("│", " ").split() for line in printed(comparison().table()).splitlines()]
    assert ["duly", "/", "limit", "0.40", "0.30", "0.50"] in lines


@pytest.mark.parametrize("highest", [9.87, 98_765.4])
def test_a_table_of_all_that_are_compared_fits_80_columns_with_nothing_cut(highest: float) -> None:
    names = ["limit", "duly, 100,000", "rq cron, 10,000", *(f"{peer.name}, 2,000" for peer in PEERS)]
    figures = {name: Figures([highest, highest / 2]) for name in names}
    made = Comparison("Some title", "ticks/s", "limit", figures, ["rq cron, 10,000"])
    made.want("duly, 100,000 / rq cron", 15.0, "15")
    made.notes += [f"{peer.name}: {peer.keeps}" for peer in PEERS]
    text = printed(made.table())
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert all(f" {name} " in text for name in names)


def test_figures_without_a_reference_have_no_ratios() -> None:
    made = Comparison("title", "KiB", "", {"a": Figures([1.0])})
    assert " x " not in printed(made.table())
    assert made.to_dict()["contestants"]["a"] == {
        "median": 1.0,
        "low": 1.0,
        "high": 1.0,
        "rounds": [1.0],
        "ratios": {},
    }


def test_the_file_holds_every_round_and_ratio_and_goal() -> None:
    written = json.loads(json.dumps(comparison().to_dict()))
    assert written.keys() == {"title", "unit", "reference", "contestants", "goals", "notes"}
    duly = written["contestants"]["duly, 100,000"]
    assert (duly["rounds"], duly["median"], duly["ratio"]) == ([40.0, 45.0, 30.0], 40.0, 40.0 / 100.0)
    assert duly["ratios"] == {"limit": 40.0 / 100.0, "peer": 15.0}
    assert written["goals"] == [{"figure": "duly / limit", "measured": 40.0 / 100.0, "must": "0.30", "aim": "0.50"}]


def test_subjects_that_measure_themselves_are_asked_in_turn() -> None:
    numbers = count()
    figures = in_turn({"a": lambda: float(next(numbers)), "b": lambda: float(next(numbers))}, 2)
    assert {name: each.rounds for name, each in figures.items()} == {"a": [0.0, 2.0], "b": [1.0, 3.0]}


@pytest.mark.parametrize(
    ("values", "percent", "found"),
    [([5.0], 99, 5.0), (range(1, 101), 99, 99), (range(1, 201), 99, 198), ([3.0, 1.0, 2.0], 50, 2.0)],
)
def test_a_percentile_is_a_value_that_was_measured(values: list[float], percent: float, found: float) -> None:
    assert percentile(values, percent) == found


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 99)


@pytest.mark.parametrize(
    ("value", "text"), [(0.3049, "0.30"), (9.996, "10.00"), (15.04, "15.0"), (123.4, "123"), (98_765.4, "98,765")]
)
def test_a_figure_shows_as_many_places_as_it_needs(value: float, text: str) -> None:
    assert in_short(value) == text


def write_script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], PeerContestant]:
    """A peer in an environment whose interpreter is a shell script."""
    monkeypatch.setattr(peer_environment, "FOLDER", tmp_path)
    monkeypatch.setattr("tests.benchmarks.processes.empty", lambda url: None)
    (tmp_path / "bin").mkdir()

    def made(script: str) -> PeerContestant:
        write_script(tmp_path / "bin/python", f"#!/bin/sh\n{script}\n")
        return PeerContestant(Peer("Peer", ("peer>=1",), "with_peer", "nothing"), "redis://nowhere", 10)

    return made


def test_a_peer_reports_its_own_count_and_seconds(peer: Callable[[str], PeerContestant]) -> None:
    script = """case "$*" in *pip*) ;; *) echo noise; echo '{"count": 10, "seconds": 0.5}';; esac"""
    assert peer(script).rate() == 20.0


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'No matching distribution' >&2; exit 1", r"it cannot be installed \(No matching distribution\)"),
        ('case "$*" in *pip*) ;; *) echo broken >&2; exit 1;; esac', r"Peer failed \(broken\)"),
        ('case "$*" in *pip*) ;; *) echo hello;; esac', "its report cannot be read"),
        ("""echo '{"count": 3, "seconds": 0.5}'""", "it made 3 jobs of 10 due schedules"),
    ],
)
def test_a_peer_that_does_not_do_it_says_why(peer: Callable[[str], PeerContestant], script: str, reason: str) -> None:
    with pytest.raises(NotMeasured, match=reason):
        peer(script).rate()


def test_a_peer_is_installed_once(peer: Callable[[str], PeerContestant], tmp_path: Path) -> None:
    log = tmp_path / "log"
    contestant = peer(f"""case "$*" in *pip*) echo pip >> {log};; *) echo '{{"count": 10, "seconds": 1}}';; esac""")
    contestant.rate()
    contestant.rate()
    assert log.read_text() == "pip\n"


def test_the_usual_run_leaves_out_only_what_takes_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[str, int, int]] = []

    def benchmark(name: str) -> Callable[[int, int], Comparison]:
        def measure(rounds: int, size: int) -> Comparison:
            asked.append((name, rounds, size))
            return comparison()

        return measure

    for name in harness.BENCHMARKS:
        monkeypatch.setitem(harness.BENCHMARKS, name, benchmark(name))
    monkeypatch.setattr(harness, "OUT", tmp_path / "out")
    result = CliRunner().invoke(harness.main, [], catch_exceptions=False)
    assert result.exit_code == 0
    usual = sorted(harness.BENCHMARKS.keys() - {"growth"})
    assert asked == [(name, 5, harness.SIZES.get(name, harness.SIZE)) for name in usual]
    assert sorted(path.stem for path in (tmp_path / "out").iterdir()) == usual

    asked.clear()
    CliRunner().invoke(harness.main, ["--only", "growth", "--rounds", "2", "--size", "30"], catch_exceptions=False)
    assert asked == [("growth", 2, 30)]


def test_growth_is_a_page_and_a_chart_of_what_was_measured(tmp_path: Path) -> None:
    made = Growth([1_000, 100_000], notes=["a note"])
    for subject in UNITS:
        made.put(subject, 1_000, 2.0)
        made.put(subject, 1_000, 4.0)
    first = next(iter(UNITS))
    made.put(first, 100_000, 1234.5)
    made.write(tmp_path / "out")
    page = (tmp_path / "out/growth.md").read_text()
    assert f"| {first}, {UNITS[first]} | 3.00 | 1,234 |" in page
    assert "- a note" in page
    assert "growth.svg" in page
    root = ElementTree.fromstring((tmp_path / "out/growth.svg").read_text())
    assert len(root.findall(".//{*}circle")) == len(UNITS) + 1
    assert max(map(len, printed(made.table()).splitlines())) <= 80
    by_size = made.to_dict()["subjects"][first]["by_size"]
    assert by_size["1000"] == {"median": 3.0, "low": 2.0, "high": 4.0, "rounds": [2.0, 4.0]}


def test_memory_is_what_is_shared_in_parts_and_a_process_that_ended_costs_none() -> None:
    assert processes.pss_kib("00400000-7fff [rollup]\nRss:      900 kB\nPss:      250 kB\nPss_Anon:  9 kB\n") == 250
    assert processes.pss_kib("") == 0
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    assert processes.pss_mb(ended.pid) == 0.0


def test_a_fleet_that_memory_cannot_hold_is_said_and_not_tried() -> None:
    assert too_large(1_000_000, 16.0) is None
    assert too_large(1_000_000, 4.0) == "1M not measured: 10.2 GB have to be free, and 4.0 GB are"


def test_a_chart_keeps_its_points_inside_and_its_words_escaped() -> None:
    root = ElementTree.fromstring(chart([Panel("a < b", "ms", [(1, 0.0), (1_000, 5.0)]), Panel("c", "ms", [(7, 1.0)])]))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for circle in root.iterfind(".//{*}circle"):
        assert 0 < float(circle.attrib["cx"]) < width
        assert 0 < float(circle.attrib["cy"]) < height
    assert root.findtext(".//{*}text") == "a < b, ms"
    assert [in_thousands(n) for n in (1, 999, 1_000, 100_000, 1_000_000)] == ["1", "999", "1k", "100k", "1M"]


def test_expressions_are_asked_all_over_a_year_at_every_time_of_day() -> None:
    asked = instants_s(20_000)
    assert len({instant // 86_400 for instant in asked}) == 365
    assert len({instant % 86_400 // 3_600 for instant in asked}) == 24


def test_peers_need_nothing_of_ours() -> None:
    folder = Path(peer_environment.__file__).parent / "peers"
    for path in folder.glob("*.py"):
        ours = [line for line in path.read_text().splitlines() if line.startswith(("from duly", "import duly"))]
        assert ours == [], path
    assert {peer.module for peer in PEERS} == {path.stem for path in folder.glob("with_*.py")}
