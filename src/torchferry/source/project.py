"""Files that import each other: which document a module name means, which files belong together."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from ..core.errors import SourceError
from .document import Document
from .files import load
from .resolve import NEVER, Resolver

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([^\n#]*)|import[ \t]+([^\n#]+))", re.M
)
_PATH = re.compile(r"sys\.path\.(?:append|insert)\(\s*(?:\d+\s*,\s*)?r?['\"]([^'\"]+)['\"]")
_LARGEST = 80_000  #: bytes of a file that is read only to know what it offers
_KEPT = 3_000_000  #: characters of source that a store keeps with their trees
MAX_GROUP = 60  #: files that are analysed together
Stamp = tuple[int, int, int]


class Store:
    """Files of a project that are read and parsed once for all documents that import them.

    The documents read last are kept, as many as fit into a bound.
    """

    def __init__(self) -> None:
        self.resolver = Resolver()
        self._documents: OrderedDict[str, tuple[Document | None, Stamp]] = OrderedDict()
        self._size = 0

    def load(self, path: str, shown: str) -> Document | None:
        """The document of an absolute path; None when it cannot be read. It may be no Python."""
        known = self._documents.get(path)
        if known is None:
            stamp = stamp_of(path)
            try:
                document = load(shown)
            except (SourceError, OSError, ValueError):
                document = None
            known = self._documents[path] = document, stamp
            self._size += len(document.text) if document is not None else 0
            while self._size > _KEPT and len(self._documents) > 1:
                _, (oldest, _) = self._documents.popitem(last=False)
                self._size -= len(oldest.text) if oldest is not None else 0
        else:
            self._documents.move_to_end(path)
        return known[0]

    def stamp(self, path: str) -> Stamp:
        """What tells a file from its earlier and later contents, as it was when it was read."""
        known = self._documents.get(path)
        return stamp_of(path) if known is None else known[1]

    def refresh(self) -> None:
        """Read again what changed on the disk since it was read; look again for files."""
        self.resolver = Resolver()
        for path, (_, stamp) in list(self._documents.items()):
            if stamp != stamp_of(path):
                self.forget(path)

    def forget(self, path: str) -> None:
        """A file was written: read it again."""
        known = self._documents.pop(os.path.abspath(path), None)
        if known is not None and known[0] is not None:
            self._size -= len(known[0].text)


def stamp_of(path: str) -> Stamp:
    """Time of change, size and identity of a file; zeros for one that is not there."""
    try:
        now = os.stat(path)
    except (OSError, ValueError):
        return 0, 0, 0
    return now.st_mtime_ns, now.st_size, now.st_ino


class Project:
    """The documents at hand by path, and their neighbours on disk, read when asked for."""

    def __init__(self, documents: Iterable[Document], store: Store | None = None) -> None:
        self.store = store or Store()
        given = [d for d in documents if d.path.endswith((".py", ".ipynb"))]
        self.documents = {os.path.abspath(d.path): d for d in given}
        self.absolute = all(os.path.isabs(d.path) for d in given)
        self.folders = tuple(
            os.path.normpath(os.path.join(os.path.dirname(path), folder))
            for path, document in self.documents.items()
            if "sys.path" in document.text
            for folder in _PATH.findall(document.text)
        )  #: what the program itself puts into sys.path
        #: all that was asked: (module, folder of the importer) -> path, or None
        self.asked: dict[tuple[str, str], str | None] = {}
        self.stamps: dict[str, Stamp] = {}  #: of all files that were read for it

    def locate(self, module: str, importer: str) -> str | None:
        """The path of `module` ("utils", ".layers", "pkg.mod") as `importer` imports it.

        A folder for a package without `__init__.py`. None for modules of the standard library, of
        installed packages, and for what is not there.
        """
        if not importer.endswith((".py", ".ipynb")):
            return None
        key = (module, os.path.dirname(os.path.abspath(importer)))
        if key not in self.asked:
            self.asked[key] = self._given(*key) or find_path(self.store, *key, self.folders)
        return self.asked[key]

    def _given(self, module: str, folder: str) -> str | None:
        """A module among the documents at hand: perhaps it is on no disk."""
        if not self.documents or module.partition(".")[0] in NEVER:
            return None
        name = module.lstrip(".")
        for _ in range(len(module) - len(name) - 1):
            folder = os.path.dirname(folder)
        base = os.path.join(folder, *name.split(".")) if name else folder
        for path in (os.path.join(base, "__init__.py"), base + ".py"):
            if path in self.documents:
                return path
        return None

    def peek(self, module: str, importer: str) -> Document | None:
        """The document of a module, not yet parsed; None where `locate` finds no file."""
        path = self.locate(module, importer)
        if path is None or not path.endswith(".py"):
            return None
        if path not in self.documents:
            found = self.store.load(path, path if self.absolute else _relative(path))
            self.stamps[path] = self.store.stamp(path)
            if found is None:
                return None
            self.documents[path] = found
        return self.documents[path]

    def find(self, module: str, importer: str) -> Document | None:
        """The document of a module that is small enough to be followed, and Python."""
        path = self.locate(module, importer)
        if path is None or (path not in self.documents and _size(path) > _LARGEST):
            return None
        document = self.peek(module, importer)
        try:
            if document is not None and "torch" in document.text:
                _ = document.tree
        except SourceError:
            return None
        return document


def find_path(store: Store, module: str, folder: str, extra: tuple[str, ...]) -> str | None:
    """`Project.locate` on the disk alone."""
    if module.startswith("."):
        return store.resolver.relative(module, folder)
    return store.resolver.absolute(module, folder, extra) if module else None


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _relative(path: str) -> str:
    try:
        return os.path.relpath(path)
    except ValueError:  # on another drive
        return path


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
    return [name for name in names if name.strip(".") or name]


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
