"""Every edit of a migration is one of a few kinds that cannot change a program on the CPU.

    python -m tests.migration.edit_kinds FOLDER...    migrate all files, print all other edits

The kinds: a `device=` or `map_location=` more; `.to(device)` or `.cpu()` behind an expression
(`[t.cpu() for t in x]` for a list); a statement that moves names; a declaration of the device; a
buffer for a tensor attribute; a cast by name for a cast to a CPU type; a turned switch;
`.to(device)` instead of the `device=` that old constructors refuse.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from torchferry.core.errors import RewriteRefused, SourceError
from torchferry.migration import migrate_document
from torchferry.source.document import Document

_ASKS = r"[\w.]+\.is_available\(\)"
_CHOICE = rf"'\w+' if {_ASKS} else 'cpu'"
_SWITCH = re.compile(
    rf"({_CHOICE}|{_ASKS}|[\w.]*device\({_CHOICE}\)"
    rf"|[\w.]+current_accelerator\(\) if {_ASKS} else [\w.]*device\('cpu'\))"
)
_DEVICE = re.compile(r"([\w.]+|next\(\w+\.parameters\(\)\)\.device)")
_CASTS = frozenset("float double half long int short char byte bool".split())
_RANDOM = frozenset("rand randn randint randperm normal".split())


def other_edits(before: str, after: str) -> list[str]:
    """What differs between two programs and is no edit of the known kinds."""
    return [str(fault) for fault in _module(ast.parse(before), ast.parse(after))]


def _module(before: ast.AST, after: ast.AST) -> Iterator[str]:
    """The differences of two nodes that should be the same but for known edits."""
    if _moved_back(before, after):
        return
    if isinstance(after, ast.Call) and _is_suffix(after) and not _known_swap(before, after):
        inner = after.func.value  # type: ignore[attr-defined]
        if not _is_suffix(before) or ast.dump(before) != ast.dump(after):
            differences = list(_module(before, inner))
            direct = list(_fields(before, after)) if type(before) is type(after) else differences
            yield from min(differences, direct, key=len)
            return
    if _known_swap(before, after):
        return
    if type(before) is not type(after):
        yield f"line {_line(before)}: {_text(before)} -> {_text(after)}"
        return
    yield from _fields(before, after)


def _fields(before: ast.AST, after: ast.AST) -> Iterator[str]:
    for name in before._fields:
        old, new = getattr(before, name, None), getattr(after, name, None)
        if name == "keywords":
            yield from _keywords(before, old or [], new or [])
        elif name in ("body", "orelse", "finalbody") and isinstance(old, list):
            yield from _block(old, new or [])
        elif isinstance(old, list) and isinstance(new, list):
            for a, b in zip_longest(old, new):
                yield from _values(before, a, b)
        else:
            yield from _values(before, old, new)


def _values(parent: ast.AST, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        yield from _module(old, new)
    elif type(old) is not type(new) or (not isinstance(old, ast.AST) and old != new):
        yield f"line {_line(parent)}: {old!r} -> {new!r} in {_text(parent)}"


def _keywords(call: ast.AST, old: list[ast.keyword], new: list[ast.keyword]) -> Iterator[str]:
    names = [k.arg for k in old]
    rest = []
    for keyword in new:
        more = keyword.arg not in names
        if more and keyword.arg in ("device", "map_location") and _is_device(keyword.value):
            continue
        if more and keyword.arg == "default" and _SWITCH.fullmatch(_text(keyword.value)):
            continue
        rest.append(keyword)
    for a, b in zip_longest(old, rest):
        yield from _values(call, a, b)


def _block(old: list[ast.stmt], new: list[ast.stmt]) -> Iterator[str]:
    """Statements one by one; the new ones may have declarations and moves between."""
    index = 0
    for stmt in new:
        same = index < len(old) and not any(True for _ in _module(old[index], stmt))
        if not same and _is_declaration(stmt):
            continue
        if index >= len(old):
            yield f"a statement more: {_text(stmt)}"
            continue
        yield from _module(old[index], stmt)
        index += 1
    for stmt in old[index:]:
        yield f"line {stmt.lineno}: gone: {_text(stmt)}"


def _is_declaration(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.Import):
        return [a.name for a in stmt.names] == ["torch"]
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return False
    if isinstance(stmt.targets[0], ast.Name) and _SWITCH.fullmatch(_text(stmt.value)):
        return True
    names, values = stmt.targets[0], stmt.value
    left = names.elts if isinstance(names, ast.Tuple) else [names]
    right = values.elts if isinstance(values, ast.Tuple) else [values]
    return len(left) == len(right) and all(
        isinstance(v, ast.Call) and _is_suffix(v) and _text(v.func.value) == _text(n)  # type: ignore
        for n, v in zip(left, right, strict=True)
    )


def _is_suffix(node: ast.AST) -> bool:
    """`x.to(device)`, `x.cpu()`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    if node.func.attr == "cpu":
        return not node.args and not node.keywords
    return (
        node.func.attr == "to"
        and len(node.args) == 1
        and not node.keywords
        and _is_device(node.args[0])
    )


def _is_device(node: ast.AST) -> bool:
    return _DEVICE.fullmatch(_text(node)) is not None


def _moved_back(before: ast.AST, after: ast.AST) -> bool:
    """`x` -> `[t.cpu() for t in x]`."""
    return (
        isinstance(after, ast.ListComp)
        and _text(after.elt) == "t.cpu()"
        and len(after.generators) == 1
        and not any(True for _ in _module(before, after.generators[0].iter))
    )


def _known_swap(before: ast.AST, after: ast.AST) -> bool:
    old, new = _text(before), _text(after)
    if isinstance(before, ast.Call) and _is_suffix(after):
        return _is_old_constructor(before, after.func.value)  # type: ignore[attr-defined]
    if isinstance(before, ast.Constant):
        text = before.value if isinstance(before.value, str) else ""
        numbered = re.fullmatch(r"(cuda|mps|xpu):\d+", text)
        if numbered and new == f"'{text.partition(':')[0]}'":
            return True
    if old in ("'cpu'", "False") or re.fullmatch(r"[\w.]*device\('cpu'\)", old):
        return _SWITCH.fullmatch(new) is not None
    if isinstance(before, ast.Assign) and isinstance(after, ast.Expr):
        return _is_buffer(before, after.value)
    if isinstance(after, ast.Call) and isinstance(after.func, ast.Attribute):
        if after.func.attr in _CASTS and re.search(r"\.type\([\w.'\"]+Tensor['\"]?\)$", old):
            inner = before.func.value if isinstance(before, ast.Call) else before  # type: ignore
            return not any(True for _ in _module(inner, after.func.value))
        if after.func.attr == "requires_grad_" and "requires_grad=True" in old:
            return _is_suffix(after.func.value)
    return False


def _is_old_constructor(before: ast.Call, after: ast.expr) -> bool:
    """`torch.Tensor(x, device=d)` -> `torch.Tensor(x)`, which is moved behind."""
    kept = [k for k in before.keywords if k.arg != "device"]
    if not _text(before.func).endswith("Tensor") or kept == before.keywords:
        return False
    plain = ast.Call(before.func, before.args, kept)
    return not any(True for _ in _module(plain, after))


def _is_buffer(before: ast.Assign, after: ast.expr) -> bool:
    """`self.x = v` -> `self.register_buffer("x", v, persistent=False)`."""
    target = before.targets[0]
    return (
        isinstance(target, ast.Attribute)
        and isinstance(after, ast.Call)
        and _text(after.func) == f"{_text(target.value)}.register_buffer"
        and isinstance(after.args[0], ast.Constant)
        and after.args[0].value == target.attr
        and [(k.arg, _text(k.value)) for k in after.keywords] == [("persistent", "False")]
        and not any(True for _ in _module(before.value, after.args[1]))
    )


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _text(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else type(node).__name__


def main(folders: list[str]) -> int:
    """Migrate all files of some folders; 1 when an edit is of no known kind."""
    files = changed = faults = 0
    for path in sorted(p for folder in folders for p in Path(folder).rglob("*.py")):
        try:
            doc = Document.from_bytes(path.read_bytes(), str(path))
            result = migrate_document(doc)
        except (SourceError, RewriteRefused) as error:
            print(error)
            continue
        files += 1
        if not result.changed:
            continue
        changed += 1
        before = doc.text
        for span in sorted(doc.legacy_async, key=lambda s: s.start, reverse=True):
            before = before[: span.start] + "non_blocking" + before[span.end :]
        for fault in other_edits(before, result.after):
            faults += 1
            print(f"{path}: {fault[:300]}")
    print(f"{files} files, {changed} changed, {faults} edits of no known kind")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
