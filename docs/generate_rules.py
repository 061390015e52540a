"""Write docs/rules from the documentation of the rules: `python docs/generate_rules.py`."""

from __future__ import annotations

from pathlib import Path

from torchferry.cli._settings import described_rules
from torchferry.report.rule_text import rule_markdown

FOLDER = Path(__file__).parent / "rules"


def pages() -> dict[str, str]:
    """File name -> content of every page."""
    rules = described_rules()
    found = {f"{rule['name']}.md": rule_markdown(rule) for rule in rules}
    lines = ["# Rules", "", "`torchferry explain CODE` shows a page in the terminal."]
    family = ""
    for rule in rules:
        if rule["family_title"] != family:
            family = rule["family_title"]
            lines += ["", f"## {family}", "", "| code | rule | severity | fix | what |"]
            lines.append("|---|---|---|---|---|")
        fix = "yes" if rule["fixable"] else ""
        link = f"[{rule['name']}]({rule['name']}.md)"
        row = (rule["code"], link, rule["severity"], fix, rule["summary"])
        lines.append(f"| {' | '.join(row)} |")
    found["README.md"] = "\n".join(lines) + "\n"
    return found


def main() -> None:
    """Write all pages, and remove those of rules that are gone."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
