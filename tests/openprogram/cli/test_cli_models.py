"""`openprogram models`, and what `run` makes of a known model."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openprogram.catalogue import known_models
from openprogram.cli.model_choice import PROVIDERS, choose_model, with_known_facts
from openprogram.providers.types import ModelCost
from openprogram.providers.vendors import VENDOR_APIS
from openprogram.providers.vendors.services import names_of, service_behind
from tests.openprogram.cli.command import run_process

FIELDS = ["model", "provider", "id", "name", "api", "context_window", "cost", "cost_grows", "deprecated"]

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_list_has_stable_fields_and_each_entry_can_be_chosen(tmp_path: Path) -> None:
    finished = run_process(tmp_path / "state", "models", "--json")
    assert (finished.code, finished.err) == (0, "")
    listed = json.loads(finished.out)
    assert {model["provider"] for model in listed} == set(PROVIDERS)
    for model in listed:
        assert list(model) == FIELDS
        chosen = choose_model(model["model"], None, None, None)
        assert (chosen.provider, chosen.id, chosen.api) == (model["provider"], model["id"], model["api"])
    assert not (tmp_path / "state").exists()


def test_one_provider_is_shown_as_a_table(tmp_path: Path) -> None:
    finished = run_process(tmp_path, "models", "--provider", "anthropic")
    assert finished.code == 0
    header, *rows = finished.out.splitlines()
    assert header.split() == ["model", "context", "input", "output", "cache", "read", "cache", "write"]
    assert all(row.startswith("anthropic:") for row in rows)
    prices = {row.split()[0].removeprefix("anthropic:"): row.split()[1:] for row in rows}
    assert prices["claude-haiku-4-5"] == ["200,000", "1", "5", "0.1", "1.25"]
    assert prices["claude-sonnet-4-5"] == ["200,000", "3+", "15+", "0.3+", "3.75+"]


def test_an_unknown_provider_is_a_usage_error_that_names_the_known(tmp_path: Path) -> None:
    finished = run_process(tmp_path, "models", "--provider", "nobody")
    assert finished.code == 2
    assert all(name in finished.err for name in PROVIDERS)


def test_the_help_of_run_names_the_providers(tmp_path: Path) -> None:
    shown = " ".join(run_process(tmp_path, "run", "--help").out.split())
    assert ", ".join(PROVIDERS) in shown


def test_each_provider_is_served_by_an_api_that_there_is() -> None:
    assert {served.api for served in PROVIDERS.values()} <= {row.api for row in VENDOR_APIS}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_that_is_stored_for_a_provider_is_the_one_that_its_server_gets(provider: str) -> None:
    model = choose_model(f"{provider}:m", None, None, None)
    [row] = [row for row in VENDOR_APIS if row.api == model.api]
    url = row.server(model)
    service = service_behind(url, provider, row.service) if url else row.service
    assert service is not None
    assert provider in names_of(service)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_provider_is_in_the_catalogue(provider: str) -> None:
    assert len(known_models(PROVIDERS[provider].listed_as, NOW)) > 1


def test_a_known_model_has_its_context_window_and_prices() -> None:
    model = with_known_facts(choose_model("anthropic:claude-haiku-4-5", None, None, None), NOW)
    assert (model.context_window, model.cost.input, model.cost.cache_read) == (200_000, 1.0, 0.1)


def test_a_price_that_grows_with_the_prompt_is_left_to_the_list() -> None:
    growing = next(model for model in known_models("openai", NOW) if model.cost_grows)
    model = with_known_facts(choose_model(f"openai:{growing.id}", None, None, None), NOW)
    assert (model.context_window or None, model.cost) == (growing.context_window, ModelCost())


@pytest.mark.parametrize(
    "chosen",
    [
        choose_model("anthropic:of-tomorrow", None, None, None),
        choose_model("openai:gpt-4o", None, "http://127.0.0.1:1/v1", None),
        choose_model(None, "openai-completions", "http://127.0.0.1:1/v1", "gpt-4o"),
    ],
    ids=["unknown", "on another server", "of a server of one's own"],
)
def test_of_other_models_nothing_is_claimed(chosen: object) -> None:
    assert with_known_facts(chosen, NOW) == chosen  # type: ignore[arg-type]


#: `openprogram run` with a provider that answers in the vendor's place; says whether the catalogue was loaded.
PROGRAM = """
import sys
from openprogram.cli.app import main
from openprogram.providers.api_registry import register_api_provider
from openprogram.providers.runtime import initialize_provider_runtime
from openprogram.providers.scripted import ScriptedProvider
initialize_provider_runtime()
register_api_provider("anthropic-messages", ScriptedProvider(["hello"]))
try:
    main(["run", "hi", "--model", "anthropic:claude-sonnet-4-5"])
finally:
    print("catalogue" if "genai_prices" in sys.modules else "no catalogue")
"""


def test_a_replay_needs_no_catalogue_and_matches_all_the_same(tmp_path: Path) -> None:
    outputs = []
    for mode in (("record", "--name", "first"), ("replay", "first")):
        run_process(tmp_path, "recordings", *mode)
        finished = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"OPENPROGRAM_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert finished.returncode == 0, finished.stderr
        outputs.append(finished.stdout.splitlines())
    assert outputs == [["hello", "catalogue"], ["hello", "no catalogue"]]
