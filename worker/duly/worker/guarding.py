"""The process that `group_guard` starts, by this file's path: it kills the group of a work-horse when that is due.

Standard input says, in lines, which group it guards and, by 1, that the end of its leader ends it, or `0 0` for none.
The end of the input is the end of the worker. Only what the interpreter brings itself is imported: each worker has one
of these, and it mostly waits.
"""

import posix
import select

_SIGKILL = 9


def main() -> None:
    """Guard until the worker is gone."""
    said, group, leader, poll = b"", 0, -1, select.poll()
    poll.register(0, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in poll.poll()]
        if 0 not in ready:  # what was said before the work-horse ended is heard before its end is seen
            _kill(group)
            leader = _unwatch(poll, leader)
            continue
        more = posix.read(0, 4096)
        if not more:
            break
        *lines, said = (said + more).split(b"\n")
        if lines:
            group, to_its_end = map(int, lines[-1].split())
            leader = _unwatch(poll, leader)
            if to_its_end:
                leader = _watch(poll, group)
    _kill(group)


def _kill(group: int) -> None:
    if group:
        try:  # noqa: SIM105 - contextlib would take as much memory as all of this
            posix.killpg(group, _SIGKILL)
        except OSError:  # there is none left
            pass


def _watch(poll: select.poll, pid: int) -> int:
    try:
        descriptor = posix.pidfd_open(pid)
    except (AttributeError, OSError):  # Linux has it; and a process that is gone needs no guard
        return -1
    poll.register(descriptor, select.POLLIN)
    return descriptor


def _unwatch(poll: select.poll, descriptor: int) -> int:
    if descriptor >= 0:
        poll.unregister(descriptor)
        posix.close(descriptor)
    return -1


if __name__ == "__main__":
    main()
