"""The example fleet in `compose/`, checked as far as that goes without a container engine."""

from __future__ import annotations

import ast
import contextlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import redis
import yaml

from duly.common.cli import root
from duly.common.records.definition import ScheduleDefinition
from tests import servers

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "compose"
DEFAULT_TIMEOUT_S = ScheduleDefinition.model_fields["timeout_ms"].default / 1000


@cache
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text("utf-8"))
    return loaded


@cache
def instructions() -> list[tuple[str, str]]:
    """The Dockerfile as pairs of instruction and argument, continued lines joined, comments dropped."""
    text = re.sub(r"^\s*#.*\n", "", (COMPOSE / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(word.upper(), " ".join(rest.split())) for word, _, rest in (line.partition(" ") for line in lines) if word]


def final_stage() -> list[tuple[str, str]]:
    last = max(n for n, (word, _) in enumerate(instructions()) if word == "FROM")
    return instructions()[last:]


def services() -> list[tuple[str, dict[str, Any]]]:
    return list(compose()["services"].items())


def seconds(duration: str) -> float:
    match = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?", duration)
    assert match is not None
    return int(match[1] or 0) * 60 + int(match[2] or 0)


each_service = pytest.mark.parametrize(("name", "service"), services(), ids=[name for name, _ in services()])


# --- the fleet


def test_the_fleet_is_a_store_and_a_worker_that_can_be_scaled() -> None:
    assert set(compose()["services"]) == {"valkey", "worker"}
    # Any of these would keep a second worker from starting.
    assert {"container_name", "hostname", "ports"}.isdisjoint(compose()["services"]["worker"])


@each_service
def test_every_service_runs_without_root_without_capabilities_and_on_a_read_only_disk(
    name: str, service: dict[str, Any]
) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "/tmp" in service["tmpfs"]
    if "user" in service:
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])


@each_service
def test_every_service_is_restarted_watched_and_given_time_to_stop(name: str, service: dict[str, Any]) -> None:
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert seconds(service["healthcheck"]["timeout"]) < seconds(service["healthcheck"]["interval"])
    assert seconds(service["stop_grace_period"]) >= 30


@each_service
def test_logs_cannot_fill_the_disk(name: str, service: dict[str, Any]) -> None:
    assert {"max-size", "max-file"} <= set(service["logging"]["options"])


def test_a_worker_may_finish_what_it_runs_under_the_default_time_out() -> None:
    grace = seconds(compose()["services"]["worker"]["stop_grace_period"])
    assert DEFAULT_TIMEOUT_S < grace <= DEFAULT_TIMEOUT_S + 60


def test_the_store_can_be_reached_by_the_fleet_only() -> None:
    valkey = compose()["services"]["valkey"]
    assert "ports" not in valkey
    assert valkey["networks"] == ["store"]
    assert compose()["networks"]["store"]["internal"] is True
    assert "store" in compose()["services"]["worker"]["networks"]


def test_workers_can_reach_the_world_their_tasks_are_about() -> None:
    networks = compose()["services"]["worker"]["networks"]
    assert any(not (compose()["networks"][name] or {}).get("internal") for name in networks)


def test_the_store_is_an_official_valkey_pinned_to_a_release_line() -> None:
    assert re.fullmatch(r"valkey/valkey:[89]\.\d+(\.\d+)?", compose()["services"]["valkey"]["image"])


def test_the_store_keeps_its_data_in_a_named_volume() -> None:
    volumes = compose()["services"]["valkey"]["volumes"]
    assert "valkey-data:/data" in volumes
    assert "valkey-data" in compose()["volumes"]


def test_the_store_runs_on_the_settings_that_are_checked_here() -> None:
    valkey = compose()["services"]["valkey"]
    assert valkey["command"] == ["valkey-server", "/etc/valkey/valkey.conf"]
    assert "./valkey.conf:/etc/valkey/valkey.conf:ro" in valkey["volumes"]


def test_a_worker_waits_for_a_store_that_answers() -> None:
    worker = compose()["services"]["worker"]
    assert worker["depends_on"] == {"valkey": {"condition": "service_healthy"}}
    assert worker["environment"]["DULY_REDIS_URL"] == "redis://valkey:6379/0"
    assert "PONG" in compose()["services"]["valkey"]["healthcheck"]["test"][-1]


def test_every_file_the_fleet_mounts_or_builds_from_is_there() -> None:
    mounts = [volume for _, service in services() for volume in service.get("volumes", []) if volume.startswith(".")]
    assert all((COMPOSE / mount.split(":")[0]).exists() for mount in mounts)
    assert all(mount.endswith(":ro") for mount in mounts)
    build = compose()["services"]["worker"]["build"]
    assert (COMPOSE / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()


# --- command lines


def command_lines() -> list[list[str]]:
    """Every duly command line that the compose file and the Dockerfile hold, without the program's name."""
    worker = compose()["services"]["worker"]
    check = worker["healthcheck"]["test"]
    defaults = [ast.literal_eval(argument) for word, argument in instructions() if word == "CMD"]
    return [worker["command"], check[check.index("duly") + 1 :], *defaults]


@pytest.mark.parametrize("line", command_lines(), ids=" ".join)
def test_every_command_line_names_a_command_and_options_that_exist(line: list[str]) -> None:
    command: click.Command = root
    context = click.Context(root)
    words = list(line)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None
        command = found
    options = {name for param in command.params for name in [*param.opts, *param.secondary_opts]}
    assert [word for word in words if word.startswith("-") and word not in options] == []


def test_the_module_that_workers_are_told_to_load_is_in_the_image() -> None:
    line = compose()["services"]["worker"]["command"]
    module = line[line.index("-m") + 1]
    assert ("COPY", f"compose/{module}.py /app/{module}.py") in final_stage()
    assert any(word == "ENV" and "PYTHONPATH=/app" in argument for word, argument in final_stage())


def test_the_example_tasks_can_be_loaded_and_say_what_their_effects_are() -> None:
    module = ast.parse((COMPOSE / "tasks.py").read_text("utf-8"))
    tasks = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    assert tasks
    for node in tasks:
        (decorator,) = node.decorator_list
        assert isinstance(decorator, ast.Call)
        assert {keyword.arg for keyword in decorator.keywords} >= {"effects"}


# --- the image


def test_the_image_is_built_in_two_stages_from_the_same_slim_python() -> None:
    bases = [argument.split()[0] for word, argument in instructions() if word == "FROM"]
    assert len(bases) == 2
    assert set(bases) == {"python:3.12-slim"}


def test_nothing_is_compiled_or_fetched_in_the_image_that_runs() -> None:
    runs = " ".join(argument for word, argument in final_stage() if word == "RUN")
    assert "--no-index" in runs
    assert not re.search(r"\b(apt-get|gcc|build-essential|curl|wget)\b", runs)
    assert not [argument for word, argument in final_stage() if word == "ADD"]


def test_the_image_runs_as_a_user_by_number_who_is_not_root() -> None:
    users = [argument for word, argument in final_stage() if word == "USER"]
    assert users
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", users[-1])


def test_the_program_of_the_image_is_duly_and_gets_its_signals_itself() -> None:
    entry = [argument for word, argument in final_stage() if word == "ENTRYPOINT"]
    assert [ast.literal_eval(each) for each in entry] == [["duly"]]


def test_every_source_of_a_copy_exists_and_is_not_ignored() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    sources = [
        source
        for word, argument in instructions()
        if word == "COPY" and not argument.startswith("--from")
        for source in argument.split()[:-1]
    ]
    assert len(sources) >= 6
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert set(sources) == allowed


def test_the_build_context_is_closed_unless_opened() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert next(line for line in lines if line and not line.startswith("#")) == "*"


# --- the store's settings


def test_the_store_takes_its_settings_and_is_safe_for_leases(tmp_path: Path) -> None:
    with settings_of_a_real_server(tmp_path) as client:
        assert client.config_get("append*")["appendonly"] == "yes"
        assert client.config_get("appendfsync") == {"appendfsync": "everysec"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert int(client.config_get("maxmemory")["maxmemory"]) > 0
        assert client.config_get("save") == {"save": ""}
        assert client.config_get("protected-mode") == {"protected-mode": "no"}


def test_the_store_still_has_what_was_acknowledged_after_it_was_killed(tmp_path: Path) -> None:
    with settings_of_a_real_server(tmp_path, stop="kill") as client:
        client.set("kept", "yes")
    with settings_of_a_real_server(tmp_path) as client:
        assert client.get("kept") == "yes"


@contextlib.contextmanager
def settings_of_a_real_server(folder: Path, stop: str = "terminate") -> Iterator[redis.Redis]:
    """A client of the embedded extra's Valkey, started on the example's settings file on a free port."""
    port = servers.free_port()
    command = [servers.valkey_binary(), str(COMPOSE / "valkey.conf"), "--port", str(port), "--bind", "127.0.0.1"]
    log = folder / "valkey.log"
    with log.open("a") as output:
        process = subprocess.Popen([*command, "--dir", str(folder)], stdout=output, stderr=output)
    client = redis.Redis(port=port, decode_responses=True, socket_timeout=5)
    try:
        assert answering(client, process), log.read_text()
        yield client
    finally:
        client.close()
        getattr(process, stop)()
        process.wait(timeout=20)


def answering(client: redis.Redis, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers, and make sure that it is the process that was started."""
    deadline = time.monotonic() + servers.START_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return int(client.info("server")["process_id"]) == process.pid
        except (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
            time.sleep(0.05)
    return False


def test_compose_itself_accepts_the_file() -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not on the PATH; the file is checked by its properties only")
    checked = subprocess.run(
        [program, "-f", str(COMPOSE / "compose.yaml"), "config", "-q"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
