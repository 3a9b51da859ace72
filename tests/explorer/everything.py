"""Calls every route of an API with whatever its schema allows, and more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error, response_schema_conformance

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HOST = {"host": "127.0.0.1"}
CHECKS = [not_a_server_error, response_schema_conformance]


def call_everything(app: ASGIApp, *, examples: int, headers: dict[str, str] | None = None) -> set[str]:
    """Call each operation so often; an error of ours, or an answer that the schema does not describe, fails."""
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=HOST)
    called = set()
    for found in schema.get_all_operations():
        operation = found.ok()  # type: ignore[union-attr]
        called.add(operation.label)

        @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(operation.as_strategy())
        def call(case: Any) -> None:
            response = case.call(headers=HOST | (headers or {}))
            case.validate_response(response, checks=CHECKS)

        call()
    return called
