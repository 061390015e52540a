"""The language server: diagnostics, hover and quick fixes of one document at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from torchferry._version import __version__
from torchferry.core.errors import SourceError
from torchferry.rules.engine import check_document
from torchferry.rules.hover import describe
from torchferry.source.document import Document

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
    """An open document with its findings."""

    def __init__(self, uri: str, text: str) -> None:
        self.uri = uri
        self.document = Document.from_text(text, to_fs_path(uri) or uri)
        self.findings: list[Finding] = []
        self.trouble: SourceError | None = None
        try:
            self.findings = check_document(self.document, _settings(self.document.path).options)
        except SourceError as error:
            self.trouble = error

    def position(self, offset: int) -> lsp.Position:
        """A character of the text as the protocol counts: UTF-16 units in a line."""
        line = self.document.line_of(offset)
        before = self.document.text[self.document.line_start(line) : offset]
        return lsp.Position(line - 1, len(before.encode("utf-16-le")) // 2)

    def offset(self, position: lsp.Position) -> int:
        """The character at a position of the protocol."""
        start = self.document.line_start(position.line + 1)
        line = self.document.text[start : self.document.line_end(position.line + 1)]
        units = line.encode("utf-16-le")[: position.character * 2]
        return start + len(units.decode("utf-16-le", "ignore"))

    def range_of(self, place: Location) -> lsp.Range:
        """The range of a place of the core."""
        doc = self.document
        start = doc.line_start(place.line) + place.column - 1
        end = doc.line_start(place.end_line) + place.end_column - 1
        return lsp.Range(self.position(start), self.position(end))

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
                lsp.Location(self.uri, self.range_of(step.location)), step.text
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


def _settings(path: str) -> Settings:
    import click

    try:
        return read_settings(path)
    except click.UsageError:
        return Settings()


def make_server() -> LanguageServer:
    """A server with all features; nothing is started."""
    server = LanguageServer("torchferry", __version__)
    opened: dict[str, _Open] = {}

    def publish(uri: str) -> None:
        text = server.workspace.get_text_document(uri).source
        opened[uri] = _Open(uri, text)
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, opened[uri].diagnostics())
        )

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        opened.pop(params.text_document.uri, None)

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


def _hover(known: _Open | None, position: lsp.Position) -> lsp.Hover | None:
    if known is None or known.trouble is not None:
        return None
    found = describe(known.document, known.offset(position))
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
