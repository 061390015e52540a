"""The documentation of a rule, for a terminal and as Markdown."""

from __future__ import annotations

from typing import Any

_CODE = ("Example", "Fix")


def rule_text(rule: dict[str, Any]) -> str:
    """A rule for a terminal: its head, then each section."""
    fix = ", has fixes" if rule["fixable"] else ""
    lines = [f"{rule['code']} {rule['name']} ({rule['severity']}{fix})", "", rule["summary"]]
    for title, text in rule["sections"].items():
        lines += ["", title, *(f"    {line}".rstrip() for line in text.split("\n"))]
    return "\n".join(lines)


def rule_markdown(rule: dict[str, Any]) -> str:
    """A rule as a page."""
    lines = [f"# {rule['code']}: {rule['name']}", "", rule["summary"], ""]
    lines.append(f"Severity: {rule['severity']}. Family: {rule['family_title']}.")
    for title, text in rule["sections"].items():
        lines += ["", f"## {title}", ""]
        lines += ["```python", text, "```"] if title in _CODE else [text]
    return "\n".join(lines) + "\n"
