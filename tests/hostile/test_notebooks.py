"""Fixtures as notebooks: a cell a statement, with magics and cells of other languages."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from torchferry.migration import migrate_document
from torchferry.source.notebook import NotebookDocument

from ..migration.fixtures import Fixture, load
from ..migration.running import printed, printed_on_gpu
from ..migration.test_running import without_numbers

FIXTURES = [f for f in load() if not (f.not_yet or f.not_run)]
CHANGING = [f for f in FIXTURES if f.changes]
MAGICS = ("%matplotlib inline\n", "!nvidia-smi\n", "files = !ls\n", "torch?\n")
SHELL = "%%bash\nfor x in a b; do echo $x; done"


def cells_of(source: str) -> list[str]:
    """The statements of a program, with magics and shell cells between them."""
    lines = source.splitlines(keepends=True)
    cells = [SHELL]
    last = 0
    for number, stmt in enumerate(ast.parse(source).body):
        end = stmt.end_lineno or 0
        magic = MAGICS[number % len(MAGICS)] if number % 2 else ""
        cells.append(magic + "".join(lines[last:end]).rstrip("\n"))
        last = end
    return cells


def notebook(cells: list[str], as_lists: bool) -> bytes:
    """The notebook file of some code cells, with text and outputs between."""
    content: list[dict[str, Any]] = []
    for number, cell in enumerate(cells):
        source: Any = cell.splitlines(keepends=True) if as_lists else cell
        content.append({"cell_type": "markdown", "metadata": {}, "source": "# import torch \u2192"})
        content.append(
            {
                "cell_type": "code",
                "execution_count": number,
                "metadata": {"tags": ["\u00e4"]},
                "outputs": [{"name": "stdout", "output_type": "stream", "text": ["torch.ones\n"]}],
                "source": source,
            }
        )
    metadata = {"kernelspec": {"name": "python3", "language": "python"}}
    file = {"cells": content, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(file, indent=1, ensure_ascii=False).encode()


def code_of(data: bytes) -> str:
    """The program of a notebook, magics and cells of other languages left out."""
    cells = [
        "".join(cell["source"]) for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"
    ]
    python = [cell for cell in cells if not cell.startswith("%%")]
    lines = "\n".join(python).split("\n")
    return "\n".join(line for line in lines if line + "\n" not in MAGICS) + "\n"


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)
def test_notebook(fixture: Fixture) -> None:
    data = notebook(cells_of(fixture.before), as_lists=len(fixture.name) % 2 == 0)
    doc = NotebookDocument.from_bytes(data, "program.ipynb")
    result = migrate_document(doc, fixture.options)
    written = doc.to_bytes(result.after)
    assert result.changed == fixture.changes == (written != data)
    again = NotebookDocument.from_bytes(written, "program.ipynb")
    assert migrate_document(again, fixture.options).after == again.text, "a second run"
    before, after = json.loads(data), json.loads(written)
    assert len(before["cells"]) == len(after["cells"])
    for old, new in zip(before["cells"], after["cells"], strict=True):
        if old["cell_type"] == "code":
            old.pop("source"), new.pop("source")
        assert old == new, "only code changes"
    for magic in (*MAGICS, SHELL):
        kept = json.dumps(magic.rstrip("\n"), ensure_ascii=False)[1:-1]
        assert written.count(kept.encode()) == data.count(kept.encode())


@pytest.mark.parametrize("fixture", CHANGING[::4], ids=lambda f: f.name)
def test_notebook_means_the_same(fixture: Fixture) -> None:
    pytest.importorskip("torch")
    data = notebook(cells_of(fixture.before), as_lists=True)
    doc = NotebookDocument.from_bytes(data, "program.ipynb")
    after = code_of(doc.to_bytes(migrate_document(doc, fixture.options).after))
    assert code_of(data).replace("\n", "") == fixture.before.replace("\n", "")
    assert printed(after) == printed(fixture.before)
    if fixture.options.device == "auto":
        lines, account = printed_on_gpu(after)
        assert without_numbers(lines) == without_numbers(printed(fixture.before))
        assert account.gpu_operators
