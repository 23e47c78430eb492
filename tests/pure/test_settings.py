"""Settings: read from the environment, or refused by the name of the variable."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from duly.common.errors import InvalidField
from duly.common.settings import DEFAULT_REDIS_URL, Settings

NUMBERS = [each.name for each in fields(Settings) if isinstance(each.default, int)]


def test_an_empty_environment_gives_the_documented_defaults() -> None:
    settings = Settings.from_environment({})
    assert settings == Settings()
    assert settings.redis_url == DEFAULT_REDIS_URL == "redis://127.0.0.1:6379/0"
    assert settings.prefix == "duly"
    assert settings.retention_ms == 7 * 24 * 3600 * 1000
    assert settings.duty_ttl_ms == 10_000
    assert settings.queue_limit == 100_000
    assert settings.schedule_history == 200
    assert settings.fleet_history == 10_000
    assert settings.on_enqueue == ()


def test_every_setting_is_an_environment_variable_of_its_name() -> None:
    texts = {each.name: "700" if isinstance(each.default, int) else f"text-{each.name}" for each in fields(Settings)}
    variables = {f"DULY_{name.upper()}": text for name, text in texts.items()}
    settings = Settings.from_environment({**variables, "RQ_KEY_PREFIX": "mine-rq"})
    for name, text in texts.items():
        value = getattr(settings, name)
        assert value == (700 if name in NUMBERS else (text,) if name == "on_enqueue" else text)


@pytest.mark.parametrize("name", [each.name for each in fields(Settings)])
def test_an_empty_variable_counts_as_unset(name: str) -> None:
    assert Settings.from_environment({f"DULY_{name.upper()}": ""}) == Settings()


def test_variables_of_other_programs_are_left_alone() -> None:
    others = {"REDIS_URL": "redis://elsewhere", "duly_prefix": "small", "DULY_UNKNOWN": "x", "PREFIX": "p"}
    assert Settings.from_environment(others) == Settings()


def test_the_process_environment_is_read_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DULY_PREFIX", "mine")
    monkeypatch.setenv("RQ_KEY_PREFIX", "mine-rq")
    assert Settings.from_environment().prefix == "mine"


def test_hooks_are_a_list_separated_by_commas() -> None:
    settings = Settings.from_environment({"DULY_ON_ENQUEUE": " app.hooks:first , app.hooks:second,, "})
    assert settings.on_enqueue == ("app.hooks:first", "app.hooks:second")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    "text",
    ["0", "-1", "+1", "1.5", "1e3", "ten", "0x10", "1_000", " 1", "1 ", "\u0661", "\u00b2", "9" * 13, "9" * 5000],
    ids=lambda text: ascii(text)[:20],
)
def test_a_number_that_is_not_a_whole_one_above_zero_is_refused(name: str, text: str) -> None:
    variable = f"DULY_{name.upper()}"
    with pytest.raises(InvalidField, match=f"^{variable}: must be a whole number above 0$") as refusal:
        Settings.from_environment({variable: text})
    assert refusal.value.field == variable


def test_settings_cannot_be_changed_once_read() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().prefix = "other"  # type: ignore[misc]


def test_a_duty_too_short_to_be_kept_is_refused() -> None:
    with pytest.raises(InvalidField, match=r"^DULY_DUTY_TTL_MS: must be at least 500"):
        Settings.from_environment({"DULY_DUTY_TTL_MS": "499"})
    assert Settings.from_environment({"DULY_DUTY_TTL_MS": "500"}).duty_ttl_ms == 500


def test_a_prefix_of_its_own_goes_with_one_for_rq() -> None:
    with pytest.raises(InvalidField, match="RQ_KEY_PREFIX"):
        Settings.from_environment({"DULY_PREFIX": "mine"})
    assert Settings.from_environment({"DULY_PREFIX": "duly"}).prefix == "duly"
