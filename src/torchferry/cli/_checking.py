"""One run of the check over many files: cache, processes, fixes, baseline."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from torchferry.core.errors import SourceError
from torchferry.source.discovery import NOTEBOOK, STDIN, discover
from torchferry.source.document import Document
from torchferry.source.files import load, read_bytes, write_bytes
from torchferry.source.project import Project, Store

from ._merging import FileResult, Merger
from ._settings import Settings
from ._troubles import Troubles

if TYPE_CHECKING:
    from torchferry.core.finding import Finding, NotAnalysed
    from torchferry.rules.options import CheckOptions

    from ._cache import Cache

_PARALLEL = 40  #: files that are worth starting processes for


_store: Store | None = None  #: what the files of one process have read in common


def _start(store: Store | None) -> None:
    global _store
    _store = store


def check_file(path: str, options: CheckOptions, store: Store | None = None) -> FileResult:
    """Check one file; whatever happens to it becomes a result."""
    store = store or _store or Store()
    troubles = Troubles(silent=True)
    result = FileResult(path)
    gc.disable()  # one file's data lives and dies together: it is collected once, behind it ...
    with troubles.caught(path):
        where = os.path.abspath(path)
        document = store.load(where, path)
        if document is None or document.path != path:
            document = load(path)
        _check(result, document, options, store)
        result.stamp = store.stamp(where)
    gc.collect()
    gc.freeze()  # ... and the trees that are kept for other files are not looked through again
    gc.enable()
    result.error = troubles.errors[0] if troubles.errors else None
    return result


def _check(result: FileResult, document: Document, options: CheckOptions, store: Store) -> None:
    from torchferry.rules.engine import check_in_project

    _ = document.tree  # files that nobody looks into must be Python too
    project = Project([document], store)
    result.checked = check_in_project(document, options, project)
    result.stamps, result.asked = project.stamps, project.asked
    result.folders = project.folders


class CheckRun:
    """The state of one `torchferry check`."""

    def __init__(
        self, settings: Settings, stdin_name: str | None, jobs: int, *, cached: bool
    ) -> None:
        self.settings, self.stdin_name, self.jobs = settings, stdin_name, jobs
        self.troubles = Troubles()
        self.findings: list[Finding] = []
        self.files = self.hidden = self.fixed = self.changed = 0
        self.cached = cached
        self.cache: Cache | None = None
        self.store = Store()
        self.not_analysed: list[NotAnalysed] = []
        self._given: dict[str, Document] = {}  #: documents that are not (yet) as on the disk
        self._shown: dict[str, Document] = {}

    # ---- checking

    def check(self, paths: Sequence[str]) -> None:
        """Check all files of the paths."""
        todo: list[str] = []
        known: dict[str, FileResult] = {}
        files = self._discover(paths)
        if self.cached and len(files) > 1:
            from ._cache import Cache

            self.cache = Cache(self.settings)
        for path in files:
            found = self.cache.get(path) if self.cache and path != STDIN else None
            if found is None:
                todo.append(path)
            else:
                known[path] = found
        for result in self._results(todo):
            known[result.path] = result
            if self.cache and result.path != STDIN:
                self.cache.put(result)
        self._take([known[path] for path in files])
        if self.cache:
            self.cache.save()

    def _discover(self, paths: Sequence[str]) -> list[str]:
        found = discover(paths, self.settings.exclude)
        for error in found.errors:
            self.troubles.add(error)
        return list(found.files)

    def _results(self, todo: list[str]) -> Iterator[FileResult]:
        options = self.settings.options
        for path in [p for p in todo if p == STDIN]:
            yield self._stdin(path)
        rest = [p for p in todo if p != STDIN]
        jobs = self.jobs or (os.cpu_count() or 1 if len(rest) >= _PARALLEL else 1)
        if jobs < 2 or len(rest) < 2:
            for path in rest:
                yield check_file(path, options, self.store)
            return
        from concurrent.futures import ProcessPoolExecutor
        from functools import partial

        import torchferry.rules.engine  # noqa: F401  # loaded once, before the processes fork

        with ProcessPoolExecutor(jobs, initializer=_start, initargs=(Store(),)) as pool:
            chunk = max(1, min(16, len(rest) // (4 * jobs)))
            yield from pool.map(partial(check_file, options=options), rest, chunksize=chunk)

    def _stdin(self, path: str) -> FileResult:
        troubles = Troubles(silent=True)
        result = FileResult(path)
        with troubles.caught(self.stdin_name or "<stdin>"):
            document = self._read_stdin()
            result.path = document.path
            self._given[document.path] = document
            _check(result, document, self.settings.options, self.store)
        result.path, result.error = path, troubles.errors[0] if troubles.errors else None
        return result

    def _read_stdin(self) -> Document:
        data = read_bytes(STDIN)
        name = self.stdin_name or "<stdin>"
        if name.endswith(NOTEBOOK):
            from torchferry.source.notebook import NotebookDocument

            return NotebookDocument.from_bytes(data, name)
        return Document.from_bytes(data, name)

    def _take(self, results: list[FileResult]) -> None:
        for result in results:
            if result.error is not None:
                self.troubles.add(result.error)
            elif result.checked is not None:
                self.files += 1
                self.not_analysed += result.checked.not_analysed
        self.findings += self._merged(results)

    def _merged(self, results: list[FileResult]) -> list[Finding]:
        named = [
            replace(r, path=self.stdin_name or "<stdin>") if r.path == STDIN else r for r in results
        ]
        return Merger([r.path for r in named], self.settings.exclude).merge(named)

    def document(self, path: str) -> Document:
        """The document of a path with findings, for code frames."""
        if path in self._given:
            return self._given[path]
        if path not in self._shown:
            self._shown = {path: load(path)}
        return self._shown[path]

    # ---- fixing

    def fix(self, paths: Sequence[str], *, unsafe: bool, write: bool, quiet: bool) -> None:
        """Fix all files, or show the differences."""
        files = self._discover(paths)
        needed = self._needed_comments(files)
        results: list[FileResult] = []
        for path in files:
            with self.troubles.caught(path):
                result = self._fix_one(path, unsafe, write, quiet, needed)
                results.append(result)
                self.files += 1
        for one in results:
            self._look_again(one)
            self.not_analysed += one.checked.not_analysed if one.checked else []
        self.findings += self._merged(results)

    def _look_again(self, result: FileResult) -> None:
        """What a file says of others that have been fixed since."""
        if not self.changed or result.checked is None or not result.checked.elsewhere:
            return
        from torchferry.rules.engine import check_in_project

        name = self.stdin_name or "<stdin>" if result.path == STDIN else result.path
        document = self._given[name]
        others = [d for d in self._given.values() if d is not document]
        with self.troubles.caught(name):
            project = Project([document, *others], self.store)
            result.checked = check_in_project(document, self.settings.options, project)

    def _fix_one(
        self, path: str, unsafe: bool, write: bool, quiet: bool, needed: dict[str, set[str]]
    ) -> FileResult:
        from torchferry.rules.fixing import fix_document

        from ._output import show_diff

        document = self._read_stdin() if path == STDIN else load(path)
        _ = document.tree
        where = os.path.abspath(document.path)
        options, keep = self.settings.options, needed.get(where, set())
        outcome = fix_document(document, options, unsafe=unsafe, store=self.store, keep=keep)
        self.fixed += len(outcome.fixed)
        self._given[document.path] = outcome.document
        if outcome.document.text != document.text:
            self.changed += 1
            if write:
                data = document.to_bytes(outcome.document.text)
                write_bytes(path, data, document.to_bytes())
                self.store.forget(path)
            elif not quiet:
                show_diff(document, outcome.document.text)
        return FileResult(path, outcome.checked)

    def _needed_comments(self, files: list[str]) -> dict[str, set[str]]:
        """By path: lines with comments that silence what only an importing file can see."""
        found: dict[str, set[str]] = {}
        if len(files) < 2 or not any(_has_comment(path) for path in files):
            return found
        for result in self._results([path for path in files if path != STDIN]):
            for path, line, _ in result.checked.silenced if result.checked else ():
                text = load(path).line_text(line).strip()
                found.setdefault(os.path.abspath(path), set()).add(text)
        return found

    # ---- the baseline

    def write_baseline(self) -> None:
        """Keep all findings as known."""
        from ._baseline import Baseline

        baseline = Baseline(self.settings.baseline, self.document)
        baseline.write(self.findings)
        self.hidden, self.findings = len(self.findings), []

    def hide_baseline(self) -> None:
        """Leave out what the baseline knows."""
        if not self.settings.baseline:
            return
        from ._baseline import Baseline

        baseline = Baseline(self.settings.baseline, self.document)
        fresh = baseline.fresh(self.findings)
        self.hidden, self.findings = len(self.findings) - len(fresh), fresh

    def exit_code(self) -> int:
        """0 no error and no warning, 1 some, 2 when a file could not be processed."""
        if self.troubles.errors:
            return 2
        return int(any(finding.severity.value != "note" for finding in self.findings))


def _has_comment(path: str) -> bool:
    if path == STDIN:
        return False
    try:
        return b"torchferry:" in read_bytes(path)
    except SourceError:
        return False
