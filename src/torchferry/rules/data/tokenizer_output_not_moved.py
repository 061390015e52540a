"""DEV106."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding

from ..rule import Rule

if TYPE_CHECKING:
    from ..context import Context

_PARTS = re.compile(r"input_ids|attention_mask|token_type_ids|pixel_values|decoder_input_ids")


class TokenizerOutputNotMoved(Rule):
    """One part of an encoding is moved, another is used as it is.

    What it does:
        Reports `attention_mask` (or another part of an encoding) that is passed on without a move
        in a function that moves `input_ids` of the same encoding.

    Why is this bad:
        The ids are on the GPU, the mask is not: the model fails, or its mask is ignored.

    Example:
        def generate(model, tokenizer, text, device):
            enc = tokenizer(text, return_tensors="pt")  # of torch
            ids = enc["input_ids"].to(device)
            return model(input_ids=ids, attention_mask=enc["attention_mask"])

    Fix:
        def generate(model, tokenizer, text, device):
            enc = tokenizer(text, return_tensors="pt").to(device)  # of torch
            return model(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"])

    Fix safety:
        No automatic fix.

    References:
        https://huggingface.co/docs/transformers/main_classes/tokenizer
    """

    code = "DEV106"
    name = "tokenizer-output-not-moved"
    word = "input_ids"

    def check(self, ctx: Context) -> Iterable[Finding]:
        moved: dict[tuple[int, str], dict[str, Any]] = {}
        plain: list[tuple[tuple[int, str], str, Any]] = []
        for node in [*ctx.nodes.get(ast.Subscript, []), *ctx.nodes.get(ast.Attribute, [])]:
            part = _part(node)
            if not part or not isinstance(node.ctx, ast.Load):
                continue
            key = (id(ctx.function(node)), ast.unparse(node.value))
            parent = ctx.parents.get(id(node))
            if isinstance(parent, ast.Attribute) and parent.attr in ("to", "cuda"):
                moved.setdefault(key, {})[part] = node
            elif isinstance(parent, (ast.Call, ast.keyword)):
                plain.append((key, part, node))
        for key, part, node in plain:
            others = moved.get(key, {})
            if others and part not in others:
                first = next(iter(others.values()))
                yield self.finding(
                    ctx,
                    node,
                    f"`{part}` is used as it is, but `{next(iter(others))}` of the same encoding "
                    "was moved",
                    evidence=[ctx.step(first, "moved here")],
                    help="move the whole encoding once",
                )


def _part(node: Any) -> str:
    if isinstance(node, ast.Attribute):
        name: object = node.attr
    else:
        name = node.slice.value if isinstance(node.slice, ast.Constant) else ""
    return name if isinstance(name, str) and _PARTS.fullmatch(name) else ""
