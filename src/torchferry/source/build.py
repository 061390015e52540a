"""Edit builders: the only places that know how Python's punctuation takes a change.

Each returns the edits of one change as a tuple, or None when the change cannot be made there
without harm (inside an f-string, where a comment would be lost, ...). Texts that builders insert
are written with "\\n"; the file's own line break and indentation are put in.
"""

from .editing.arguments import add_keyword, remove_argument
from .editing.expressions import method_call, remove_method_call, replace, wrap_call
from .editing.imports import insert_after_imports
from .editing.statements import (
    insert_at_block_start,
    insert_statement_after,
    insert_statement_before,
    remove_statement,
)

__all__ = [
    "add_keyword",
    "insert_after_imports",
    "insert_at_block_start",
    "insert_statement_after",
    "insert_statement_before",
    "method_call",
    "remove_argument",
    "remove_method_call",
    "remove_statement",
    "replace",
    "wrap_call",
]
