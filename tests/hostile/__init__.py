"""Hostile shapes: other ways to write a program that a rewriter must survive."""

from . import expressions, files, names, places, punctuation
from .shape import SHAPES, Shape

__all__ = ["SHAPES", "Shape", "expressions", "files", "names", "places", "punctuation"]
