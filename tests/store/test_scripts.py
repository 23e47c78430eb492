"""The headers of the Lua scripts are their interface: nothing may say otherwise."""

from __future__ import annotations

import re
from enum import StrEnum
from importlib.resources import files

import pytest

from duly.common.errors import StoreProtocolError
from duly.common.settings import Settings
from duly.common.store.attempts import Carried, Claim, Ending
from duly.common.store.keys import Keys
from duly.common.store.script_source import script_names, source
from duly.common.store.scripts import Scripts
from duly.common.store.turns import Met
from tests.conftest import Backend

# Replies that a caller reads as an enum, and the scripts whose replies they are.
ENUMS: list[tuple[type[StrEnum], list[str]]] = [
    (Claim, ["acquire"]),
    (Ending, ["complete", "fail", "relinquish", "commit_by_probe"]),
    (Carried, ["begin", "hold", "hand_back"]),
    (Met, ["turn"]),
]
DEFINED = r"^local (?:function )?(\w+)"


def body(name: str) -> str:
    return (files("duly.common.store") / "lua" / f"{name}.lua").read_text("utf-8")


@pytest.mark.parametrize("name", script_names())
def test_every_script_says_what_it_does_what_it_takes_and_what_it_answers(name: str) -> None:
    script = source(name)
    assert re.match(r"-- [A-Z].{20,}", body(name))
    assert script.arguments
    assert script.replies
    assert "" not in script.replies


@pytest.mark.parametrize("name", script_names())
def test_a_script_answers_with_the_words_of_its_header_and_with_all_of_them(name: str) -> None:
    code = "\n".join(line for line in body(name).splitlines() if not line.startswith("--"))
    included = re.findall(r"^-- include: (schedule|claim|completion)$", body(name), re.MULTILINE)
    library = "".join(body(f"lib/{each}") for each in included)
    said = set(re.findall(r"'(\w+)'", " ".join(re.findall(r"return (\{[^}]*\})", code + library))))
    assert source(name).replies <= said


@pytest.mark.parametrize("name", script_names())
def test_every_argument_that_a_header_names_is_used(name: str) -> None:
    script = source(name)
    code = "\n".join(line for line in script.text.splitlines()[2:] if not line.startswith("--"))
    for argument in (*script.arguments, *([script.rest] if script.rest else [])):
        assert re.search(rf"\b{argument}\b", code), argument


@pytest.mark.parametrize("name", script_names())
def test_a_script_takes_nothing_of_its_fragments_that_it_does_not_use(name: str) -> None:
    fragments = (files("duly.common.store") / "lua" / "lib").iterdir()
    known = set(re.findall(DEFINED, "".join(each.read_text("utf-8") for each in fragments), re.MULTILINE))
    code = re.sub(r"'.*?'|\w\.\w+|--.*", "", source(name).text)
    for defined in known & set(re.findall(DEFINED, code, re.MULTILINE)):
        assert len(re.findall(rf"\b{defined}\b", code)) > 1, defined


@pytest.mark.parametrize("name", script_names())
def test_a_script_is_given_the_keys_that_it_speaks_of_and_no_others(name: str) -> None:
    code = re.sub(r"'.*?'", "", "\n".join(source(name).text.splitlines()[1:]))
    assert list(source(name).keys) == [stem for stem in Keys().stems() if re.search(rf"\b{stem}\b", code)]


def test_fragments_are_nothing_but_definitions_of_one_name_each() -> None:
    for fragment in (files("duly.common.store") / "lua" / "lib").iterdir():
        for line in fragment.read_text("utf-8").splitlines():
            if line and not line.startswith((" ", "--", "end", "}")):
                assert re.match(r"local (function )?\w+( = |\(|$)", line), f"{fragment.name}: {line}"


def test_short_scripts_are_short() -> None:
    assert "function" not in source("release_duty").text
    assert "contest" in source("complete").text
    assert "contest" not in source("begin").text


@pytest.mark.parametrize(("enum", "names"), ENUMS)
def test_python_knows_exactly_the_words_that_scripts_answer(enum: type[StrEnum], names: list[str]) -> None:
    assert {member.value for member in enum} == set().union(*(source(name).replies for name in names))


def test_an_unknown_word_raises_instead_of_being_guessed(fake: Backend) -> None:
    scripts = Scripts(fake.client, Settings(), shebang=False)
    for odd in (["granted"], [], None, "acquired", [7]):
        with pytest.raises(StoreProtocolError):
            scripts.check("acquire", odd)


def test_a_call_with_arguments_missing_or_to_spare_is_refused(fake: Backend) -> None:
    scripts = Scripts(fake.client, Settings(), shebang=False)
    with pytest.raises(TypeError):
        scripts.call("release_duty")
    with pytest.raises(TypeError):
        scripts.call("release_duty", token="a", owner="b")


def test_a_reply_that_nobody_asked_for_answers_no_later_call(valkey: Backend) -> None:
    scripts = Scripts(valkey.client, Settings(), shebang=True)
    with scripts.started("claim_duty", token="first", holder="a", ttl_ms=5_000):
        pass
    assert scripts.call("release_duty", token="nobody")[0] == "not_held"
    with scripts.started("claim_duty", token="first", holder="a", ttl_ms=5_000) as reply:
        assert reply()[0] == "holding"


def test_what_is_raised_while_the_server_is_at_work_leaves_no_reply_for_the_next_call(valkey: Backend) -> None:
    scripts = Scripts(valkey.client, Settings(), shebang=True)
    with scripts.on_one_line():
        with pytest.raises(ZeroDivisionError), scripts.started("claim_duty", token="first", holder="a", ttl_ms=5_000):
            raise ZeroDivisionError
        assert scripts.call("release_duty", token="nobody")[0] == "not_held"


def test_a_started_call_survives_that_the_server_forgot_the_script(valkey: Backend) -> None:
    scripts = Scripts(valkey.client, Settings(), shebang=True)
    valkey.client.script_flush()
    with scripts.started("claim_duty", token="first", holder="a", ttl_ms=5_000) as reply:
        assert reply()[0] == "holding"
