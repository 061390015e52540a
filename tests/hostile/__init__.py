"""Hostile shapes: other ways to write a program that a rewriter must survive."""

from typing import TypeVar

from . import expressions, files, names, places, punctuation
from .shape import SHAPES, Shape

__all__ = ["SHAPES", "Shape", "expressions", "files", "names", "places", "punctuation", "turns"]

_Item = TypeVar("_Item")


def turns(items: list[_Item], step: int) -> list[tuple[Shape, _Item]]:
    """Each shape with every `step`th item, from another one on; all pairs with step 1."""
    return [
        (shape, item)
        for number, shape in enumerate(SHAPES.values())
        for item in items[number * 7 % step :: step]
    ]
