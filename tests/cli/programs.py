"""A program that must change, and the odd files of the world."""

from __future__ import annotations

CPU_ONLY = """\
import torch
from torch import nn

x = torch.ones(4, 2)
model = nn.Linear(2, 1)
print(model(x).detach().numpy())
"""
NOTHING_TO_DO = "import os\n\nprint(os.name)\n"

PYTHON_2 = b"import torch\nprint 'loss', 1\n"
SYNTAX_ERROR = b"import torch\nx = (1,\n"
BINARY = b"\x7fELF\x02\x01\x00\x00"
NO_COOKIE = "# caf\u00e9\nimport torch\n".encode("latin-1")
NULL = b"import torch\nx = '\0'\n"
DEEP = b"import torch\nx = " + b"(" * 400 + b"1" + b")" * 400 + b"\n"
VERY_DEEP = b"import torch\nx = " + b"-" * 50_000 + b"1\n"
UTF_16 = "import torch\n".encode("utf-16")

#: Bytes that cannot be processed, and a part of what must be said about each.
REFUSED = {
    "python2.py": (PYTHON_2, "python2.py:2: Python 2 source (print statement)"),
    "broken.py": (SYNTAX_ERROR, "broken.py:2: syntax error: '(' was never closed"),
    "binary.py": (BINARY, "binary.py: not a text file (null byte at offset 6)"),
    "nocookie.py": (NO_COOKIE, "nocookie.py:1: byte 0xe9 is not utf-8"),
    "null.py": (NULL, "null.py: not a text file (null byte"),
    "deep.py": (DEEP, "deep.py:2: syntax error: too many nested parentheses"),
    "verydeep.py": (VERY_DEEP, "verydeep.py: nested too deeply"),
    "utf16.py": (UTF_16, "utf16.py: UTF-16 text"),
}
