"""The Python entry to a verification."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Union

from .options import VerifyOptions
from .rewrite import Rewrite, read_source, rewrite_of
from .runs import Progress
from .verdict import Verdict
from .verifier import verify_rewrite

if TYPE_CHECKING:
    from torchferry.migration import Migration, MigrationOptions

PathLike = Union[str, "os.PathLike[str]"]


def verify(
    script: PathLike,
    args: Sequence[str] = (),
    *,
    migrated: PathLike | Mapping[PathLike, str] | Migration | None = None,
    migration_options: MigrationOptions | None = None,
    options: VerifyOptions | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Prove that a migrated script is the same program, on the CPU and on a GPU.

    script, args: what to run, in the current folder. migrated: the script after the migration: a
    file, a `Migration`, or the new texts of several files by their paths; None migrates it now.
    progress: called with the role of each run before it starts.

    The user's files are not touched: every run works on a copy. Raises SourceError for a script
    that cannot be read or migrated, UsageError, and MissingTorch.
    """
    path = Path(os.path.abspath(script))
    rewrite = _rewrite(path, migrated, migration_options)
    return verify_rewrite(path, tuple(args), rewrite, options or VerifyOptions(), progress)


def _rewrite(
    script: Path,
    migrated: PathLike | Mapping[PathLike, str] | Migration | None,
    migration_options: MigrationOptions | None,
) -> Rewrite:
    if isinstance(migrated, (str, os.PathLike)):
        return rewrite_of({script: read_source(Path(migrated))})
    if isinstance(migrated, Mapping):
        return rewrite_of(
            {Path(os.path.abspath(path)): _encoded(path, text) for path, text in migrated.items()}
        )
    if migrated is None:
        return rewrite_of(_migrate(script, migration_options))
    return rewrite_of({script: _encoded(script, migrated.after)})


def _migrate(script: Path, migration_options: MigrationOptions | None) -> dict[Path, bytes]:
    """The script and the files of its project that it imports, migrated as one program."""
    from torchferry.core.errors import RewriteRefused
    from torchferry.migration import MigrationOptions, migrate_documents
    from torchferry.source.document import Document
    from torchferry.source.project import program_of

    options = migration_options or MigrationOptions()
    documents = program_of(Document.from_bytes(read_source(script), str(script)))
    try:
        migrations = migrate_documents(documents, options)
    except RewriteRefused:
        documents = documents[:1]
        migrations = migrate_documents(documents, options)
    return {
        Path(os.path.abspath(document.path)): document.to_bytes(migration.after)
        for document, migration in zip(documents, migrations, strict=True)
        if migration.changed or document is documents[0]
    }


def _encoded(path: PathLike, text: str) -> bytes:
    """`text` in the encoding of the file that it replaces."""
    from torchferry.source.document import Document

    return Document.from_bytes(read_source(Path(path)), str(path)).to_bytes(text)
