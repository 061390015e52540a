"""One run of the check over many files: cache, processes, fixes, baseline."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchferry.core.errors import SourceError
from torchferry.source.discovery import NOTEBOOK, STDIN, discover
from torchferry.source.document import Document
from torchferry.source.files import load, read_bytes, write_bytes

from ._settings import Settings
from ._troubles import Troubles

if TYPE_CHECKING:
    from torchferry.core.finding import Finding
    from torchferry.rules.options import CheckOptions

    from ._cache import Cache

_PARALLEL = 40  #: files that are worth starting processes for


@dataclass(slots=True)
class FileResult:
    """What came of one file."""

    path: str
    findings: list[Finding]
    error: SourceError | None = None


def check_file(path: str, options: CheckOptions) -> FileResult:
    """Check one file; whatever happens to it becomes a result."""
    from torchferry.rules.engine import check_document

    troubles = Troubles(silent=True)
    findings: list[Finding] = []
    gc.disable()  # one file's data lives and dies together: collect it once, behind it
    with troubles.caught(path):
        document = load(path)
        _ = document.tree  # files that nobody looks into must be Python too
        findings = check_document(document, options)
    gc.enable()
    return FileResult(path, findings, troubles.errors[0] if troubles.errors else None)


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
        self._documents: dict[str, Document] = {}

    # ---- checking

    def check(self, paths: Sequence[str]) -> None:
        """Check all files of the paths."""
        todo, known = [], {}
        files = self._discover(paths)
        if self.cached and len(files) > 1:
            from ._cache import Cache

            self.cache = Cache(self.settings)
        for path in files:
            found = self.cache.get(path) if self.cache and path != STDIN else None
            if found is None:
                todo.append(path)
            else:
                known[path] = FileResult(path, found)
        for result in self._results(todo):
            known[result.path] = result
            if self.cache and result.error is None and result.path != STDIN:
                self.cache.put(result.path, result.findings)
        for path in files:
            self._take(known[path])
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
                yield check_file(path, options)
            return
        from concurrent.futures import ProcessPoolExecutor
        from functools import partial

        import torchferry.rules.engine  # noqa: F401  # loaded once, before the processes fork

        with ProcessPoolExecutor(jobs) as pool:
            chunk = max(1, min(16, len(rest) // (4 * jobs)))
            yield from pool.map(partial(check_file, options=options), rest, chunksize=chunk)

    def _stdin(self, path: str) -> FileResult:
        from torchferry.rules.engine import check_document

        troubles = Troubles(silent=True)
        findings: list[Finding] = []
        with troubles.caught(self.stdin_name or "<stdin>"):
            document = self._read_stdin()
            _ = document.tree
            self._documents[document.path] = document
            findings = check_document(document, self.settings.options)
        return FileResult(path, findings, troubles.errors[0] if troubles.errors else None)

    def _read_stdin(self) -> Document:
        data = read_bytes(STDIN)
        name = self.stdin_name or "<stdin>"
        if name.endswith(NOTEBOOK):
            from torchferry.source.notebook import NotebookDocument

            return NotebookDocument.from_bytes(data, name)
        return Document.from_bytes(data, name)

    def _take(self, result: FileResult) -> None:
        if result.error is not None:
            self.troubles.add(result.error)
            return
        self.files += 1
        self.findings += result.findings

    def document(self, path: str) -> Document:
        """The document of a path with findings, for code frames."""
        if path not in self._documents:
            self._documents = {path: load(path)}
        return self._documents[path]

    # ---- fixing

    def fix(self, paths: Sequence[str], *, unsafe: bool, write: bool, quiet: bool) -> None:
        """Fix all files, or show the differences."""
        from torchferry.rules.fixing import fix_document

        from ._output import show_diff

        for path in self._discover(paths):
            with self.troubles.caught(path):
                document = self._read_stdin() if path == STDIN else load(path)
                _ = document.tree
                outcome = fix_document(document, self.settings.options, unsafe=unsafe)
                self.files += 1
                self.fixed += len(outcome.fixed)
                self.findings += outcome.left
                self._documents[document.path] = outcome.document
                if outcome.document.text == document.text:
                    continue
                self.changed += 1
                if write:
                    data = document.to_bytes(outcome.document.text)
                    write_bytes(path, data, document.to_bytes())
                elif not quiet:
                    show_diff(document, outcome.document.text)

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
