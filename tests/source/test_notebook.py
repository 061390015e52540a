"""Notebooks: only the changed source lines change in the file, and magics come back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchferry.core.edit import Edit, Fix
from torchferry.core.errors import RewriteRefused, UnreadableSource
from torchferry.source.apply import apply_fixes
from torchferry.source.json_places import JsonError, places
from torchferry.source.notebook import NotebookDocument
from torchferry.source.reread import check_rewrite


def notebook(*cells: str | list[str], **metadata: object) -> bytes:
    content = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# %% cell 1\n", "text"]},
            *(
                {
                    "cell_type": "code",
                    "execution_count": 1,
                    "metadata": {"source": "not this"},
                    "outputs": [{"text": ["import torch\n", "\u00e9\u2028"]}],
                    "source": cell,
                }
                for cell in cells
            ),
        ],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def read(*cells: str | list[str]) -> NotebookDocument:
    return NotebookDocument.from_bytes(notebook(*cells), "n.ipynb")


def edited(doc: NotebookDocument, old: str, new: str) -> bytes:
    start = doc.text.index(old)
    applied = apply_fixes(doc, [Fix("t", (Edit(start, start + len(old), new),))])
    check_rewrite(applied)
    return doc.to_bytes(applied.text)


def test_the_code_cells_are_one_document() -> None:
    doc = read(["import torch\n", "x = 1"], "y = x\n", "")
    assert doc.text == "# %% cell 1\nimport torch\nx = 1\n# %% cell 2\ny = x\n\n# %% cell 3\n\n"
    assert len(doc.tree.body) == 3
    assert doc.opaque_cells == []


def test_only_the_changed_lines_change() -> None:
    cells = [["import torch\n", "x = 1\n", "z = 'é'"], "y = x\n"]
    doc = read(*cells)
    data = edited(doc, "x = 1", "x = 1\nw = 2")
    assert data == notebook(["import torch\n", "x = 1\n", "w = 2\n", "z = 'é'"], "y = x\n")
    assert edited(doc, "y = x", "y = x.cpu()") == notebook(cells[0], "y = x.cpu()\n")
    assert doc.to_bytes() == notebook(*cells)
    assert doc.to_bytes(doc.text) == notebook(*cells)


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_layout_and_escapes_are_kept(indent: int | str | None) -> None:
    content = json.loads(notebook(["x = 'é'\n", "y = 2"], "z = 3"))

    def dumped() -> bytes:
        return json.dumps(content, indent=indent, ensure_ascii=True).encode()

    doc = NotebookDocument.from_bytes(dumped(), "n.ipynb")
    data = edited(doc, "y = 2", "y = 2\nw = 'ü'")
    content["cells"][1]["source"] = ["x = 'é'\n", "y = 2\n", "w = 'ü'"]
    assert data == dumped()


@pytest.mark.parametrize(
    "magic",
    [
        "%matplotlib inline",
        "!pip install torch",
        "?print",
        "print?",
        "%%time\nx = 1",
        "files = !ls",
        "a, b = %sx ls",
    ],
)
def test_magics_are_masked_and_come_back(magic: str) -> None:
    cell = f"{magic}\nimport torch\nx = 1"
    doc = read(cell)
    assert "%" not in doc.text.replace("# %% cell", "")
    assert doc.plain(doc.text) == f"# %% cell 1\n{cell}\n"
    data = edited(doc, "import torch", "import torch\nw = 2")
    assert data == notebook(cell.replace("import torch", "import torch\nw = 2"))


def test_magics_in_blocks_keep_their_indentation() -> None:
    doc = read("if True:\n    !ls {x}\n    y = 1")
    assert doc.opaque_cells == []
    assert edited(doc, "y = 1", "y = 2") == notebook("if True:\n    !ls {x}\n    y = 2")


def test_percent_signs_in_code_are_no_magics() -> None:
    cell = "x = '''\n%s\n!a\n'''\ny = (5\n% 3)"
    assert cell in read(cell).text
    mixed = "%matplotlib inline\nx = '''\n%s\n'''\ny = 1"
    assert edited(read(mixed), "y = 1", "y = 2") == notebook(mixed.replace("y = 1", "y = 2"))


@pytest.mark.parametrize(
    "cell",
    [
        "%%bash\nls\n",
        "%%html\n<b>",
        "this is a draft (",
        "!pip install \\\n  torch",
        "print 'a'",
        "%%writefile x.py\nimport torch",
        "x = 1\r\n",
    ],
)
def test_cells_that_are_no_python_are_opaque(cell: str) -> None:
    doc = read("x = 1", cell, "y = 2")
    assert doc.opaque_cells == [(3, 2)]
    assert len(doc.tree.body) == 3
    assert edited(doc, "y = 2", "y = 3") == notebook("x = 1", cell, "y = 3")


def test_a_rewrite_that_loses_a_border_or_a_magic_is_refused() -> None:
    doc = read("%matplotlib inline\nx = 1", "y = 2")
    for wrong in (
        doc.text.replace("# %% cell 2\n", ""),
        doc.text.replace("# %% cell 2", "# %% cell 3"),
        "z\n" + doc.text,
        doc.text.replace("__torchferry_magic_1_0__", "pass"),
        doc.text.replace("x = 1", "x = __torchferry_magic_1_0__"),
    ):
        with pytest.raises(RewriteRefused):
            doc.to_bytes(wrong)


def test_a_cell_may_hold_the_marker_itself() -> None:
    doc = read("# %% cell 1\nx = 1", "y = 2")
    assert edited(doc, "y = 2", "y = 3") == notebook("# %% cell 1\nx = 1", "y = 3")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a notebook"),
        (b"x = 1\n", "not a notebook"),
        (b"[]", "no JSON object"),
        (b"{}", "it has no cells"),
        (b'{"worksheets": []}', "format 3"),
        (b'{"cells": [{"cell_type": "code"}]}', "code cell 1 has no source"),
        (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "cell 1 has no text"),
        (b'{"cells": 1}', "it has no cells"),
        (b"\xff", "not a notebook"),
        (b'{"cells": ' + b"[" * 100_000, "not a notebook"),
        (notebook("x", kernelspec={"language": "R"}), "a notebook in R, not in Python"),
        (notebook("x", language_info={"name": "julia"}), "a notebook in julia"),
    ],
)
def test_what_is_no_python_notebook_is_named(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableSource) as caught:
        NotebookDocument.from_bytes(data, "n.ipynb")
    assert reason in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_every_value_of_a_json_text_is_found(
    value: object, indent: int | str | None, plain: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=plain)

    def same(value: object, place) -> None:  # type: ignore[no-untyped-def]
        assert json.loads(text[place.span.start : place.span.end]) == value
        inner = (
            value.items()
            if isinstance(value, dict)
            else enumerate(value)
            if isinstance(value, list)
            else ()
        )
        for key, child in inner:
            same(child, place.children[key])

    same(value, places(text))


@given(st.text(alphabet='[]{}",:0a \\', max_size=12))
def test_every_text_is_json_or_refused(text: str) -> None:
    try:
        places(text)
    except JsonError:
        return
