"""The fixtures of migrations: programs before and after, in Markdown beside the rule they show.

A file holds one kind. Its first quotation is the rule. Each case is a heading with code blocks:

    ## Title
    Options: device=mps, keep_rng       how to migrate (optional)
    Not run: reason                     the program is not executed (optional)
    Not yet: reason                     a known fault: the expected text is not reached (optional)
    Nothing changes.                    instead of an "after" block

    ```python                           the program
    ```python after                     what migrate makes of it
    ```text plan                        what the plan says: "placed 3: text", "moved 5: text",
                                        "left 7: text", a line each (optional)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from torchferry.migration import Migration, MigrationOptions, migrate_document
from torchferry.source.document import Document

FOLDER = Path(__file__).parent / "fixtures"
_BLOCK = re.compile(r"^```(\w+)( \w+)?\n(.*?)^```$", re.M | re.S)
DEFAULT = MigrationOptions()
_WORDS = ("Options", "Not run", "Not yet")


@dataclass(frozen=True)
class Fixture:
    """One case: `after == before` where nothing may change."""

    kind: str
    title: str
    before: str
    after: str
    plan: tuple[str, ...] | None = None
    options: MigrationOptions = DEFAULT
    not_run: str = ""
    not_yet: str = ""

    @property
    def name(self) -> str:
        """kind/title-in-words."""
        return f"{self.kind}/{re.sub(r'[^a-z0-9]+', '-', self.title.lower()).strip('-')}"

    @property
    def changes(self) -> bool:
        """Whether migrate has something to do."""
        return self.before != self.after


def migrated(source: str, options: MigrationOptions = DEFAULT) -> Migration:
    """The migration of a source text."""
    return migrate_document(Document.from_text(source, "program.py"), options)


def load() -> list[Fixture]:
    """All fixtures, by kind and place in the file."""
    return [case for path in sorted(FOLDER.glob("*.md")) for case in cases_of(path)]


def cases_of(path: Path) -> list[Fixture]:
    """The cases of one file. Raises ValueError where it is not well formed."""
    text = path.read_text(encoding="utf-8")
    head, *parts = re.split(r"^## ", text, flags=re.M)
    if not re.match(r"# .+\n\n> ", head):
        raise ValueError(f"{path.name}: a title and the rule come first")
    return [_case(path, part) for part in parts]


def _case(path: Path, text: str) -> Fixture:
    title = text.partition("\n")[0].strip()
    where = f"{path.name}: {title}"
    prose = _BLOCK.sub("", text)
    blocks = {mark.strip() or "before": body for _, mark, body in _BLOCK.findall(text)}
    words = {
        key: found[1].strip()
        for key in _WORDS
        if (found := re.search(rf"^{key}: (.*(?:\n\S.*)*)$", prose, re.M))
    }
    same = re.search(r"^Nothing changes\.", prose, re.M) is not None
    if "before" not in blocks or same == ("after" in blocks) or not blocks.keys() <= _NAMES:
        raise ValueError(f"{where}: a program, and its result or `Nothing changes.`")
    plan = blocks.get("plan")
    return Fixture(
        path.stem,
        title,
        blocks["before"],
        blocks.get("after", blocks["before"]),
        None if plan is None else tuple(plan.splitlines()),
        _options(words.get("Options", ""), where),
        words.get("Not run", ""),
        words.get("Not yet", ""),
    )


_NAMES = {"before", "after", "plan"}


def _options(text: str, where: str) -> MigrationOptions:
    device, keep_rng = "auto", False
    for word in filter(None, (w.strip() for w in text.split(","))):
        key, _, value = word.partition("=")
        if key == "device":
            device = value
        elif key == "keep_rng":
            keep_rng = True
        else:
            raise ValueError(f"{where}: no option {key}")
    return MigrationOptions(device=device, keep_rng=keep_rng)
