"""Functions and lambdas of a syntax tree."""

from __future__ import annotations

from typing import Any


def parameters(function: Any) -> list[str]:
    """The parameter names of a function or lambda."""
    spec = function.args
    return [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
