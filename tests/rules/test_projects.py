"""Imports inside a project: a helper in another file is known, a fault there is found there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchferry.core.finding import Severity
from torchferry.rules.engine import Checked, check_in_project
from torchferry.source.files import load
from torchferry.source.project import Project

#: what the call in the main file gives back: on the device, and on the host
MOVES = "import torch\n\ndef f(x):\n    return x.cuda()\n"
KEEPS = "import torch\n\ndef f(x):\n    return x * 2\n"
MAIN = (
    "import torch\n{}\nnet = torch.nn.Linear(3, 1).cuda()\nx = torch.randn(4, 3)\ny = net({}(x))\n"
)

PKG = {"pkg/__init__.py": ""}
SUB = {"pkg/__init__.py": "", "pkg/sub/__init__.py": ""}
CALLS = "\ndef g(x):\n    return f(x)\n"

#: name -> (main file, import, what is called, helper file, other files)
LAYOUTS: dict[str, tuple[str, str, str, str, dict[str, str]]] = {
    "name": ("main.py", "from helper import f", "f", "helper.py", {}),
    "renamed": ("main.py", "from helper import f as g", "g", "helper.py", {}),
    "module": ("main.py", "import helper", "helper.f", "helper.py", {}),
    "module-as": ("main.py", "import helper as h", "h.f", "helper.py", {}),
    "star": ("main.py", "from helper import *", "f", "helper.py", {}),
    "dotted": ("main.py", "import pkg.helper", "pkg.helper.f", "pkg/helper.py", PKG),
    "dotted-as": ("main.py", "import pkg.helper as m", "m.f", "pkg/helper.py", PKG),
    "from-package": ("main.py", "from pkg import helper", "helper.f", "pkg/helper.py", PKG),
    "no-init": ("main.py", "from pkg.helper import f", "f", "pkg/helper.py", {}),
    "no-init-dotted": ("main.py", "import pkg.helper", "pkg.helper.f", "pkg/helper.py", {}),
    "no-init-module": ("main.py", "from pkg import helper", "helper.f", "pkg/helper.py", {}),
    "no-init-deep": ("main.py", "import a.b.helper as h", "h.f", "a/b/helper.py", {}),
    "front-door": (
        "main.py",
        "from pkg import f",
        "f",
        "pkg/helper.py",
        {"pkg/__init__.py": "from .helper import f\n"},
    ),
    "front-door-as": (
        "main.py",
        "import pkg",
        "pkg.g",
        "pkg/helper.py",
        {"pkg/__init__.py": "from .helper import f as g\n"},
    ),
    "front-door-star": (
        "main.py",
        "from pkg import *",
        "f",
        "pkg/helper.py",
        {"pkg/__init__.py": "from .helper import *\n"},
    ),
    "front-door-module": (
        "main.py",
        "import pkg",
        "pkg.helper.f",
        "pkg/helper.py",
        {"pkg/__init__.py": "from . import helper\n"},
    ),
    "two-doors": (
        "main.py",
        "from a import f",
        "f",
        "a/b/helper.py",
        {"a/__init__.py": "from .b import f\n", "a/b/__init__.py": "from .helper import f\n"},
    ),
    "all": (
        "main.py",
        "from pkg import *",
        "f",
        "pkg/helper.py",
        {"pkg/__init__.py": "from .helper import f\nother = 1\n__all__ = ['f']\n"},
    ),
    "relative": ("pkg/main.py", "from .helper import f", "f", "pkg/helper.py", PKG),
    "relative-module": ("pkg/main.py", "from . import helper", "helper.f", "pkg/helper.py", PKG),
    "relative-up": ("pkg/sub/main.py", "from ..helper import f", "f", "pkg/helper.py", SUB),
    "relative-up-module": (
        "pkg/sub/main.py",
        "from .. import helper as h",
        "h.f",
        "pkg/helper.py",
        SUB,
    ),
    "relative-down": ("pkg/main.py", "from .sub.helper import f", "f", "pkg/sub/helper.py", PKG),
    "package-file": ("pkg/__init__.py", "from .helper import f", "f", "pkg/helper.py", {}),
    "src": (
        "tests/test_it.py",
        "from pkg.helper import f",
        "f",
        "src/pkg/helper.py",
        {"src/pkg/__init__.py": "", "pyproject.toml": ""},
    ),
    "above": ("scripts/run.py", "from lib.helper import f", "f", "lib/helper.py", {"setup.py": ""}),
    "deep": (
        "pkg/a/b/c/d/main.py",
        "from pkg.helper import f",
        "f",
        "pkg/helper.py",
        {f"pkg/{below}__init__.py": "" for below in ("", "a/", "a/b/", "a/b/c/", "a/b/c/d/")},
    ),
    "own-path": (
        "scripts/run.py",
        "import sys\nsys.path.insert(0, '../lib')\nimport helper",
        "helper.f",
        "lib/helper.py",
        {"setup.py": ""},
    ),
    "shadow": ("main.py", "from datasets import f", "f", "datasets.py", {}),
    "shadow-stdlib": ("main.py", "import statistics", "statistics.f", "statistics.py", {}),
    "package-first": (
        "main.py",
        "from helper import f",
        "f",
        "helper/__init__.py",
        {"helper.py": "def f(x):\n    return None\n"},
    ),
    "own-name": (
        "timm/main.py",
        "from timm.helper import f",
        "f",
        "timm/helper.py",
        {"timm/__init__.py": ""},
    ),
    "in-function": (
        "main.py",
        "def g(x):\n    from helper import f\n    return f(x)\n",
        "g",
        "helper.py",
        {},
    ),
    "try": (
        "main.py",
        "try:\n    from helper import f\nexcept ImportError:\n    f = None\n",
        "f",
        "helper.py",
        {},
    ),
    "typing": (
        "main.py",
        "import typing\nfrom helper import f\nif typing.TYPE_CHECKING:\n    from helper import O\n",
        "f",
        "helper.py",
        {},
    ),
    "chain": (
        "main.py",
        "from one import g",
        "g",
        "helper.py",
        {"one.py": "from helper import f\n" + CALLS},
    ),
    "module-attribute": (
        "main.py",
        "import one",
        "one.helper.f",
        "helper.py",
        {"one.py": "import helper\n"},
    ),
    "circle": (
        "main.py",
        "from one import g",
        "g",
        "helper.py",
        {
            "one.py": "import two\nfrom helper import f\n\ndef g(x):\n    return two.h(x)\n",
            "two.py": "import one\n\ndef h(x):\n    return one.f(x)\n",
        },
    ),
    "circle-with-main": (
        "main.py",
        "from one import g",
        "g",
        "helper.py",
        {"one.py": "import main\nfrom helper import f\n" + CALLS},
    ),
    "bom-and-newlines": (
        "main.py",
        "from one import f",
        "f",
        "helper.py",
        {"one.py": "\ufefffrom helper import *\r\n"},
    ),
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def checked(path: Path) -> Checked:
    document = load(str(path))
    return check_in_project(document, None, Project([document]))


def found(result: Checked) -> list[tuple[str, str, int]]:
    both = [*result.findings, *result.elsewhere]
    return [
        (Path(f.location.path).name, f.code, f.location.line)
        for f in both
        if f.severity is not Severity.NOTE
    ]


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("helper", [MOVES, KEEPS], ids=["moves", "keeps"])
def test_helper_in_another_file_is_known(tmp_path: Path, name: str, helper: str) -> None:
    main, imported, called, place, others = LAYOUTS[name]
    text = MAIN.format(imported, called)
    write(tmp_path, {**others, place: helper, main: text})
    result = found(checked(tmp_path / main))
    line = text.count("\n")
    expected = [] if helper is MOVES else [(Path(main).name, "DEV101", line)]
    assert [one for one in result if one[1] == "DEV101"] == expected
    assert helper is KEEPS or result == []


@pytest.mark.parametrize(
    ("main", "imported", "called", "place", "others"),
    [
        # in a package, an absolute import is not its neighbour
        ("pkg/main.py", "from datasets import f", "f", "pkg/datasets.py", PKG),
        ("pkg/main.py", "import random", "random.f", "pkg/random.py", PKG),
        # above the top of a project is another project
        ("mine/a/main.py", "from other import f", "f", "other.py", {"mine/pyproject.toml": ""}),
        ("main.py", "from .missing import f", "f", "helper.py", {}),
    ],
)
def test_what_python_would_not_import_is_not_followed(
    tmp_path: Path, main: str, imported: str, called: str, place: str, others: dict[str, str]
) -> None:
    write(tmp_path, {**others, place: KEEPS, main: MAIN.format(imported, called)})
    assert found(checked(tmp_path / main)) == []


def test_notebook_follows_its_imports(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": MAIN.format("from helper import f", "f"),
            "metadata": {}, "outputs": [], "execution_count": None}  # fmt: skip
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    write(tmp_path, {"helper.py": KEEPS, "book.ipynb": json.dumps(book)})
    assert [code for _, code, _ in found(checked(tmp_path / "book.ipynb"))] == ["DEV101"]


NET = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 1)
        self.scale = torch.ones(3)

    def forward(self, x):
        keep = torch.ones(x.shape[0], 1)
        return self.lin(x * self.scale) * keep
"""
USES = "import torch\nfrom net import Net\nnet = Net().cuda()\nnet(torch.randn(4, 3).cuda())\n"


def test_fault_of_another_file_is_reported_there_without_a_fix(tmp_path: Path) -> None:
    write(tmp_path, {"net.py": NET, "main.py": USES})
    result = checked(tmp_path / "main.py")
    assert found(result) == [("net.py", "DEV401", 7)]
    (finding,) = result.elsewhere
    assert (Path(finding.location.path).name, finding.code, finding.location.line) == (
        "net.py", "DEV401", 7,
    )  # fmt: skip
    assert finding.fix is None
    steps = [(Path(e.location.path).name, e.location.line) for e in finding.evidence]
    assert ("main.py", 4) in steps
    assert ("net.py", 7) in steps


def test_right_class_of_another_file_is_not_accused(tmp_path: Path) -> None:
    right = NET.replace("self.scale = torch.ones(3)", 'self.register_buffer("s", torch.ones(3))')
    right = right.replace("self.scale", "self.s").replace("0], 1)", "0], 1, device=x.device)")
    write(tmp_path, {"net.py": right, "main.py": USES})
    assert found(checked(tmp_path / "main.py")) == []


def test_comment_of_another_file_silences_there(tmp_path: Path) -> None:
    silent = NET.replace("torch.ones(3)\n", "torch.ones(3)  # torchferry: ignore[DEV401, DEV102]\n")
    silent = silent.replace("0], 1)\n", "0], 1)  # torchferry: ignore\n")
    write(tmp_path, {"net.py": silent, "main.py": USES})
    result = checked(tmp_path / "main.py")
    assert "DEV401" not in [f.code for f in result.elsewhere]
    lines = {line: set(codes) for _, line, codes in result.silenced}
    assert lines[7] == {"DEV401"}


def test_constants_of_a_file_without_torch(tmp_path: Path) -> None:
    main = "import torch\nfrom cfg import {0}\nnet = torch.nn.Linear(3, 1).to({0})\n"
    main += "x = torch.randn(4, 3)\nnet(x)\nnet(x.to({0}))\n"
    write(tmp_path, {"cfg.py": 'PLACE = "cuda"\nHOST = "cpu"\n'})
    write(tmp_path, {"a.py": main.format("PLACE"), "b.py": main.format("HOST")})
    result = checked(tmp_path / "a.py")
    assert found(result) == [("a.py", "DEV101", 5)]
    (fix,) = [f.fix for f in result.findings if f.code == "DEV101"]
    assert fix is not None
    assert fix.edits[0].text == ".to(PLACE)"
    assert found(checked(tmp_path / "b.py")) == []


def test_default_device_that_an_import_sets_is_known(tmp_path: Path) -> None:
    """Without the import, the last line is a fault; with it, the tensor is born on the GPU."""
    main = "import torch\n{}net = torch.nn.Linear(3, 1).cuda()\nnet(torch.randn(4, 3))\n"
    write(tmp_path, {"setup_gpu.py": 'import torch\ntorch.set_default_device("cuda")\n'})
    write(tmp_path, {"a.py": main.format(""), "b.py": main.format("import setup_gpu\n")})
    assert [code for _, code, _ in found(checked(tmp_path / "a.py"))] == ["DEV101"]
    assert found(checked(tmp_path / "b.py")) == []


def test_model_moved_by_a_helper_of_another_file(tmp_path: Path) -> None:
    helper = "import torch\n\ndef prepare(net):\n    net.{}()\n"
    main = "import torch\nfrom helper import prepare\nnet = torch.nn.Linear(3, 1)\nprepare(net)\n"
    main += "net(torch.randn(4, 3).cuda())\n"
    write(tmp_path, {"main.py": main, "helper.py": helper.format("cuda")})
    assert found(checked(tmp_path / "main.py")) == []
    write(tmp_path, {"helper.py": helper.format("train")})
    assert [code for _, code, _ in found(checked(tmp_path / "main.py"))] == ["DEV501"]


def test_program_that_leaves_torch_to_its_other_files(tmp_path: Path) -> None:
    model = "import torch\nnet = torch.nn.Linear(3, 1)\nx = torch.randn(4, 3)\n"
    write(
        tmp_path, {"model.py": model, "main.py": "from model import net, x\nnet.cuda()\nnet(x)\n"}
    )
    assert found(checked(tmp_path / "main.py")) == [("main.py", "DEV101", 3)]


# ---- what was not analysed


def gaps(path: Path) -> list[tuple[int, str]]:
    return [(gap.location.line, gap.reason) for gap in checked(path).not_analysed]


def test_code_made_at_run_time_is_listed(tmp_path: Path) -> None:
    text = "import torch\nimport importlib\nexec(input())\neval(input())\neval('1')\n"
    text += "importlib.import_module(input())\nnet = torch.nn.Linear(1, 1).eval()\n"
    write(tmp_path, {"main.py": text})
    assert [line for line, _ in gaps(tmp_path / "main.py")] == [3, 4, 6]


def test_imports_that_could_not_be_followed_are_listed(tmp_path: Path) -> None:
    text = "import torch\nfrom broken import f\nfrom .gone import g\nfrom huge import h\n"
    write(tmp_path, {"main.py": text + "import wandb\nf(g(h(1)))\n"})
    write(tmp_path, {"broken.py": "import torch\ndef f(:\n", "huge.py": "import torch\n" * 9000})
    found = dict(gaps(tmp_path / "main.py"))
    assert set(found) == {2, 3, 4}
    assert "broken" in found[2]
    assert ".gone" in found[3]
    assert "huge" in found[4]


def test_functions_beyond_the_bounds_are_listed(tmp_path: Path) -> None:
    chain = "\n".join(f"def f{n}(x):\n    f{n + 1}(x)\n    return f{n + 1}(x)" for n in range(40))
    text = f"import torch\n{chain}\ndef f40(x):\n    return x\ny = f0(torch.ones(1))\n"
    write(tmp_path, {"main.py": text})
    assert any("bounds" in reason for _, reason in gaps(tmp_path / "main.py"))


def test_nothing_is_listed_for_plain_code(tmp_path: Path) -> None:
    write(tmp_path, {"net.py": NET, "main.py": USES})
    assert gaps(tmp_path / "main.py") == []


# ---- what is not in the project


@pytest.mark.parametrize("call", ["prepare(net)", "tool.prepare(net)", "prepare([net])"])
def test_unknown_code_may_move_a_module_that_it_is_given(tmp_path: Path, call: str) -> None:
    text = "import torch\nimport tool\nfrom tool import prepare\nnet = torch.nn.Linear(3, 1)\n{}\n"
    text += "net(torch.randn(4, 3).cuda())\n"
    write(tmp_path, {"a.py": text.format(call), "b.py": text.format("prepare(1)")})
    assert found(checked(tmp_path / "a.py")) == []
    assert [code for _, code, _ in found(checked(tmp_path / "b.py"))] == ["DEV501"]
