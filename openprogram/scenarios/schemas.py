"""JSON Schemas of a scenario's files, for editors."""

from typing import Any, Final

from pydantic import BaseModel

from openprogram.contracts.contract import Contract
from openprogram.fixtures.fixture import Fixture
from openprogram.scenarios.settings import ScenarioSettings

__all__ = ["SCHEMAS", "schema_of"]

#: By name: what the schema describes.
SCHEMAS: Final[dict[str, type[BaseModel]]] = {"scenario": ScenarioSettings, "contract": Contract, "fixture": Fixture}


def schema_of(name: str) -> dict[str, Any]:
    """The schema (draft 2020-12) of `scenario.toml`, a contract or a fixture. Raises KeyError: another name."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMAS[name].model_json_schema()}
