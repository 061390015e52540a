"""Shapes of structure: the program inside functions, classes, branches, loops, handlers."""

from __future__ import annotations

import ast

from .shape import Source, indented, shape, simple


def _inside(text: str, header: str, footer: str = "", imports: bool = False) -> str | None:
    """The program in a block; its imports stay outside unless `imports`."""
    source = Source(text)
    head, rest = ("", text) if imports else source.parted()
    if not rest.strip() or ("__future__" in text and imports):
        return None
    return f"{head}\n{header}\n{indented(rest)}{footer}"


def _in_function(text: str, header: str, footer: str, imports: bool = False) -> str | None:
    """As `_inside`; a function's names are not the module's."""
    source = Source(text)
    if source.uses("global") or any(
        isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in ast.walk(source.tree)
    ):
        return None
    return _inside(text, header, footer, imports)


@shape()
def in_a_function(text: str) -> str | None:
    return _in_function(text, "\ndef main():", "\n\nmain()\n")


@shape()
def imports_in_a_function(text: str) -> str | None:
    """Nothing of torch is known at the level of the module."""
    return _in_function(text, "\ndef main():", "\n\nmain()\n", imports=True)


@shape()
def in_a_nested_function(text: str) -> str | None:
    new = _in_function(text, "\ndef inner():", "\n\ninner()\n")
    return None if new is None else _in_function(new, "\ndef outer():", "\n\nouter()\n")


@shape()
def in_a_static_method(text: str) -> str | None:
    new = _in_function(text, "\n@staticmethod\ndef run():", "\n")
    return None if new is None else _inside(new, "\nclass App:", "\n\nApp.run()\n")


@shape()
def in_a_method(text: str) -> str | None:
    new = _in_function(text, "\ndef run(self, count=1):", "\n")
    return None if new is None else _inside(new, "\nclass App:", "\n\nApp().run()\n")


@shape()
def in_an_async_function(text: str) -> str | None:
    new = _in_function(text, "\nasync def main():", "\n\nasyncio.run(main())\n")
    return None if new is None or "__future__" in text else "import asyncio\n" + new


@shape()
def in_a_generator(text: str) -> str | None:
    new = _in_function(text, "\ndef steps():", "    yield 1\n\n\nfor _ in steps():\n    pass\n")
    return new


@shape()
def in_the_main_block(text: str) -> str | None:
    return _inside(text, 'if __name__ == "__main__":')


@shape()
def in_an_if(text: str) -> str | None:
    return _inside(text, 'if len("x") == 1:', 'else:\n    raise SystemExit("no")\n')


@shape()
def in_an_else(text: str) -> str | None:
    return _inside(text, 'if len("x") == 2:\n    raise SystemExit("no")\nelse:')


@shape()
def in_a_try(text: str) -> str | None:
    return _inside(text, "try:", 'except KeyError:\n    print("no")\n    raise\n')


@shape()
def in_a_finally(text: str) -> str | None:
    return _inside(text, "try:\n    pass\nfinally:")


@shape()
def in_a_with(text: str) -> str | None:
    new = _inside(text, "with contextlib.suppress(KeyError):")
    return None if new is None or "__future__" in text else "import contextlib\n" + new


@shape()
def in_a_for(text: str) -> str | None:
    return _inside(text, "for _turn in range(1):")


@shape()
def in_a_while(text: str) -> str | None:
    return _inside(text, "while True:", "    break\n")


@shape()
def in_a_match(text: str) -> str | None:
    new = _inside(text, "    case 1:")
    if new is None:
        return None
    head, _, rest = new.partition("    case 1:")
    return head + "match 1:\n    case 1:" + indented_block(rest)


def indented_block(text: str) -> str:
    """The lines of a block one step further to the right."""
    return "".join(
        "    " + line if line.strip() else line for line in text.splitlines(keepends=True)
    )


@shape()
def imports_under_try(text: str) -> str | None:
    head, rest = Source(text).parted()
    if '"""' in head or "__future__" in head or not head:
        return None
    return f"try:\n{indented(head)}except ImportError:\n    raise\n{rest}"


@shape()
def imports_under_if(text: str) -> str | None:
    head, rest = Source(text).parted()
    if '"""' in head or "__future__" in head or not head:
        return None
    return f"import sys\nif sys.version_info > (3,):\n{indented(head)}{rest}"


@shape()
def type_checking_block(text: str) -> str | None:
    head, rest = Source(text).parted()
    if "torch" not in head:
        return None
    block = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch import Tensor\n"
    return head + block + rest


@shape()
def statements_before_imports(text: str) -> str | None:
    if text.startswith('"""') or "__future__" in text:
        return None
    return 'import os\n\nos.environ["A_WORD"] = "1"\nYEAR = 2017\n' + text


@shape()
def imports_apart(text: str) -> str | None:
    """Code stands between the imports."""
    source = Source(text)
    imports = [s for s in source.tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    if len(imports) < 2 or "__future__" in text:
        return None
    for number, stmt in enumerate(imports):
        source.insert(source.span(stmt)[1], f"\nSTEP_{number} = {number}\nprint(STEP_{number})")
    return source.done()


@shape()
def no_blank_lines(text: str) -> str | None:
    new = "".join(line for line in text.splitlines(keepends=True) if line.strip())
    return None if new == text or '"""' in text else new


@shape()
def decorators(text: str) -> str | None:
    """Each function and class goes through a decorator that gives it back."""
    source = Source(text)
    found = False
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            at = source.offset(first, 0)
            source.insert(at, " " * node.col_offset + "@_same\n")
            found = True
    if not found:
        return None
    helper = "\n\ndef _same(found):\n    return found\n\n\n"
    source.insert(source.offset(source.head_end() + 1, 0), helper)
    return source.done()


@shape()
def twice(text: str) -> str | None:
    """The program runs twice, its text stands there twice."""
    head, rest = Source(text).parted()
    if "__future__" in head:
        return None
    return head + rest + "\n\n" + rest


@shape()
def a_base_class_more(text: str) -> str | None:
    """Each module class inherits from a class between."""
    source = Source(text)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and [source.of(b) for b in node.bases] == ["nn.Module"]:
            source.replace(node.bases[0], "_Base")
    if not source.edits:
        return None
    base = "\n\nclass _Base(nn.Module):\n    def name(self):\n        return 'base'\n\n\n"
    source.insert(source.offset(source.head_end() + 1, 0), base)
    return source.done()


@shape()
def dead_code(text: str) -> str | None:
    """What never runs refers to what is not there."""
    return text + "\n\nif False:\n    nothing = missing_name.to(nowhere)\n    del nothing\n"


@shape()
def pass_everywhere(text: str) -> str | None:
    source = Source(text)
    for block in source.blocks():
        last = block[-1]
        if simple(last) and last.col_offset:
            line = source.lines[last.lineno - 1]
            if not line[: last.col_offset].strip() and last.lineno != last.end_lineno:
                continue
            if not line[: last.col_offset].strip():
                source.insert(source.span(last)[0], "pass\n" + " " * last.col_offset)
    return source.done()
