"""One simulated machine: its settings, its state, and what the stand-ins ask it to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, NoReturn

import torch

from torchferry.sim import context
from torchferry.sim.account import Counter
from torchferry.sim.errors import raise_device_error
from torchferry.sim.memory import Memory, OutOfMemory, parse_size
from torchferry.sim.mode import SimulationMode
from torchferry.sim.sites import Site
from torchferry.sim.subclasses import copy_wrapper, has_own_dispatch
from torchferry.sim.tags import (
    CPU,
    FLOATING,
    LAZY,
    DeviceTag,
    MoveNote,
    Tag,
    nbytes_of,
    origin_of,
    pin,
    tag_of,
    tag_tensor,
)
from torchferry.trace import Account, Event, Header

#: What follows every error of the driver.
CUDA_ERROR_NOTE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
    "below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)


class Session:
    """A simulated machine with `gpus` GPUs, as `with simulate() as gpu` gives it."""

    def __init__(
        self,
        gpus: int = 1,
        memory: str | int = "80GB",
        name: str = "Simulated GPU",
        capability: tuple[int, int] = (9, 0),
        trace: bool = True,
        rng: str = "host",
    ) -> None:
        if gpus < 1:
            raise ValueError("gpus must be at least 1")
        if rng not in ("host", "device"):
            raise ValueError(f"rng must be 'host' or 'device', not {rng!r}")
        #: What `simulate` was called with, for the processes that the program spawns.
        self.settings: dict[str, Any] = {}
        self.gpus: int = gpus
        self.name = name
        self.capability = capability
        self.device_rng = rng == "device"
        self.total_memory = parse_size(memory)
        self.memory: Memory = Memory(gpus, self.total_memory)
        self.counter: Counter = Counter(self.memory, trace)
        self.mode = SimulationMode(self)
        #: Device of `torch.set_default_tensor_type(torch.cuda.FloatTensor)`; CPU else.
        self.legacy_device = CPU
        #: GPU that the random operator being run draws on (with `rng="device"`).
        self.drawing_device = CPU
        #: What `torch.set_default_device` had set when the session began.
        self.default_device: Any = None
        #: The error that has broken the CUDA context: every later call raises.
        self.broken = ""
        #: True once CUDA was used or its cards were counted: forked children may not use it then.
        self.poisons_forks = False
        #: True in such a child.
        self.forked = False
        #: True until CUDA is used in this process.
        self.unready = True
        #: Device that a wrapper is being copied to: the `_to_copy` inside goes there.
        self.moving_to: int | None = None
        self.generators: dict[int, torch.Generator] = {}
        #: State of the CPU's generator when a seed was first given to a GPU (cuda/seeds.py).
        self.seeds: dict[int, torch.Tensor] = {}
        #: Above 0: tensors without a tag are not known to be the user's own CPU tensors.
        self.lenient = 0
        self._local = threading.local()

    # What the user may ask -----------------------------------------------------------------

    def account(self) -> Account:
        """What was computed, copied and waited for so far."""
        return self.counter.account()

    @property
    def trace(self) -> list[Event]:
        """Events so far, the Header first."""
        return list(self._events())

    def _events(self) -> Iterator[Event]:
        header = Header(
            torch_version=torch.__version__, device_name=self.name, device_count=self.gpus
        )
        return self.counter.events(header)

    # Devices -------------------------------------------------------------------------------

    @property
    def current_device(self) -> int:
        """Index of the current GPU of this thread."""
        return getattr(self._local, "device", 0)

    @current_device.setter
    def current_device(self, index: int) -> None:
        self.check_index(index)
        self._local.device = index

    def check_index(self, index: int) -> None:
        """Raise what CUDA raises for a GPU that is not there."""
        if not 0 <= index < self.gpus:
            raise_device_error(
                "out-of-range-device",
                "CUDA error: invalid device ordinal\n"
                f"GPU device may be out of range, do you have enough GPUs?\n{CUDA_ERROR_NOTE}",
                "cuda",
                error=getattr(torch, "AcceleratorError", RuntimeError),
            )

    def index_of(self, device: torch.device) -> int:
        """Device number of `device`; checks the index and that CUDA may be used here."""
        if device.type != "cuda":
            return CPU
        if self.unready:
            self.make_ready()
        index = device.index
        if index is None:
            return self.current_device
        if not 0 <= index < self.gpus:
            self.check_index(index)
        return int(index)

    def make_ready(self) -> None:
        """CUDA starts. Refused in a forked child whose parent has started it."""
        torch.cuda._lazy_init()
        self.poisons_forks, self.unready = True, False

    def in_child(self) -> None:
        """This process was forked just now."""
        self.forked, self.unready = self.poisons_forks, True
        if self.forked:
            for card in self.memory.cards:  # so that new results are noticed
                card.limit = card.threshold = -1

    # Tags ----------------------------------------------------------------------------------

    def adopt(self, tensor: torch.Tensor, device: int) -> None:
        """Settle a tensor that was made without a device on `device`: no copy."""
        old = tag_of(tensor)
        if old is None:
            self.birth(tensor, device, "")
            return
        made = origin_of(old)
        site = self.counter.site(made.name, device, made.code, made.lasti)
        site.direct = made.direct
        nbytes = self._tag(tensor, site)
        if not isinstance(old, DeviceTag):  # its birth was counted there
            made.keep(nbytes)
        site.born(tensor, nbytes)

    def birth(self, tensor: torch.Tensor, device: int, operator: str) -> None:
        """Tag a tensor whose storage nothing else holds as born here on `device`."""
        site = self.counter.site_here(operator, device, 1)
        site.born(tensor, self._tag(tensor, site))

    def _tag(
        self,
        tensor: torch.Tensor,
        site: Site,
        origin: Site | None = None,
        moves: tuple[MoveNote, ...] = (),
    ) -> int:
        try:
            return tag_tensor(tensor, site, origin, moves)
        except OutOfMemory as full:
            self.out_of_memory(full, site.name)

    def transfer(
        self,
        tensor: torch.Tensor,
        device: int,
        dtype: torch.dtype | None = None,
        non_blocking: bool = False,
        memory_format: torch.memory_format = torch.preserve_format,
    ) -> torch.Tensor:
        """Copy to `device` (a number), without autograd. The tensor itself if nothing changes."""
        origin = tag_of(tensor)
        source = CPU if origin is None or origin.device == FLOATING else origin.device
        if self.broken and (source >= 0 or device >= 0):
            context.check(self)
        if source == device and (dtype is None or dtype == tensor.dtype):
            return tensor
        if has_own_dispatch(tensor):
            return copy_wrapper(tensor, device, dtype, non_blocking)
        out = _plain_copy(tensor, dtype, memory_format)
        if source != device:
            pinned = origin is not None and origin.pinned
            made = None if origin is None else origin_of(origin)
            self.counter.move(source, device, nbytes_of(out), pinned, non_blocking, made)
            if device == CPU and not non_blocking:
                self.counter.wait("copy to the host")
        self._tag_copy(out, device, origin)
        if non_blocking and source > CPU and device == CPU and out.layout is torch.strided:
            pin(out)  # else the copy could not run beside the host
        return out

    def _tag_copy(self, out: torch.Tensor, device: int, origin: Tag | None) -> None:
        functorch = torch._C._functorch
        while functorch.is_functorch_wrapped_tensor(out):
            out = functorch.get_unwrapped(out)
        site = self.counter.site_here("to", device, 2)
        earlier = () if origin is None else origin.moves[-8:]
        moves = (*earlier, (device, site.code, site.lasti))
        made = site if origin is None else origin_of(origin)
        site.born(out, self._tag(out, site, made, moves))

    # Memory --------------------------------------------------------------------------------

    def out_of_memory(self, full: OutOfMemory, operator: str) -> NoReturn:
        """Raise torch.OutOfMemoryError with PyTorch's words."""
        if self.forked:
            raise getattr(torch, "AcceleratorError", RuntimeError)(
                f"CUDA error: initialization error\n{CUDA_ERROR_NOTE}"
            )
        card = self.memory.cards[full.device]
        free = max(self.total_memory - card.allocated, 0)
        message = (
            f"CUDA out of memory. Tried to allocate {_size(full.nbytes)}. GPU {full.device} has a "
            f"total capacity of {_size(self.total_memory)} of which {_size(free)} is free. "
            f"Of the allocated memory {_size(card.allocated)} is allocated by PyTorch, and "
            f"{_size(max(card.reserved - card.allocated, 0))} is reserved by PyTorch but "
            "unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
        )
        raise_device_error("out-of-memory", message, operator, error=torch.cuda.OutOfMemoryError)


def _plain_copy(
    tensor: torch.Tensor, dtype: torch.dtype | None, memory_format: torch.memory_format
) -> torch.Tensor:
    """A copy of the values on the CPU, unseen by the mode and without a tag."""
    guard = torch._C._DisableTorchDispatch()
    try:
        if dtype is None or dtype == tensor.dtype:
            if memory_format is torch.preserve_format:
                if isinstance(tensor, LAZY):  # refuses torch functions
                    with torch._C.DisableTorchFunctionSubclass():
                        return tensor.detach().clone()
                return tensor.clone()  # sparse tensors refuse the argument
            return tensor.clone(memory_format=memory_format)
        if memory_format is torch.preserve_format:
            return tensor.to(dtype)
        return torch.ops.aten._to_copy.default(tensor, dtype=dtype, memory_format=memory_format)
    finally:
        del guard


def _size(nbytes: int) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if nbytes > 1 << power:
            return f"{nbytes / (1 << power):.2f} {unit}"
    return f"{nbytes} bytes"
