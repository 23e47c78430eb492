"""The worker as a process."""

from __future__ import annotations

import logging

import redis

from duly.common.errors import InvalidField, StoreUnavailable
from duly.common.process.roles import RoleOptions
from duly.common.settings import Settings
from duly.common.store.connection import translated
from duly.worker.allow_list import AllowList
from duly.worker.horse import Limits
from duly.worker.rq_worker import FleetWorker
from duly.worker.tasks import import_task_modules, task_names

log = logging.getLogger(__name__)


def run(settings: Settings, options: RoleOptions) -> int:
    """Run jobs of the given queues until SIGTERM or SIGINT; in a burst, until the queues are empty."""
    try:
        import_task_modules(options.modules)
    except InvalidField as error:
        log.critical("%s", error, extra={"action": "bad_module"})
        return 1
    level = logging.INFO if task_names() else logging.WARNING
    tasks, queues = ", ".join(task_names()) or "none", ", ".join(options.queues)
    log.log(level, "%s runs tasks: %s; from queues: %s", options.name, tasks, queues, extra={"action": "started"})
    allow_list = AllowList(options.modules, options.allowed_functions)
    quiet_rq()
    try:
        with translated():
            limits = Limits(options.max_jobs, options.max_memory_mb)
            worker = FleetWorker(settings, options.name, options.queues, allow_list, limits)
            worker.work(burst=options.burst)
    except StoreUnavailable as error:
        log.error("%s: %s", options.name, error, extra={"action": "store_unavailable"})
        return 1
    return 0


def quiet_rq() -> None:
    """RQ's own log lines from warnings on, and without the backend's words."""
    for name in ("rq.worker", "rq.job"):
        logger = logging.getLogger(name)
        logger.setLevel(max(logging.WARNING, logging.getLogger().level))
        logger.addFilter(_without_backend_words)


def _without_backend_words(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(
            type(each).__name__ if isinstance(each, redis.exceptions.RedisError) else each for each in record.args
        )
    if record.exc_info and isinstance(record.exc_info[1], redis.exceptions.RedisError):
        record.exc_info = None
    return True
