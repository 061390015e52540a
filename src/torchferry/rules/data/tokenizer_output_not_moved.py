"""DEV106."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchferry.core.finding import Finding

from ..rule import Rule
from ._encoding import kept_parts, moved_names, part_of, whole_encodings

if TYPE_CHECKING:
    from ..context import Context


class TokenizerOutputNotMoved(Rule):
    """One part of an encoding is moved, another is used as it is.

    What it does:
        Reports `attention_mask` (or another part of an encoding) that is passed on without a move
        in a function that moves `input_ids` of the same encoding, and an encoding of PyTorch
        tensors that goes to a model on the device as the tokenizer made it.

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
    word = "torch"

    def check(self, ctx: Context) -> Iterable[Finding]:
        if "input_ids" not in ctx.doc.text and "return_tensors" not in ctx.doc.text:
            return
        yield from self._whole(ctx)
        moved: dict[tuple[int, str], dict[str, Any]] = {}
        plain: list[tuple[tuple[int, str], str, Any]] = []
        for node in [*ctx.nodes.get(ast.Subscript, []), *ctx.nodes.get(ast.Attribute, [])]:
            part = part_of(node)
            if not part or not isinstance(node.ctx, ast.Load):
                continue
            key = (id(ctx.function(node)), ast.unparse(node.value))
            parent = ctx.parents.get(id(node))
            if isinstance(parent, ast.Attribute) and parent.attr in ("to", "cuda"):
                moved.setdefault(key, {})[part] = node
            elif isinstance(parent, (ast.Call, ast.keyword)):
                plain.append((key, part, node))
        whole = _moved_whole(ctx)
        for key, part, node in [*plain, *kept_parts(ctx)]:
            if key in whole:
                continue
            others = {**moved.get(key, {}), **moved_names(ctx, key)}
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

    def _whole(self, ctx: Context) -> Iterable[Finding]:
        for stmt, name, call in whole_encodings(ctx):
            yield self.finding(
                ctx,
                call,
                "the encoding is on the CPU, the model was moved to the device",
                evidence=[ctx.step(stmt, "encoded here")],
                help=f"move the encoding once: `{name}.to(device)`",
            )


def _moved_whole(ctx: Context) -> set[tuple[int, str]]:
    """(function, name) of encodings that are moved as a whole: `e = tokenizer(...).to(device)`."""
    found = set()
    for stmt in ctx.nodes.get(ast.Assign, []):
        func = getattr(stmt.value, "func", None)
        if isinstance(func, ast.Attribute) and func.attr in ("to", "cuda"):
            found |= {(id(ctx.function(stmt)), ast.unparse(t)) for t in stmt.targets}
    return found
