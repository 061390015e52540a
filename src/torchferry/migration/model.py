"""What a migration is: options in, a rewritten text and a plan out."""

from __future__ import annotations

from dataclasses import dataclass, field

from torchferry.core.edit import Fix


@dataclass(frozen=True, slots=True)
class MigrationOptions:
    """How to migrate.

    device: "auto" (the accelerator where there is one, else the CPU), "cuda", "mps", "xpu",
        "accelerator" (torch.accelerator, torch 2.6 and newer) or a Python expression that gives
        a device.
    keep_rng: draw random tensors on the host and move them, so that the numbers are the same on
        every device.
    """

    device: str = "auto"
    keep_rng: bool = False


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One decision: at `line` of the original (from 1), `what` was done, and `why`."""

    line: int
    what: str
    why: str


@dataclass(slots=True)
class Plan:
    """The decisions of a migration, each list in the order of the lines."""

    placed: list[PlanItem] = field(default_factory=list)  #: born on the device
    moved: list[PlanItem] = field(default_factory=list)  #: copied to the device or to the host
    left: list[PlanItem] = field(default_factory=list)  #: left alone, with the reason
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Migration:
    """A migrated document; `after == before` when there was nothing to do."""

    path: str
    before: str
    after: str
    fixes: list[Fix] = field(default_factory=list)
    plan: Plan = field(default_factory=Plan)
    edited_lines: list[int] = field(default_factory=list)  #: lines of `after` that differ

    @property
    def changed(self) -> bool:
        """Whether the text differs."""
        return self.before != self.after
