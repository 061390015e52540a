"""`insert_after_imports` finds the place a person would choose."""

from __future__ import annotations

import pytest

from torchferry.core.edit import Fix
from torchferry.source.apply import apply_fixes
from torchferry.source.build import insert_after_imports
from torchferry.source.document import Document
from torchferry.source.reread import check_rewrite


def inserted(source: str, **lines: int) -> str | None:
    doc = Document.from_text(source, "p.py")
    edits = insert_after_imports(doc, "N = 1", **lines)
    if edits is None:
        return None
    applied = apply_fixes(doc, [Fix("t", edits)])
    check_rewrite(applied)
    return applied.text


CASES = [
    ("import a\n\nx\n", "import a\n\nN = 1\n\nx\n"),
    ("import a\n\n\nclass A: pass\n", "import a\n\nN = 1\n\n\nclass A: pass\n"),
    ("import a\nx\n", "import a\nN = 1\nx\n"),
    ("import a", "import a\n\nN = 1"),
    ("import a\n", "import a\n\nN = 1\n"),
    ("import a  # c\n\nx\n", "import a  # c\n\nN = 1\n\nx\n"),
    (
        "'doc'\nimport a\nfrom b import (\n    c,\n)\n\nx\n",
        "'doc'\nimport a\nfrom b import (\n    c,\n)\n\nN = 1\n\nx\n",
    ),
    ("import a; x\n", "import a; N = 1; x\n"),
    ("import a\n\nx = 1\nimport b\n\ny\n", "import a\n\nx = 1\nimport b\n\nN = 1\n\ny\n"),
    ("import a\na.use('b')\nimport b\n\ny\n", "import a\na.use('b')\nimport b\n\nN = 1\n\ny\n"),
    ("import a\n\ndef f(): pass\n\nimport b\n", "import a\n\nN = 1\n\ndef f(): pass\n\nimport b\n"),
    ("import a\n\nfor x in y:\n    import b\n", "import a\n\nN = 1\n\nfor x in y:\n    import b\n"),
    (
        "import a\ntry:\n    import b\nexcept ImportError:\n    b = None\n\nx\n",
        "import a\ntry:\n    import b\nexcept ImportError:\n    b = None\n\nN = 1\n\nx\n",
    ),
    (
        "import a\nif a.x:\n    import b\nelse:\n    import c as b\n\nx\n",
        "import a\nif a.x:\n    import b\nelse:\n    import c as b\n\nN = 1\n\nx\n",
    ),
    (
        "import a\n\nif __name__ == '__main__':\n    import b\n",
        "import a\n\nN = 1\n\nif __name__ == '__main__':\n    import b\n",
    ),
    ("from __future__ import division\n\nx\n", "from __future__ import division\n\nN = 1\n\nx\n"),
    (
        "from __future__ import division\nimport a\n\nx\n",
        "from __future__ import division\nimport a\n\nN = 1\n\nx\n",
    ),
    ("# c\nx\n", "# c\nN = 1\nx\n"),
    ("'doc'\n\nx\n", "'doc'\nN = 1\n\nx\n"),
    ("import a\n    # odd\n\nx\n".replace("    # odd\n", ""), "import a\n\nN = 1\n\nx\n"),
]


@pytest.mark.parametrize(("source", "expected"), CASES)
def test_place(source: str, expected: str) -> None:
    assert inserted(source) == expected
    windows = inserted(source.replace("\n", "\r\n"))
    assert windows == expected.replace("\n", "\r\n") or "\n" not in source


def test_it_comes_before_the_first_use() -> None:
    source = "import a\n\nx = a(N)\n\nimport b\n\ny\n"
    assert inserted(source, before_line=3) == "import a\n\nN = 1\n\nx = a(N)\n\nimport b\n\ny\n"
    assert inserted(source) == "import a\n\nx = a(N)\n\nimport b\n\nN = 1\n\ny\n"


def test_it_comes_after_what_it_needs() -> None:
    source = "import a\n\ndef f(): pass\n\nimport torch\n\ny\n"
    expected = "import a\n\ndef f(): pass\n\nimport torch\n\nN = 1\n\ny\n"
    assert inserted(source, after_line=5) == expected
    assert (
        inserted(source, after_line=1)
        == "import a\n\nN = 1\n\ndef f(): pass\n\nimport torch\n\ny\n"
    )
    assert inserted(source, after_line=5, before_line=3) is None
    assert inserted("x = 1\nimport torch\n", before_line=1, after_line=2) is None


def test_a_use_before_all_imports_leaves_the_start_of_the_file() -> None:
    assert inserted("'doc'\nx = N\nimport a\n", before_line=2) == "'doc'\nN = 1\nx = N\nimport a\n"
