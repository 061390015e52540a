"""`torchferry rules`: the list of all rules."""

from __future__ import annotations

import json

import click

_HELP = """List all rules of `torchferry check`, by family."""


@click.command("rules", help=_HELP)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def command(form: str) -> None:
    """Print the rules."""
    from ._settings import described_rules

    rules = described_rules()
    if form == "json":
        click.echo(json.dumps(rules, indent=2))
        return
    width = max(len(rule["name"]) for rule in rules)
    family = ""
    for rule in rules:
        if rule["family_title"] != family:
            family = rule["family_title"]
            click.echo(f"\n{family}" if rule is not rules[0] else family)
        fix = "fix" if rule["fixable"] else "   "
        line = f"  {rule['code']}  {rule['name']:<{width}}  {rule['severity']:<7}  {fix}  "
        click.echo((line + rule["summary"]).rstrip())
