"""The counts of a session as the events of its trace."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import TYPE_CHECKING

from torchferry.sim.places import place_of
from torchferry.sim.sites import Site
from torchferry.sim.tables.families import MAKING
from torchferry.sim.tags import CPU, device_named
from torchferry.sim.variables import Variables
from torchferry.trace import (
    Birth,
    Event,
    FirstBirth,
    HostWait,
    MemoryHolder,
    MemoryPeak,
    MemorySample,
    Move,
    OperatorCount,
    Place,
)

if TYPE_CHECKING:
    from torchferry.sim.account import Counter


def events_of(counter: Counter, named: bool = True) -> Iterator[Event]:
    """Operators, births, moves, waits and memory. named: with variables, for which files are read.

    Without tracing only operators, moves, waits and the peaks, none with a place.
    """
    return _Writer(counter, Variables() if named else None).events()


class _Writer:
    def __init__(self, counter: Counter, variables: Variables | None) -> None:
        self._counter = counter
        self._variables = variables
        self._places: dict[tuple[int, int], Place | None] = {}

    def events(self) -> Iterator[Event]:
        sites = list(self._counter.sites.values())
        for site in sites:
            if site.count:
                yield self._operator(site)
        for site in sites:
            if site.births > 0 and self._counter.tracing:
                yield self._birth(site)
        yield from self._moves()
        for (what, code, lasti), count in list(self._counter.waits.items()):
            yield HostWait(what, self._place(self._counter.codes.get(code), lasti), count)
        yield from self._memory()

    def _place(self, code: CodeType | None, lasti: int) -> Place | None:
        key = (id(code), lasti)
        if key not in self._places:
            self._places[key] = place_of(code, lasti)
        return self._places[key]

    def _operator(self, site: Site) -> OperatorCount:
        return OperatorCount(
            operator=site.name,
            device=str(device_named(site.side)),
            count=site.count,
            nbytes=site.nbytes,
            place=self._place(site.code, site.lasti),
        )

    def _birth(self, site: Site) -> Birth:
        return Birth(
            device=str(device_named(site.device)),
            operator=site.operator,
            nbytes=site.born_bytes,
            place=self._place(site.code, site.lasti),
            variable=self._variable(site),
            count=site.births,
            first=tuple(FirstBirth(*first) for first in site.first),
        )

    def _variable(self, site: Site) -> str:
        if self._variables is None or not (site.direct or site.operator in MAKING):
            return ""
        return self._variables.assigned(site.code, site.lasti, site.direct)

    def _moves(self) -> Iterator[Move]:
        for key, (count, nbytes) in list(self._counter.moves.items()):
            source, target, pinned, lazy, code_id, lasti, origin = key
            code = self._counter.codes.get(code_id)
            yield Move(
                direction=direction(source, target),
                nbytes=nbytes,
                place=self._place(code, lasti),
                source=str(device_named(source)),
                target=str(device_named(target)),
                pinned=pinned,
                non_blocking=lazy,
                count=count,
                variable="" if self._variables is None else self._variables.receiver(code, lasti),
                born=None if origin is None else self._place(origin.code, origin.lasti),
            )

    def _memory(self) -> Iterator[Event]:
        cards = self._counter.memory.cards
        for index, card in enumerate(cards):
            card.finish()
            yield MemoryPeak(f"cuda:{index}", card.top, max(card.reserved_top, card.top))
        if not self._counter.tracing:
            return
        for index, card in enumerate(cards):
            for site, nbytes in sorted(card.holders, key=lambda held: -held[1]):
                place = self._place(site.code, site.lasti)
                yield MemoryHolder(
                    f"cuda:{index}", nbytes, site.operator, place, self._variable(site)
                )
        for index, card in enumerate(cards):
            for sample in card.samples:
                yield MemorySample(
                    device=f"cuda:{index}",
                    step=sample.births,
                    allocated=sample.allocated,
                    peak=sample.peak,
                    seconds=round(sample.seconds, 6),
                )


def direction(source: int, target: int) -> str:
    """h2d, d2h or d2d."""
    if source <= CPU:
        return "h2d"
    return "d2h" if target <= CPU else "d2d"
