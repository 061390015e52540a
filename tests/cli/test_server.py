"""The language server, driven by a real client through pipes."""

from __future__ import annotations

import asyncio
import sys
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
