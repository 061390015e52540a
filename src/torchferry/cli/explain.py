"""`torchferry explain`: the documentation of one rule."""

from __future__ import annotations

import click

_HELP = """Explain a rule, given by its code (DEV101) or its name (input-not-moved)."""


@click.command("explain", help=_HELP)
@click.argument("rule")
@click.option(
    "--format", "form", type=click.Choice(["text", "markdown"]), default="text", show_default=True
)
def command(rule: str, form: str) -> None:
    """Print the documentation of RULE."""
    from torchferry.rules.registry import all_rules, find_rule

    found = find_rule(rule)
    if found is None:
        from difflib import get_close_matches

        known = [name for r in all_rules() for name in (r.code, r.name)]
        near = get_close_matches(rule.lower(), known, 1, 0.5)
        hint = f"; did you mean {near[0]}?" if near else "; see `torchferry rules`"
        raise click.UsageError(f"there is no rule {rule!r}{hint}")
    from torchferry.report.rule_text import rule_markdown, rule_text

    from ._settings import described_rules

    described = next(d for d in described_rules() if d["code"] == found.code)
    click.echo(rule_markdown(described) if form == "markdown" else rule_text(described))
