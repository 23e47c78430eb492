"""One run of the demo from its first process to its last, whatever happens in between."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from duly.common.clock import Clock, SystemClock
from duly.common.demo import report, story
from duly.common.demo.documents import copy_documents
from duly.common.demo.fleet import DemoFleet, demo_settings, environment
from duly.common.demo.narrator import Narrator
from duly.common.demo.scene import Scene, StoryStalled
from duly.common.demo.tally import Tally
from duly.common.embedded import EmbeddedStore
from duly.common.process.keeping import Keeper
from duly.common.process.local_console import ConsoleRefused, LocalConsole
from duly.common.store import Store

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_demo(narrator: Narrator, *, keep: bool, clock: Clock | None = None) -> Tally:
    """Tell the story on a fresh fleet and return the tally. Raises StoryStalled, EmbeddedStoreError, KeyboardInterrupt.

    When it returns or raises, no process of the demo is left; the folder neither, unless ``keep``: then the fleet
    goes on after the story until a signal, and the folder stays. A kept demo has a console, where it can be had, from
    before the story begins.
    """
    clock = clock or SystemClock()
    with _interruptible(), _folder(keep) as folder, EmbeddedStore(folder / "store", clock=clock) as embedded:
        scene = _set_up(folder, embedded, narrator, clock)
        console = LocalConsole(environment(scene.store.settings), folder / "console.log", cwd=folder, clock=clock)
        try:
            narrator.title(f"{len(scene.documents.names)} files to watch: copies of {scene.documents.origin}.")
            scene.fleet.start()
            narrator.say(f"a store on 127.0.0.1:{embedded.port}; three workers start", "act")
            if keep:
                scene.console = _opened(console, narrator)
            made = _told(scene)
            if keep:
                _keep_running(scene, console, embedded, folder)
            else:
                next_steps(narrator)
            return made
        finally:
            _ignore_signals()
            narrator.close()
            scene.fleet.destroy()
            console.kill()


def _set_up(folder: Path, embedded: EmbeddedStore, narrator: Narrator, clock: Clock) -> Scene:
    settings = demo_settings(embedded.url)
    documents = copy_documents(Path.cwd(), folder / "documents")
    fleet = DemoFleet(settings, folder, clock)
    return Scene(Store.connect(settings), fleet, narrator, documents, folder / "journals", clock)


def _opened(console: LocalConsole, narrator: Narrator) -> str | None:
    """The console's address, told; None, and why in a line, where it cannot be had."""
    try:
        url = console.open()
    except ConsoleRefused as error:
        narrator.title(f"No console: {error}", "act")
        return None
    narrator.say(f"follow the story in a browser: {url}", "good")
    narrator.say("(look, but leave the changes to the story until it has ended)", "dim")
    return url


def _told(scene: Scene) -> Tally:
    try:
        made = story.tell(scene)
    except StoryStalled:
        for line in scene.fleet.last_log_lines():
            scene.narrator.title(line, "dim")
        raise
    scene.narrator.title("")
    scene.narrator.title("From the records: audit trail, run history, occurrences, effect log", "head")
    for line in report.table(made):
        scene.narrator.title(line)
    scene.narrator.title("")
    for line in report.verdict(made):
        scene.narrator.title(line, "good" if made.kept else "bad")
    return made


def next_steps(narrator: Narrator) -> None:
    """What to try after the story."""
    narrator.title("")
    narrator.title(
        "Next: `make up` (or `duly up`) keeps a fleet of your own running, and the README says how to write a task; "
        "`make demo KEEP=1` (or `duly demo --keep`) can be followed in a browser, and leaves its fleet up to look "
        "around."
    )


def _keep_running(scene: Scene, console: LocalConsole, embedded: EmbeddedStore, folder: Path) -> None:
    """Resume the schedules and wait for a signal, which is the expected end."""
    for schedule_id in story.schedule_ids(scene):
        scene.store.schedules.resume(schedule_id)
    for line in (
        "",
        "The fleet goes on, and can be looked at.",
        *([f"In a browser: {scene.console}"] if scene.console else []),
        "In another terminal:",
        f"  export DULY_REDIS_URL={embedded.url}",
        "  duly fleet",
        "  duly runs --follow",
        "  duly events docs",
        "Ctrl+C stops it. Data and logs stay in",
        f"  {folder}",
    ):
        scene.narrator.title(line)
    scene.narrator.close()
    keeper = Keeper([console] if scene.console else [], scene.clock, scene.narrator.title)
    try:
        while not scene.fleet.missing():
            keeper.look()
            time.sleep(0.2)
    except KeyboardInterrupt:
        scene.narrator.title("Stopping; running work may finish.")
        # What is kept should not hold attempts that were cut off.
        scene.fleet.stop()
        return
    raise StoryStalled(f"{', '.join(scene.fleet.missing())} ended by itself")


@contextmanager
def _folder(keep: bool) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="duly-demo-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _ignore_signals() -> None:
    for each in _STOPPING:
        signal.signal(each, signal.SIG_IGN)


@contextmanager
def _interruptible() -> Iterator[None]:
    """The first signal to stop raises KeyboardInterrupt; later ones are ignored while everything is put away."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        _ignore_signals()
        raise KeyboardInterrupt

    previous = {each: signal.signal(each, stop) for each in _STOPPING}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
