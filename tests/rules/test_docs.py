"""The pages in docs/rules are those of the rules; `python docs/generate_rules.py` writes them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_pages_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate_rules", DOCS / "generate_rules.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wanted = module.pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "rules").glob("*.md")}
    assert there == wanted, "run: python docs/generate_rules.py"
