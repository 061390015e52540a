"""SARIF output against OASIS's schema, which is not part of this repository.

`TORCHFERRY_SARIF_SCHEMA=FILE` names sarif-schema-2.1.0.json of github.com/oasis-tcs/sarif-spec.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ..rules.pairs import pairs
from .calling import torchferry

SCHEMA = os.environ.get("TORCHFERRY_SARIF_SCHEMA", "")


@pytest.mark.skipif(not SCHEMA, reason="TORCHFERRY_SARIF_SCHEMA is not set")
def test_output_is_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for number, pair in enumerate(pairs()):
        Path(f"program{number}.py").write_text(pair.faulty)
    log = json.loads(torchferry("check", "--no-cache", "--format", "sarif", ".").out)
    assert len(log["runs"][0]["results"]) > 200
    schema = json.loads(Path(SCHEMA).read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert [error.message for error in validator.iter_errors(log)] == []
