"""The language server, driven by a real client through pipes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

TEXT = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 1).to(device)
x = torch.randn(4, 3)
y = net(x)  # \u00e4 \U0001f600
"""
URI = "file:///tmp/some/net.py"


async def _session() -> dict[str, Any]:
    client = LanguageClient("test", "1")
    published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def keep(params: lsp.PublishDiagnosticsParams) -> None:
        published.put_nowait(params)

    await client.start_io(sys.executable, "-m", "torchferry", "server")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(URI, "python", 1, TEXT))
    )
    seen: dict[str, Any] = {}
    seen["first"] = (await asyncio.wait_for(published.get(), 30)).diagnostics
    document = lsp.TextDocumentIdentifier(URI)
    seen["hover"] = await client.text_document_hover_async(
        lsp.HoverParams(document, lsp.Position(6, 8))
    )
    where = seen["first"][0].range
    seen["actions"] = await client.text_document_code_action_async(
        lsp.CodeActionParams(document, where, lsp.CodeActionContext([]))
    )
    right = TEXT.replace("net(x)", "net(x.to(device))")
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(2, URI),
            [lsp.TextDocumentContentChangeWholeDocument(right)],
        )
    )
    seen["second"] = (await asyncio.wait_for(published.get(), 30)).diagnostics
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return seen


def test_diagnostics_hover_and_quick_fix() -> None:
    seen = asyncio.run(asyncio.wait_for(_session(), 60))
    (diagnostic,) = seen["first"]
    assert diagnostic.code == "DEV101"
    assert diagnostic.range.start == lsp.Position(6, 4)
    assert diagnostic.related_information
    assert "`x`: a tensor on the CPU" in seen["hover"].contents.value
    assert "line 6" in seen["hover"].contents.value
    (action,) = seen["actions"]
    (edit,) = action.edit.changes[URI]
    assert edit.new_text == ".to(device)"
    assert edit.range.start == lsp.Position(6, 9)
    assert list(seen["second"]) == []


NET = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        "\u00e4\U0001f600"; self.scale = torch.ones(3)

    def forward(self, x):
        return x * self.scale
"""
MAIN = """\
import torch
from net import Net
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
Net().to(device)(torch.randn(4, 3).to(device))
"""


async def _two_files(folder: Path) -> list[dict[str, list[lsp.Diagnostic]]]:
    """main.py is opened; net.py is opened, mended in the editor and saved; main.py is closed."""
    client = LanguageClient("test", "1")
    shown: dict[str, list[lsp.Diagnostic]] = {}

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def keep(params: lsp.PublishDiagnosticsParams) -> None:
        shown[Path(params.uri).name] = list(params.diagnostics)

    async def settled() -> dict[str, list[lsp.Diagnostic]]:
        await client.text_document_hover_async(
            lsp.HoverParams(lsp.TextDocumentIdentifier(main), lsp.Position(0, 0))
        )  # answered after all that was sent before
        return dict(shown)

    main, net = (folder / "main.py").as_uri(), (folder / "net.py").as_uri()
    await client.start_io(sys.executable, "-m", "torchferry", "server")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    for uri, text in ((main, MAIN), (net, NET)):
        client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "python", 1, text))
        )
    seen = [await settled()]
    right = NET.replace(
        "self.scale = torch.ones(3)", 'self.register_buffer("scale", torch.ones(3))'
    )
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(2, net),
            [lsp.TextDocumentContentChangeWholeDocument(right)],
        )
    )
    client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(net)))
    seen.append(await settled())
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(3, net),
            [lsp.TextDocumentContentChangeWholeDocument(NET)],
        )
    )
    client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(net)))
    seen.append(await settled())
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(main)))
    seen.append(await settled())
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return seen


def test_fault_in_an_imported_file_is_shown_there(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(MAIN, encoding="utf-8")
    (tmp_path / "net.py").write_text(NET, encoding="utf-8")
    seen = asyncio.run(asyncio.wait_for(_two_files(tmp_path), 60))
    for state in (seen[0], seen[2]):
        assert state["main.py"] == []
        (diagnostic,) = state["net.py"]
        assert diagnostic.code == "DEV401"
        assert diagnostic.range.start == lsp.Position(5, 15)  # in UTF-16 units
        places = {Path(r.location.uri).name for r in diagnostic.related_information or ()}
        assert places == {"main.py", "net.py"}
    assert seen[1]["net.py"] == []
    assert seen[3]["net.py"] == []
