"""The edit builders that fixes use, loaded when a fix is made: most files need none."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchferry.core.edit import Edit
    from torchferry.source.document import Document

    Edits = tuple[Edit, ...]


def add_keyword(
    doc: Document, call: ast.Call, name: str, value: str, *, past_star: bool = False
) -> Edits | None:
    """See `torchferry.source.build.add_keyword`."""
    from torchferry.source import build

    return build.add_keyword(doc, call, name, value, past_star=past_star)


def method_call(doc: Document, node: ast.expr, suffix: str) -> Edits | None:
    """See `torchferry.source.build.method_call`."""
    from torchferry.source import build

    return build.method_call(doc, node, suffix)


def remove_method_call(doc: Document, call: ast.Call) -> Edits | None:
    """See `torchferry.source.build.remove_method_call`."""
    from torchferry.source import build

    return build.remove_method_call(doc, call)


def replace(doc: Document, node: ast.expr, text: str) -> Edits | None:
    """See `torchferry.source.build.replace`."""
    from torchferry.source import build

    return build.replace(doc, node, text)


def wrap_call(doc: Document, node: ast.expr, function: str) -> Edits | None:
    """See `torchferry.source.build.wrap_call`."""
    from torchferry.source import build

    return build.wrap_call(doc, node, function)
