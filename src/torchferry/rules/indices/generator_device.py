"""DEV705."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchferry.core.finding import Finding, Severity
from torchferry.flow.moves import device_bits
from torchferry.flow.values import ACCEL, CPU, Ext, Inst
from torchferry.torchapi.torch_functions import RANDOM_FACTORIES

from ..causes import causes
from ..rule import Rule
from ..wording import proof

if TYPE_CHECKING:
    from ..context import Context


class GeneratorDevice(Rule):
    """A random generator of one device for a draw on another.

    What it does:
        Reports `generator=torch.Generator()` in a draw on the GPU, and a GPU generator in a draw
        on the CPU.

    Why is this bad:
        "Expected a 'cuda' device type for generator but found 'cpu'".

    Example:
        import torch

        g = torch.Generator()
        x = torch.randn(2, generator=g, device="cuda")

    Fix:
        import torch

        g = torch.Generator(device="cuda")
        x = torch.randn(2, generator=g, device="cuda")

    Fix safety:
        No automatic fix: a generator of another device gives other numbers.

    References:
        https://docs.pytorch.org/docs/stable/generated/torch.Generator.html
    """

    code = "DEV705"
    name = "generator-device"
    severity = Severity.ERROR
    word = "Generator"

    def check(self, ctx: Context) -> Iterable[Finding]:
        for cause in causes(ctx, self.name):
            yield self.finding(
                ctx,
                cause.node,
                "the generator is of the CPU, the draw on the GPU",
                evidence=proof(ctx, cause),
                help="make the generator with device=",
            )
        seen: set[int] = set()
        for event in ctx.ip.events:
            if not isinstance(event.func, Ext) or "generator" not in event.kwargs:
                continue
            generator = event.kwargs["generator"][0]
            if not isinstance(generator, Inst) or generator.kind != "generator":
                continue
            if not event.func.name.startswith("torch.") or ".data." in event.func.name:
                continue
            mine = generator.state.get("dev", CPU)
            wanted = CPU if event.func.name in RANDOM_FACTORIES else 0
            if "device" in event.kwargs:
                wanted = device_bits(event.kwargs["device"][0])
            elif ctx.ip.default_dev != CPU:
                continue
            if (
                wanted in (CPU, ACCEL)
                and mine in (CPU, ACCEL)
                and mine != wanted
                and event.frame.unit.doc is ctx.doc
                and id(event.node) not in seen
            ):
                seen.add(id(event.node))
                names = {CPU: "the CPU", ACCEL: "the GPU"}
                yield self.finding(
                    ctx,
                    event.node,
                    f"the generator is of {names[mine]}, the draw on {names[wanted]}",
                    help="make the generator with the same device=",
                )
