"""The installed list of models: read, never written here."""

import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ClauseEquals, ModelInfo, ModelPrice, Provider, Tier, TieredPrices

from openprogram.catalogue import CatalogueMissing, find_model, known_models
from openprogram.providers.types import ModelCost

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def listed(monkeypatch: pytest.MonkeyPatch, *models: ModelInfo) -> None:
    """A catalogue of one provider, `p`, in place of the installed one."""
    snapshot = type(get_snapshot())([Provider(id="p", name="P", api_pattern="x", models=list(models))], False)
    monkeypatch.setattr("genai_prices.data_snapshot.get_snapshot", lambda: snapshot)


def entry(price: ModelPrice, **fields: object) -> ModelInfo:
    return ModelInfo(id="m", match=ClauseEquals("m"), prices=price, **fields)  # type: ignore[arg-type]


def test_what_is_installed_can_be_read() -> None:
    models = known_models("anthropic", NOW)
    assert [model.id for model in models] == sorted(model.id for model in models)
    assert len(models) > 10
    assert all(model.cost is None or model.cost.output >= model.cost.input for model in models)
    assert any(model.context_window for model in models)


def test_an_id_with_a_date_is_found() -> None:
    found = find_model("anthropic", "claude-sonnet-4-5-20250929", NOW)
    assert found is not None
    assert found.id == "claude-sonnet-4-5"
    assert found.cost == ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)


def test_an_unknown_id_and_an_unknown_provider_are_no_error() -> None:
    assert find_model("anthropic", "nothing-of-that-name", NOW) is None
    assert find_model("no-such-provider", "m", NOW) is None


PRICES = [
    (
        ModelPrice(input_mtok=Decimal(2), output_mtok=Decimal(8)),
        ModelCost(input=2, output=8, cache_read=2, cache_write=2),
    ),
    (
        ModelPrice(input_mtok=TieredPrices(Decimal(1), [Tier(200_000, Decimal(2))]), cache_read_mtok=Decimal("0.1")),
        ModelCost(input=1, output=0, cache_read=0.1, cache_write=1),
    ),
    (ModelPrice(output_mtok=Decimal(8)), None),
    (ModelPrice(), None),
]


@pytest.mark.parametrize(("price", "cost"), PRICES)
def test_cached_tokens_without_a_price_cost_what_others_cost(
    price: ModelPrice, cost: ModelCost | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(monkeypatch, entry(price, context_window=5))
    [model] = known_models("p", NOW)
    assert (model.cost, model.context_window, model.name) == (cost, 5, "m")
    assert model.cost_grows is isinstance(price.input_mtok, TieredPrices)


def test_without_an_extra_there_is_no_list_and_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    with pytest.raises(CatalogueMissing) as missing:
        known_models("anthropic", NOW)
    assert "pip install" in (missing.value.next_step or "")
    assert find_model("anthropic", "claude-sonnet-4-5", NOW) is None
