"""Imports: of other packages by name, of the project's own files by running them.

Where code is migrated, a file of the project runs when it is imported. Where it is checked, it
runs when a name of it is first looked up: most of what a file imports, a single name does not
need. What an import does to the rest of the program (the default device) is not put off.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchferry.core.errors import SourceError

from .names import canonical, star_names
from .state import Trail
from .values import (
    UNKNOWN,
    Const,
    Deferred,
    Device,
    Ext,
    LocalFolder,
    LocalModule,
    Value,
)

if TYPE_CHECKING:
    from torchferry.source.document import Document

    from .interp import Interp, Unit

MAX_NEIGHBOUR_LINES = 2000  #: of imported files that are read for a migration
MAX_FOLLOWED_LINES = 8000  #: of imported files that run for a check, at most ...
_FOLLOWED_LINES = 3000  #: ... this many, and two more for each line of the file under check
_PLAIN_LINES = 600  #: of a file that does not name torch: settings, or a package's front door
_DEVICE_NAMES = {"cpu": 1, "cuda": 2, "cuda:0": 2, "mps": 2, "xpu": 2}


def local_module(ip: Interp, name: str) -> Unit | None:
    """The unit of a module of the project, run when it is first imported; None for others."""
    if ip.project is None:
        return None
    importer = ip.frame.unit.doc.path
    if not ip.migrating:
        doc = ip.project.peek(name, importer)
        return None if doc is None else _followed(ip, doc, name)
    doc = ip.project.find(name, importer)
    if doc is None:
        return None
    unit = ip.units.get(id(doc))
    if unit is None and id(doc) not in ip.editable:
        # a neighbour is read to know what it offers; a whole library is not
        ip.neighbour_lines += doc.text.count("\n")
        if ip.neighbour_lines > MAX_NEIGHBOUR_LINES or "torch" not in doc.text:
            return None
    return ip.run_unit(doc, name.lstrip(".") or "package") if unit is None else unit


def _followed(ip: Interp, doc: Document, name: str) -> Unit | None:
    """The same for a check, with the reason kept where a file is not followed."""
    unit = ip.units.get(id(doc))
    if unit is not None:
        return unit
    if id(doc) in ip.unfollowed:
        return None
    lines = doc.text.count("\n")
    reason = ""
    if "torch" not in doc.text and lines > _PLAIN_LINES:
        return None
    if ip.neighbour_lines + lines > ip.followed_lines:
        reason = "not followed: too much is imported"
    else:
        try:
            _ = doc.tree
        except SourceError as error:
            reason = f"not followed: {error.reason}"
    if reason:
        ip.unfollowed[id(doc)] = doc, reason
        return None
    ip.neighbour_lines += lines
    kept = ip.trail, ip.missed, ip.stack, ip.exploring, ip.graph_off
    # a module runs once, wherever it is first asked for: no branch can undo it
    ip.trail, ip.missed, ip.stack, ip.exploring, ip.graph_off = Trail(), set(), (), False, 0
    try:
        return ip.visit(lines, lambda: ip.run_unit(doc, name.lstrip(".") or "package"))  # type: ignore[no-any-return]
    finally:
        ip.trail, ip.missed, ip.stack, ip.exploring, ip.graph_off = kept


def followed_lines(own: int) -> int:
    """How many lines of imported files run for a check of that many lines."""
    return min(MAX_FOLLOWED_LINES, _FOLLOWED_LINES + 2 * own)


def exec_import(ip: Interp, node: ast.Import) -> bool:
    """`import a.b as c`."""
    for alias in node.names:
        bound = alias.asname or alias.name.split(".")[0]
        module = alias.name if alias.asname else bound
        ip.store(bound, _module(ip, alias.name, module, node))
    return False


def _module(ip: Interp, imported: str, bound: str, node: Any) -> Value:
    if ip.project is None:
        return Ext(bound)
    if not ip.migrating:
        path = ip.project.locate(imported, ip.frame.unit.doc.path)
        if path is None:
            return Ext(bound)
        if _acts(ip, imported):
            local_module(ip, imported)
        return Deferred(ip.frame.unit, bound, "", node)
    unit = local_module(ip, imported)
    if unit is not None and bound != imported:
        unit = local_module(ip, bound)
    return Ext(bound) if unit is None else LocalModule(unit)


def exec_import_from(ip: Interp, node: ast.ImportFrom) -> bool:
    """`from a.b import c as d`."""
    module = "." * node.level + (node.module or "")
    if ip.project is None and not node.level:
        _from_elsewhere(ip, node, module)
    elif ip.migrating or ip.project is None:
        unit = local_module(ip, module)
        if unit is not None or node.level:
            _from_local(ip, node, module, unit)
        else:
            _from_elsewhere(ip, node, module)
    else:
        path = ip.project.locate(module, ip.frame.unit.doc.path)
        if path is not None or node.level:
            _from_deferred(ip, node, module, path)
        else:
            _from_elsewhere(ip, node, module)
    return False


def _from_elsewhere(ip: Interp, node: ast.ImportFrom, module: str) -> None:
    for alias in node.names:
        if alias.name == "*":
            for name in star_names(module):
                ip.store(name, canonical(f"{module}.{name}"))
            continue
        ip.store(alias.asname or alias.name, canonical(f"{module}.{alias.name}"))


def _from_deferred(ip: Interp, node: ast.ImportFrom, module: str, path: str | None) -> None:
    """`from utils import f` of a file of the project, run when `f` is looked up."""
    if path is None:
        ip.lost_imports.append((node, ip.frame.unit, module))
    elif path.endswith(".py") and _acts(ip, module):
        local_module(ip, module)
    for alias in node.names:
        if alias.name == "*":
            unit = local_module(ip, module)
            if unit is not None:
                _store_all(ip, unit)
            elif path is not None:
                _note_unfollowed(ip, module, node)
            continue
        value = UNKNOWN if path is None else Deferred(ip.frame.unit, module, alias.name, node)
        ip.store(alias.asname or alias.name, value)


def _acts(ip: Interp, module: str) -> bool:
    """Whether importing a module changes the default device: then it is not put off."""
    assert ip.project is not None
    doc = ip.project.peek(module, ip.frame.unit.doc.path)
    return doc is not None and "set_default_" in doc.text


def _store_all(ip: Interp, unit: Unit) -> None:
    listed = unit.frame.vars.get("__all__")
    items = getattr(listed, "state", {}).get("items")
    wanted = {i.value for i in items if isinstance(i, Const)} if items else None
    for name, value in list(unit.frame.vars.items()):
        if name in wanted if wanted is not None else not name.startswith("_"):
            ip.store(name, value)


def _from_local(ip: Interp, node: ast.ImportFrom, module: str, unit: Any) -> None:
    """`from utils import f`, where utils is a file of the project."""
    names = {} if unit is None else unit.frame.vars
    for alias in node.names:
        if alias.name == "*":
            for name, value in list(names.items()):
                if not name.startswith("_"):
                    ip.store(name, value)
            continue
        value = names.get(alias.name)
        if value is None:
            inner = local_module(ip, _joined(module, alias.name))
            value = UNKNOWN if inner is None else LocalModule(inner)
        bound = alias.asname or alias.name
        if isinstance(value, Device):
            ip.device_names.append((None, bound, node, value.bits))
        ip.store(bound, value)


def arrive(ip: Interp, deferred: Deferred) -> Value:
    """What a deferred import brings: now it is needed."""
    if deferred.value is not None:
        return deferred.value
    deferred.value = UNKNOWN  # for who asks again while the module runs
    caller, ip.frame = ip.frame, deferred.unit.frame
    try:
        value = _brought(ip, deferred)
        _note_device(ip, deferred, value)
    finally:
        ip.frame = caller
    deferred.value = value
    return value


def _brought(ip: Interp, deferred: Deferred) -> Value:
    module, name = deferred.module, deferred.name
    unit = local_module(ip, module)
    if unit is None:
        _note_unfollowed(ip, module, deferred.node)
    if not name:
        return _as_value(ip, module, unit)
    value = None if unit is None else unit.frame.vars.get(name)
    if value is deferred:
        value = None  # `from . import helper` in the package's own file
    elif type(value) is Deferred:
        value = arrive(ip, value)
    if value is None:
        inner = _joined(module, name)
        value = _as_value(ip, inner, local_module(ip, inner))
    return value


def _note_unfollowed(ip: Interp, module: str, node: Any) -> None:
    assert ip.project is not None
    unit = ip.frame.unit
    doc = ip.project.peek(module, unit.doc.path)
    if doc is not None and id(doc) in ip.unfollowed:
        ip.unfollowed_imports.append((node, unit, module, ip.unfollowed[id(doc)][1]))


def _as_value(ip: Interp, module: str, unit: Unit | None) -> Value:
    if unit is not None:
        return LocalModule(unit)
    assert ip.project is not None
    path = ip.project.locate(module, ip.frame.unit.doc.path)
    if path is None or path.endswith(".py"):
        return UNKNOWN
    return LocalFolder(ip.frame.unit, module)


def _note_device(ip: Interp, deferred: Deferred, value: Value) -> None:
    """The importer has a name for the device now."""
    if isinstance(value, Device):
        bits = value.bits
    elif isinstance(value, Const) and isinstance(value.value, str):
        bits = _DEVICE_NAMES.get(value.value, 0)
    else:
        return
    for alias in deferred.node.names:
        if bits and alias.name == deferred.name:
            bound = alias.asname or alias.name
            ip.device_names.append((None, bound, deferred.node, bits))


def attribute_of_module(ip: Interp, module: LocalModule, attr: str) -> Value:
    """`utils.f`; a module of a package by its name, imported or not."""
    value = module.unit.frame.vars.get(attr)
    if type(value) is Deferred:
        value = arrive(ip, value)
    if value is not None:
        return value  # type: ignore[no-any-return]
    if module.unit.doc.path.endswith("__init__.py"):
        return _inner(ip, module.unit, "." + attr)
    return UNKNOWN


def attribute_of_folder(ip: Interp, folder: LocalFolder, attr: str) -> Value:
    """`folder.utils`, where the folder has no `__init__.py`."""
    return _inner(ip, folder.unit, _joined(folder.name, attr))


def _inner(ip: Interp, unit: Unit, module: str) -> Value:
    if ip.project is None:
        return UNKNOWN
    caller, ip.frame = ip.frame, unit.frame
    try:
        return _as_value(ip, module, local_module(ip, module))
    finally:
        ip.frame = caller


def _joined(module: str, name: str) -> str:
    return module + ("" if module.endswith(".") else ".") + name
