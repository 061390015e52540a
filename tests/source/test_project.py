"""Which file a module name means, and which files belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchferry.source.document import Document
from torchferry.source.project import MAX_GROUP, Project, groups, imported_modules, program_of


def document(path: Path) -> Document:
    return Document.from_bytes(path.read_bytes(), str(path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "main.py": "import torch\nimport utils\nfrom net.layers import Block\n",
        "utils.py": "import torch\nimport random\n",
        "net/__init__.py": "from .layers import Block\n",
        "net/layers.py": "import torch\nfrom .. import missing\nfrom . import blocks\n",
        "net/blocks.py": "import torch\n",
        "other.py": "import torch\n",
        "random.py": "raise SystemExit\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_the_names_that_a_source_imports() -> None:
    text = "import a, b.c as d\nfrom . import e\nfrom ..f.g import (h, i)\nif x:\n    import j\n"
    assert set(imported_modules(text)) >= {"a", "b.c", ".", ".e", "..f.g", "..f.g.h", "j"}


@pytest.mark.parametrize(
    ("module", "importer", "found"),
    [
        ("utils", "main.py", "utils.py"),
        ("net", "main.py", "net/__init__.py"),
        ("net.layers", "main.py", "net/layers.py"),
        (".layers", "net/__init__.py", "net/layers.py"),
        (".blocks", "net/layers.py", "net/blocks.py"),
        ("utils", "net/layers.py", "utils.py"),  # from a folder above
        ("nothing", "main.py", None),
        ("random", "main.py", "random.py"),  # the script's folder comes first, as for Python
        ("random", "net/layers.py", None),  # ... and not for a module of a package
        ("torch", "main.py", None),
    ],
)
def test_find(folder: Path, module: str, importer: str, found: str | None) -> None:
    result = Project([]).find(module, str(folder / importer))
    assert (None if result is None else Path(result.path)) == (found and folder / found)


def test_find_looks_where_the_program_puts_its_path(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "helper.py").write_text("import torch\n")
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "run.py"
    script.write_text("import sys\nsys.path.append('../lib')\nimport helper\n")
    found = Project([document(script)]).find("helper", str(script))
    assert found is not None
    assert Path(found.path).name == "helper.py"


def test_a_program_is_what_its_script_imports(folder: Path) -> None:
    found = program_of(document(folder / "main.py"))
    names = {Path(d.path).relative_to(folder).as_posix() for d in found}
    named = {"main.py", "utils.py", "net/__init__.py", "net/layers.py", "net/blocks.py"}
    assert names == named | {"random.py"}


def test_files_that_import_each_other_are_one_group(folder: Path) -> None:
    names = ["main.py", "utils.py", "net/__init__.py", "net/layers.py", "net/blocks.py", "other.py"]
    found = groups([document(folder / name) for name in names])
    sizes = [sorted(Path(d.path).relative_to(folder).as_posix() for d in group) for group in found]
    assert sizes == [sorted(names[:-1]), ["other.py"]]


def test_a_whole_library_is_no_group(tmp_path: Path) -> None:
    for number in range(MAX_GROUP + 1):
        (tmp_path / f"m{number}.py").write_text(f"import m{max(0, number - 1)}\n")
    documents = [document(path) for path in sorted(tmp_path.glob("*.py"))]
    assert all(len(group) == 1 for group in groups(documents))


def test_a_notebook_belongs_to_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import torch\n")
    notebook = Document.from_text("from helper import f\n", str(tmp_path / "a.ipynb"))
    helper = document(tmp_path / "helper.py")
    assert groups([notebook, helper]) == [[notebook, helper]]
