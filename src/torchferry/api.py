"""The public Python API; `import torchferry` offers these names lazily.

Only `verify` (in child processes) and `simulate` use torch.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .source.document import Document

if TYPE_CHECKING:
    from .core.finding import Finding
    from .migration import Migration
    from .verification import Verdict

__all__ = ["check", "migrate", "simulate", "verify"]


def migrate(
    source: str | bytes | os.PathLike[str] | Document,
    *,
    device: str = "auto",
    keep_rng: bool = False,
) -> Migration:
    """Rewrite CPU-only PyTorch source to plain, device-agnostic PyTorch. Nothing is written.

    source: the source text (with at least one line break), its bytes, or the path of a file.
    device: "auto", "cuda", "mps", "xpu", "accelerator", or a Python expression that gives a device.
    keep_rng: draw random tensors on the host, so that the numbers are the same on every device.

    Raises SourceError when the source cannot be read or parsed, RewriteRefused when the result did
    not survive proof-reading.

    >>> source = "import torch\\nmodel = torch.nn.Linear(2, 1)\\nmodel(torch.ones(2))\\n"
    >>> migrate(source).changed
    True
    """
    from .migration import MigrationOptions, migrate_document

    return migrate_document(document(source), MigrationOptions(device=device, keep_rng=keep_rng))


def check(source: str | bytes | os.PathLike[str] | Document) -> list[Finding]:
    """Find device mistakes in PyTorch source, in the order of its lines.

    source: as for `migrate`. Files of the same project that a file imports are followed; what is
    at fault there comes last. Raises SourceError when the source cannot be read or parsed.
    """
    from .rules.engine import all_findings, check_in_project
    from .source.project import Project

    found = document(source)
    checked = check_in_project(found, None, Project([found]))
    return [*all_findings(checked), *checked.elsewhere]


def verify(script: str | os.PathLike[str], args: Any = (), **options: Any) -> Verdict:
    """Prove that a migrated script is the same program, on the CPU and on a GPU.

    Takes what `torchferry.verification.verify` takes, and runs the script several times.
    """
    from .verification import verify as run

    return run(script, args, **options)


def simulate(*args: Any, **options: Any) -> Any:
    """A simulated GPU as a context manager or decorator; see `torchferry.sim.simulate`."""
    from .sim import simulate as start

    return start(*args, **options)


def document(source: str | bytes | os.PathLike[str] | Document) -> Document:
    """The document of a source text, its bytes, or the path of a file.

    A string without a line break is a path. Raises SourceError for what is no Python 3.
    """
    found = _open(source)
    _ = found.tree  # what is no Python is refused, whether it mentions torch or not
    return found


def _open(source: str | bytes | os.PathLike[str] | Document) -> Document:
    if isinstance(source, Document):
        return source
    if isinstance(source, bytes):
        return Document.from_bytes(source, "<bytes>")
    if isinstance(source, str) and ("\n" in source or "\r" in source or not source):
        return Document.from_text(source, "<string>")
    from .source.files import load

    return load(os.fspath(source))
