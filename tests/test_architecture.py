"""The borders of the design, held by machine: who may import whom, sizes, public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

import torchferry

ROOT = Path(torchferry.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

#: What each part may import of the others. Nothing else; so there is no way back up.
MAY_IMPORT = {
    "core": set(),
    "source": {"core"},
    "torchapi": {"core"},
    "flow": {"core", "source", "torchapi"},
    "rules": {"core", "source", "torchapi", "flow"},
    "migration": {"core", "source", "torchapi", "flow", "rules"},
    "trace": {"core"},
    "sim": {"core", "trace", "torchapi"},
    "verification": {"core", "source", "migration", "trace"},
    "report": {"core", "source", "migration", "trace", "verification"},
    "cli": {"core", "source", "torchapi", "flow", "rules", "migration", "trace"}
    | {"verification", "report", "api", "_version"},
    "api": {"core", "source", "rules", "migration", "verification", "sim"},
    "__init__": {"api", "_version"},
    "__main__": {"cli"},
    "_version": set(),
}
#: Folders that run in the user's own process, where torch is.
WITH_TORCH = ("sim", "verification/child")
MAY_IMPORT_SIM = ("verification/child",)

MAX_FILE = 400
MAX_FUNCTION = 60
#: Longer than the limits, each with its reason.
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS = {
    "sim/computing.py:runner": "the closure of the hot path: its locals are its speed",
    "sim/computing.py:run": "the hot path of every simulated operator: each call has its price",
}


class Import(NamedTuple):
    """One import: the module that it names, and whether it runs when the importer is loaded."""

    target: str
    line: int
    at_load: bool


def name_of(path: Path) -> str:
    """sim/mode.py -> torchferry.sim.mode."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in MODULES}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    """All imports but those for type checkers only."""
    return tuple(_imports(tree_of(path), path, at_load=True))


def _imports(node: ast.AST, path: Path, at_load: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield from _imports(other, path, at_load)
        elif isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, at_load)
        elif isinstance(child, ast.ImportFrom):
            base = _absolute(child, path)
            for alias in child.names:
                inner = f"{base}.{alias.name}"
                yield Import(inner if inner in NAMES else base, child.lineno, at_load)
        else:
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, path, at_load and not function)


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    if not node.level:
        return node.module or ""
    package = name_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])


def part_of(name: str) -> str:
    """torchferry.sim.mode -> sim."""
    return [*name.split("."), "__init__"][1]


def inside(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=inside)
def test_imports_go_one_way(path: Path) -> None:
    own = part_of(name_of(path))
    assert own in MAY_IMPORT, f"{own}: a new part needs its place in MAY_IMPORT"
    for target, line, _ in imports_of(path):
        if target.split(".")[0] != "torchferry":
            continue
        other = part_of(target)
        allowed = MAY_IMPORT[own] | {own, "__init__", "_version"}
        if other == "sim" and inside(path).startswith(MAY_IMPORT_SIM):
            continue
        assert other in allowed, (
            f"{inside(path)}:{line} imports {target}: {own} may not use {other}"
        )


@pytest.mark.parametrize("path", MODULES, ids=inside)
def test_only_the_running_half_imports_torch(path: Path) -> None:
    if inside(path).startswith(WITH_TORCH):
        return
    for target, line, _ in imports_of(path):
        assert target.split(".")[0] not in ("torch", "numpy"), f"{inside(path)}:{line}"


def test_there_are_no_import_circles() -> None:
    """Among the imports that run when a module is loaded.

    Inside one part, functions that call each other recursively (an interpreter's) may import
    each other when called; between parts `MAY_IMPORT` forbids that too.
    """
    graph = {
        name: {found.target for found in imports_of(path) if found.at_load} & set(NAMES) - {name}
        for name, path in NAMES.items()
    }
    done: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            raise AssertionError(" -> ".join([*trail[trail.index(name) :], name]))
        if name not in done:
            for target in sorted(graph[name]):
                walk(target, (*trail, name))
            done.add(name)

    for name in graph:
        walk(name, ())


def test_files_are_small() -> None:
    sizes = {inside(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {name for name, size in sizes.items() if size > MAX_FILE} == set(LONG_FILES)
    over = [name for name, size in sizes.items() if size > 300]
    assert len(over) <= len(sizes) / 10, f"too many files over 300 lines: {over}"
    assert median(sizes.values()) < 200


def test_functions_are_short() -> None:
    long = {
        f"{inside(path)}:{node.name}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION
    }
    assert long == set(LONG_FUNCTIONS)


def test_modules_and_public_functions_say_what_they_do() -> None:
    silent = []
    for path in MODULES:
        tree = tree_of(path)
        if tree.body and not ast.get_docstring(tree):
            silent.append(inside(path))
        for node in tree.body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_"
            if inside(path).startswith("sim/"):
                continue  # stand-ins there have the names, and so the documentation, of torch's own
            if public and not ast.get_docstring(node):  # type: ignore[arg-type]
                silent.append(f"{inside(path)}:{node.name}")  # type: ignore[union-attr]
    assert not silent


def test_public_names() -> None:
    assert torchferry.__all__ == ["__version__", "check", "migrate", "simulate", "verify"]
    assert set(torchferry.__all__) <= set(dir(torchferry))
    for name in torchferry.__all__:
        value = getattr(torchferry, name)
        assert isinstance(value, str) or value.__doc__
    with pytest.raises(AttributeError, match="no attribute 'fly'"):
        _ = torchferry.fly


BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(name + " must not be imported")
sys.meta_path.insert(0, Blocker())
sys.path.insert(0, {path!r})
"""


def blocked(code: str, *names: str) -> None:
    start = BLOCKER.format(blocked=set(names), path=str(ROOT.parent))
    done = subprocess.run(
        [sys.executable, "-c", start + code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_importing_torchferry_is_light() -> None:
    blocked("import torchferry", "torch", "numpy", "click", "rich", "asyncio", "ast", "dataclasses")


@pytest.mark.parametrize("command", ["migrate", "check"])
def test_the_static_half_is_light(command: str, tmp_path: Path) -> None:
    if command == "check" and "torchferry.rules.engine" not in NAMES:
        pytest.skip("there are no rules yet")
    program = tmp_path / "a.py"
    program.write_text("import torch\nx = torch.ones(2)\nprint(x.numpy())\n")
    call = (
        f"from torchferry.cli.main import run\nsys.exit(run([{command!r}, '-q', {str(program)!r}]))"
    )
    blocked(call, "torch", "numpy", "rich", "asyncio", "pygments", "tempfile", "pathlib")
