"""Files that import each other: which document a module name means, which files belong together."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence

from ..core.errors import SourceError
from .document import Document
from .files import load

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([^\n#]*)|import[ \t]+([^\n#]+))", re.M
)
_PATH = re.compile(r"sys\.path\.(?:append|insert)\(\s*(?:\d+\s*,\s*)?r?['\"]([^'\"]+)['\"]")
_ANCESTORS = 3  #: folders above a file where its imports are looked for
_LARGEST = 80_000  #: bytes of a file that is read only to know what it offers
MAX_GROUP = 60  #: files that are analysed together


class Project:
    """The documents at hand by path, and their neighbours on disk, read when asked for."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents = {os.path.abspath(d.path): d for d in documents if d.path.endswith(".py")}
        self.folders = [
            os.path.normpath(os.path.join(os.path.dirname(path), folder))
            for path, document in self.documents.items()
            for folder in _PATH.findall(document.text)
        ]  #: what the program itself puts into sys.path
        self._found: dict[tuple[str, str], Document | None] = {}

    def find(self, module: str, importer: str) -> Document | None:
        """The document of `module` ("utils", ".layers", "pkg.mod") as `importer` imports it.

        None for modules of the standard library, of installed packages, and for what is not there.
        """
        if module.lstrip(".").partition(".")[0] in _ELSEWHERE:
            return None
        if not importer.endswith((".py", ".ipynb")):
            return None
        key = (module, os.path.dirname(os.path.abspath(importer)))
        if key not in self._found:
            self._found[key] = self._search(*key)
        return self._found[key]

    def _search(self, module: str, folder: str) -> Document | None:
        name = module.lstrip(".")
        dots = len(module) - len(name)
        parts = name.split(".") if name else []
        if dots:
            for _ in range(dots - 1):
                folder = os.path.dirname(folder)
            return self._at(os.path.join(folder, *parts))
        if not parts:
            return None
        places = [folder, *self.folders]
        for _ in range(_ANCESTORS - 1):
            folder = os.path.dirname(folder)
            places.append(folder)
        for place in places:
            found = self._at(os.path.join(place, *parts))
            if found is not None:
                return found
        return None

    def _at(self, base: str) -> Document | None:
        for path in (base + ".py", os.path.join(base, "__init__.py")):
            if path in self.documents:
                return self.documents[path]
            try:
                if os.path.isfile(path) and os.path.getsize(path) <= _LARGEST:
                    document = self.documents[path] = load(path)
                    if "torch" in document.text:
                        _ = document.tree
                    return document
            except (SourceError, OSError):
                return None
        return None


_ELSEWHERE = frozenset(sys.stdlib_module_names) | frozenset(
    """
    torch numpy scipy pandas sklearn matplotlib torchvision torchtext torchaudio gym gymnasium
    """.split()
)


def imported_modules(text: str) -> list[str]:
    """The module names that a source imports, by its text."""
    names: list[str] = []
    for match in _IMPORT.finditer(text):
        if match[3]:
            names += [part.split(" as ")[0].strip() for part in match[3].split(",")]
            continue
        names.append(match[1])
        inner = [part.split(" as ")[0].strip(" ()\\\r") for part in match[2].split(",")]
        joint = "" if match[1].endswith(".") else "."
        names += [match[1] + joint + part for part in inner if part.isidentifier()]
    return [name for name in names if name.strip(".")  or name]


def program_of(script: Document) -> list[Document]:
    """A script, and the files of its project that it imports, directly or not."""
    project = Project([script])
    found = [script]
    for document in found:
        for module in imported_modules(document.text):
            other = project.find(module, document.path)
            if other is not None and all(other.path != d.path for d in found):
                found.append(other)
        if len(found) > MAX_GROUP:
            return [script]
    return found


def groups(documents: Sequence[Document]) -> list[list[Document]]:
    """The documents in groups that import each other, each in the given order."""
    project = Project(documents)
    project_paths = project.documents
    parent = {id(d): id(d) for d in documents}

    def root(key: int) -> int:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    if len(documents) > 1:
        names = {os.path.splitext(os.path.basename(p))[0] for p in project_paths}
        names |= {os.path.basename(os.path.dirname(p)) for p in project_paths}
        for document in documents:
            for module in imported_modules(document.text):
                if module.rpartition(".")[2] in names or module.lstrip(".").split(".")[0] in names:
                    found = project.find(module, document.path)
                    if found is not None and id(found) in parent:
                        parent[root(id(found))] = root(id(document))
    grouped: dict[int, list[Document]] = {}
    for document in documents:
        grouped.setdefault(root(id(document)), []).append(document)
    result: list[list[Document]] = []
    for group in grouped.values():
        result += [group] if len(group) <= MAX_GROUP else [[d] for d in group]
    return result
