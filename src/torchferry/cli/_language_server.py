"""The language server: diagnostics, hover and quick fixes of open documents.

What a document imports is followed: as it stands in the editor where it is open, else on the disk.
A fault in an imported file is shown in that file, and goes when its importer does not see it more.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from torchferry._version import __version__
from torchferry.core.errors import SourceError
from torchferry.rules.engine import all_findings, check_in_project
from torchferry.rules.hover import describe
from torchferry.source.document import Document
from torchferry.source.project import Project, Store

from ._settings import Settings, read_settings

if TYPE_CHECKING:
    from torchferry.core.edit import Edit
    from torchferry.core.finding import Finding
    from torchferry.core.span import Location

_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}


class _Open:
    """An open document with its findings; elsewhere: those in files that it imports."""

    def __init__(self, uri: str, text: str, others: list[Document], store: Store) -> None:
        self.uri = uri
        self.document = Document.from_text(text, to_fs_path(uri) or uri)
        self.findings: list[Finding] = []
        self.elsewhere: list[Finding] = []
        self.trouble: SourceError | None = None
        self.project = Project([self.document, *others], store)
        try:
            checked = check_in_project(
                self.document, _settings(self.document.path).options, self.project
            )
            self.findings, self.elsewhere = all_findings(checked), checked.elsewhere
        except SourceError as error:
            self.trouble = error

    def imports(self, path: str) -> bool:
        """Whether a file took part in the check of this one."""
        return path in self.project.documents and path != self.document.path

    def position(self, offset: int) -> lsp.Position:
        """A character of the text as the protocol counts."""
        return _position(self.document, offset)

    def offset(self, position: lsp.Position) -> int:
        """The character at a position of the protocol."""
        start = self.document.line_start(position.line + 1)
        line = self.document.text[start : self.document.line_end(position.line + 1)]
        units = line.encode("utf-16-le")[: position.character * 2]
        return start + len(units.decode("utf-16-le", "ignore"))

    def range_of(self, place: Location) -> lsp.Range:
        """The range of a place of the core, in this document or an imported one."""
        doc = self.document
        if place.path != doc.path:
            doc = self.project.documents[os.path.abspath(place.path)]
        start = doc.line_start(place.line) + place.column - 1
        end = doc.line_start(place.end_line) + place.end_column - 1
        return lsp.Range(_position(doc, start), _position(doc, end))

    def uri_of(self, place: Location) -> str:
        """The address of the file of a place."""
        if place.path == self.document.path:
            return self.uri
        return from_fs_path(os.path.abspath(place.path)) or place.path

    def diagnostics_elsewhere(self) -> dict[str, list[lsp.Diagnostic]]:
        """What this document shows in the files that it imports, by address."""
        found: dict[str, list[lsp.Diagnostic]] = {}
        for finding in self.elsewhere:
            uri = self.uri_of(finding.location)
            found.setdefault(uri, []).append(self._diagnostic(finding))
        return found

    def diagnostics(self) -> list[lsp.Diagnostic]:
        """All findings; one diagnostic when the text cannot be read."""
        if self.trouble is not None:
            line = max(0, self.trouble.line - 1)
            where = lsp.Range(lsp.Position(line, 0), lsp.Position(line, 1))
            return [lsp.Diagnostic(where, self.trouble.reason, source="torchferry")]
        return [self._diagnostic(finding) for finding in self.findings]

    def _diagnostic(self, finding: Finding) -> lsp.Diagnostic:
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(self.uri_of(step.location), self.range_of(step.location)), step.text
            )
            for step in finding.evidence
        ]
        message = finding.message + (f"\n{finding.help}" if finding.help else "")
        return lsp.Diagnostic(
            self.range_of(finding.location),
            message,
            severity=_SEVERITIES[finding.severity.value],
            code=finding.code,
            source="torchferry",
            related_information=related,
        )

    def text_edit(self, edit: Edit) -> lsp.TextEdit:
        """An edit of the core."""
        return lsp.TextEdit(
            lsp.Range(self.position(edit.start), self.position(edit.end)), edit.text
        )


def _position(doc: Document, offset: int) -> lsp.Position:
    """A character of a text as the protocol counts: UTF-16 units in a line."""
    line = doc.line_of(offset)
    before = doc.text[doc.line_start(line) : offset]
    return lsp.Position(line - 1, len(before.encode("utf-16-le")) // 2)


def _settings(path: str) -> Settings:
    import click

    try:
        return read_settings(path)
    except click.UsageError:
        return Settings()


def make_server() -> LanguageServer:
    """A server with all features; nothing is started."""
    server = LanguageServer("torchferry", __version__)
    session = _Session(server)
    opened = session.opened

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        session.check(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        session.check(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: lsp.DidSaveTextDocumentParams) -> None:
        session.check_importers(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        session.close(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        return _hover(opened.get(params.text_document.uri), params.position)

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    )
    def code_action(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return _actions(opened.get(params.text_document.uri), params.range)

    return server


class _Session:
    """All open documents, and what was published of which file."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.opened: dict[str, _Open] = {}
        self.store = Store()

    def check(self, uri: str) -> None:
        """Check a document as it stands in the editor, and publish what changed."""
        self.store.refresh()
        text = self.server.workspace.get_text_document(uri).source
        others = [o.document for key, o in self.opened.items() if key != uri]
        before = self._touched(uri)
        self.opened[uri] = _Open(uri, text, others, self.store)
        self._publish({uri} | before | self._touched(uri))

    def check_importers(self, uri: str) -> None:
        """A file was saved: check the open documents that import it."""
        path = to_fs_path(uri) or uri
        for key in [k for k, o in self.opened.items() if o.imports(path)]:
            self.check(key)

    def close(self, uri: str) -> None:
        """Forget a document and what it showed."""
        touched = {uri} | self._touched(uri)
        self.opened.pop(uri, None)
        self._publish(touched)

    def _touched(self, uri: str) -> set[str]:
        known = self.opened.get(uri)
        return set() if known is None else set(known.diagnostics_elsewhere())

    def _publish(self, uris: set[str]) -> None:
        for uri in sorted(uris):
            own = self.opened.get(uri)
            found = own.diagnostics() if own is not None else []
            for other in self.opened.values():
                for one in other.diagnostics_elsewhere().get(uri, []):
                    if all((d.code, d.range.start) != (one.code, one.range.start) for d in found):
                        found.append(one)
            self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found))


def _hover(known: _Open | None, position: lsp.Position) -> lsp.Hover | None:
    if known is None or known.trouble is not None:
        return None
    found = describe(known.document, known.offset(position), known.project)
    if found is None:
        return None
    text, span = found
    where = lsp.Range(known.position(span.start), known.position(span.end))
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), where)


def _actions(known: _Open | None, wanted: lsp.Range) -> list[lsp.CodeAction]:
    actions: list[lsp.CodeAction] = []
    for finding in known.findings if known is not None else ():
        assert known is not None
        where = known.range_of(finding.location)
        if finding.fix is None or where.end < wanted.start or wanted.end < where.start:
            continue
        edits: list[Any] = [known.text_edit(edit) for edit in finding.fix.edits]
        unsafe = "" if finding.fix.safety.value == "safe" else " (unsafe)"
        actions.append(
            lsp.CodeAction(
                f"{finding.code}: {finding.fix.title}{unsafe}",
                kind=lsp.CodeActionKind.QuickFix,
                is_preferred=not unsafe,
                edit=lsp.WorkspaceEdit(changes={known.uri: edits}),
            )
        )
    return actions
