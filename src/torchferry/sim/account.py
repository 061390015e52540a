"""Counts what happens in a session, cheaply; turns it into events when asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import TypeAlias

from torchferry.sim.memory import Memory
from torchferry.sim.places import called_directly, caller, user_frame
from torchferry.sim.sites import Site
from torchferry.sim.tables.families import MAKING
from torchferry.sim.tags import LOADING
from torchferry.sim.tracing import direction, events_of
from torchferry.trace import Account, Event, Header, by_place

#: Waits that the program asks for: `set_sync_debug_mode` says nothing of them.
EXPLICIT_WAITS = frozenset({"synchronize", "stream.synchronize", "event.synchronize"})


#: More sites than this are no source a person wrote but code made at run time: the further ones
#: are counted together, without a place.
MAX_SITES = 50_000

#: (source, target, pinned, non_blocking, code, instruction, where the tensor was made)
MoveKey: TypeAlias = "tuple[int, int, bool, bool, int, int, Site | None]"


class Counter:
    """Sums of a session. Keys hold the user's instruction, so memory is bounded by the source.

    tracing: by place; else only the sums are right, and no place is looked for.
    """

    def __init__(self, memory: Memory, tracing: bool = True) -> None:
        self.memory = memory
        self.tracing = tracing
        self.sites: dict[tuple[str, int, int, int], Site] = {}
        self.codes: dict[int, CodeType] = {}
        self.moves: dict[MoveKey, list[int]] = {}
        self.waits: dict[tuple[str, int, int], int] = {}
        self.paused = 0
        self.loading = 0  #: batches that are being fetched
        self.sync_debug: int = 0  #: torch.cuda.set_sync_debug_mode: 0 silent, 1 warns, 2 raises

    def site(
        self,
        name: str,
        device: int,
        code: CodeType | None,
        lasti: int,
        start: FrameType | None = None,
    ) -> Site:
        """The site of the operator overload `name` at an instruction, on `device`.

        start: frame that called the operator; a line that does so itself can name the result.
        """
        side = LOADING if device < 0 and self.loading else device
        if not self.tracing or len(self.sites) >= MAX_SITES:
            code, lasti = None, 0
        key = (name, side, id(code), lasti)
        site = self.sites.get(key)
        if site is None:
            card = self.memory.cards[device] if device >= 0 else None
            operator = name.partition(".")[0]
            site = self.sites[key] = Site(name, operator, device, side, code, lasti, card)
            site.direct = start is not None and called_directly(start, code)
            if card is not None:
                card.sites.append(site)
        return site

    def site_here(self, name: str, device: int, depth: int) -> Site:
        """The site of `name` at the user's line, looked for `depth` frames above the caller."""
        frame = user_frame(depth + 2) if self.tracing else None
        if frame is None:
            return self.site(name, device, None, 0)
        return self.site(name, device, frame.f_code, frame.f_lasti, caller(depth + 1))

    @property
    def operators(self) -> dict[tuple[str, int, int, int], list[int]]:
        """Calls and bytes of (operator, device number, code, instruction)."""
        return {key: [s.count, s.nbytes] for key, s in self.sites.items() if s.count}

    def move(
        self,
        source: int,
        target: int,
        nbytes: int,
        pinned: bool,
        non_blocking: bool,
        origin: Site | None = None,
    ) -> None:
        """Count a copy of `nbytes` bytes from `source` to `target` (device numbers).

        origin: where the tensor was made.
        """
        if self.paused:
            return
        key = (source, target, pinned, non_blocking, *self._here(), origin)
        entry = self.moves.setdefault(key, [0, 0])
        entry[0] += 1
        entry[1] += nbytes

    def wait(self, what: str) -> None:
        """Count a wait of the host for the GPU."""
        if self.paused:
            return
        if self.sync_debug and what not in EXPLICIT_WAITS:
            self._complain()
        key = (what, *self._here())
        self.waits[key] = self.waits.get(key, 0) + 1

    def _complain(self) -> None:
        """What torch.cuda.set_sync_debug_mode asks for where the host waits unasked."""
        message = "called a synchronizing CUDA operation"
        if self.sync_debug > 1:
            raise RuntimeError(message)
        warnings.warn(message, stacklevel=4)

    def _here(self) -> tuple[int, int]:
        frame = user_frame(3) if self.tracing else None
        if frame is None or len(self.codes) >= MAX_SITES:
            return 0, 0
        code = frame.f_code
        self.codes[id(code)] = code
        return id(code), frame.f_lasti

    def account(self) -> Account:
        """Sums so far."""
        gpu = [0, 0]
        host = [0, 0]
        loading = 0
        for site in self.sites.values():
            if site.side == LOADING:
                loading += site.nbytes if site.count else 0
                continue
            side = host if site.device < 0 else gpu
            side[0] += site.count
            if site.count and site.operator not in MAKING:
                side[1] += site.nbytes
        copies = {"h2d": [0, 0], "d2h": [0, 0], "d2d": [0, 0]}
        for (source, target, *_), (count, nbytes) in self.moves.items():
            entry = copies[direction(source, target)]
            entry[0] += count
            entry[1] += nbytes
        return Account(
            gpu_operators=gpu[0],
            gpu_bytes=gpu[1],
            host_operators=host[0],
            host_bytes=host[1],
            loading_bytes=loading,
            h2d_copies=copies["h2d"][0],
            h2d_bytes=copies["h2d"][1],
            d2h_copies=copies["d2h"][0],
            d2h_bytes=copies["d2h"][1],
            d2d_copies=copies["d2d"][0],
            d2d_bytes=copies["d2d"][1],
            host_waits=sum(self.waits.values()),
            peak_memory=max(card.top for card in self.memory.cards),
            places=by_place(events_of(self, named=False)) if self.tracing else (),
        )

    def events(self, header: Header) -> Iterator[Event]:
        """Everything counted, as events of the trace."""
        yield header
        yield from events_of(self)
