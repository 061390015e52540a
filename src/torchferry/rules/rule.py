"""What a rule is: class data, documentation in the docstring, and a check over one document."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from torchferry.core.finding import Evidence, Finding, Severity

if TYPE_CHECKING:
    from torchferry.core.edit import Fix

    from .context import Context

#: the sections of a rule's docstring, in this order, after its one-line summary
SECTIONS = ("What it does", "Why is this bad", "Example", "Fix", "Fix safety", "References")

#: folder of a family -> (the codes of its rules: first and last number, title)
FAMILIES: dict[str, tuple[int, int, str]] = {
    "comments": (1, 99, "Comments to torchferry"),
    "data": (101, 199, "Data that was not moved"),
    "births": (201, 299, "Tensors born on the host"),
    "border": (301, 399, "The border to numpy and other host libraries"),
    "state": (401, 499, "State that the module does not know"),
    "models": (501, 599, "Models, optimizers and checkpoints"),
    "moves": (601, 699, "Moves written wrongly"),
    "indices": (701, 719, "Index devices, lengths and generators"),
    "operators": (720, 739, "Operators that a GPU lacks"),
    "numbers": (740, 759, "Other numbers without an error"),
    "graphs": (760, 799, "Autograd functions, hooks, tracing, export"),
    "fixed": (801, 899, "Hard-coded devices, flags and comparisons"),
    "speed": (901, 949, "Speed and memory that only show on a GPU"),
    "loading": (950, 999, "Data loading and processes"),
}


class Rule:
    """Base of all rules.

    code: "DEV101"; name: the rule's name everywhere, that of its file with hyphens;
    kinds: other names that public reports use for what the rule finds;
    fixable: whether some of its findings carry a fix.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity] = Severity.WARNING
    kinds: ClassVar[tuple[str, ...]] = ()
    fixable: ClassVar[bool] = False
    #: a word that a file must hold for the rule to have anything to say; "" for every file
    word: ClassVar[str] = ""

    def check(self, ctx: Context) -> Iterable[Finding]:
        """The findings of this rule in one document."""
        raise NotImplementedError

    def finding(
        self,
        ctx: Context,
        node: ast.AST,
        message: str,
        *,
        severity: Severity | None = None,
        evidence: Sequence[Evidence] = (),
        help: str = "",
        fix: Fix | None = None,
        notes: Sequence[str] = (),
    ) -> Finding:
        """A finding of this rule at `node`."""
        level = severity or self.severity
        if id(node) in ctx.doubtful:
            level = Severity.NOTE
            notes = (*notes, "right where it holds a single number: that may join GPU tensors")
        place = ctx.location(node)
        if place.path != ctx.doc.path:
            fix = None  # what another file should become is for its own check to say
        return Finding(
            self.code, self.name, level, place, message, tuple(evidence), help, fix, tuple(notes)
        )


def family_of(rule: type[Rule] | Rule) -> str:
    """The folder that a rule lives in."""
    cls = rule if isinstance(rule, type) else type(rule)
    return cls.__module__.split(".")[-2]


def documentation(rule: type[Rule]) -> dict[str, str]:
    """The docstring by section; the summary under ""."""
    import inspect
    import textwrap

    sections: dict[str, list[str]] = {"": []}
    current = sections[""]
    for line in inspect.cleandoc(rule.__doc__ or "").split("\n"):
        title = line.removesuffix(":")
        if line.endswith(":") and title in SECTIONS:
            current = sections.setdefault(title, [])
        else:
            current.append(line)
    return {name: textwrap.dedent("\n".join(lines)).strip("\n") for name, lines in sections.items()}
