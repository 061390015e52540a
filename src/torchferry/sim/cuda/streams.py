"""Streams and events. Work is done at once, so they only keep order and time."""

from __future__ import annotations

from typing import Any

import torch

from torchferry.sim import context, state
from torchferry.sim.cuda.driver import now
from torchferry.sim.patching import Patcher
from torchferry.sim.state import number_of


class Stream:
    """A stream of a simulated GPU."""

    _next = 1
    device_type = 1

    def __init__(
        self,
        device: Any = None,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int | None = None,
        **kwargs: Any,
    ) -> None:
        session = state.current()
        if device_index is None:
            known = device is not None
            device_index = number_of(session, device) if known else session.current_device
        self.device_index = device_index
        self.priority = priority
        if stream_id is None:
            stream_id, Stream._next = Stream._next, Stream._next + 1
        self.stream_id = stream_id
        self._before: list[Any] = []

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        return self.stream_id

    @property
    def _as_parameter_(self) -> Any:
        import ctypes

        return ctypes.c_void_p(self.stream_id)

    def wait_event(self, event: Any) -> None: ...

    def wait_stream(self, stream: Any) -> None: ...

    def record_event(self, event: Any = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None:
        context.check(state.current())
        state.current().counter.wait("stream.synchronize")

    def priority_range(self) -> tuple[int, int]:
        return (0, -5)

    def __enter__(self) -> Stream:
        self._before.append(current_stream(self.device_index))
        set_stream(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        set_stream(self._before.pop())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Stream)
            and other.stream_id == self.stream_id
            and other.device_index == self.device_index
        )

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device_index))

    def __repr__(self) -> str:
        return (
            f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.stream_id:#x}>"
        )


class Event:
    """An event: remembers when it was recorded."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
        **kwargs: Any,
    ) -> None:
        self.enable_timing = enable_timing
        self.blocking = blocking
        self._time: float | None = None
        self._index = 0

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self._index)

    @property
    def cuda_event(self) -> int:
        return 0 if self._time is None else id(self)

    @property
    def event_id(self) -> int:
        return self.cuda_event

    def record(self, stream: Any = None) -> None:
        self._time = now()
        self._index = state.current().current_device if stream is None else stream.device_index

    def wait(self, stream: Any = None) -> None: ...

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        context.check(state.current())
        state.current().counter.wait("event.synchronize")

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds between two recorded events with timing."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return max(float(end_event._time - self._time), 0.0)

    def ipc_handle(self) -> bytes:
        raise RuntimeError("a simulated GPU has no handles for other processes")

    def __repr__(self) -> str:
        return (
            "<torch.cuda.Event>" if self._time is not None else "<torch.cuda.Event uninitialized>"
        )


class _AnyKind(type(Event)):  # type: ignore[misc]
    """`torch.cuda.Event` is a `torch.Event` too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(type(instance), type) and issubclass(type(instance), Event)


class AnyEvent(Event, metaclass=_AnyKind):
    """`torch.Event(device, ...)`: an event of any accelerator."""

    def __init__(self, device: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._home = None if device is None else number_of(state.current(), device)
        self._index = self._home or 0

    def record(self, stream: Any = None) -> None:
        super().record(stream)
        if stream is None and self._home is not None:
            self._index = self._home


_current: dict[int, Stream] = {}


_default: dict[int, Stream] = {}


def default_stream(device: Any = None) -> Stream:
    """Stream 0 of a GPU."""
    index = _index(device)
    stream = _default.get(index)
    if stream is None:
        stream = _default[index] = Stream(stream_id=0, device_index=index)
    return stream


def current_stream(device: Any = None) -> Stream:
    """The stream that is current on a GPU."""
    index = _index(device)
    return _current.get(index) or default_stream(index)


def set_stream(stream: Any) -> None:
    """Make `stream` current on its GPU."""
    if stream is not None:
        _current[stream.device_index] = stream


def _set_by_number(stream_id: int, device_index: int, device_type: int = 1) -> None:
    """`torch._C._cuda_setStream`: makes the GPU of the stream current too."""
    state.current().current_device = device_index
    set_stream(Stream(stream_id=stream_id, device_index=device_index))


def _numbers(stream: Stream) -> tuple[int, int, int]:
    """What `torch._C` knows a stream by."""
    return (stream.stream_id, stream.device_index, stream.device_type)


def _index(device: Any) -> int:
    session = state.current()
    if device is None:
        return session.current_device
    if isinstance(device, int):
        return device if device >= 0 else session.current_device
    return number_of(session, device)


class StreamContext:
    """`with torch.cuda.stream(s):`"""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = current_stream(self.stream.device_index)
            self._device = state.current().current_device
            state.current().current_device = self.stream.device_index
            set_stream(self.stream)

    def __exit__(self, *exc: Any) -> None:
        if self.stream is not None:
            set_stream(self._before)
            state.current().current_device = self._device


def install(patcher: Patcher) -> None:
    """Put the stand-ins into torch.cuda and torch."""
    cuda: Any = torch.cuda
    _current.clear()
    for name, value in (
        ("Stream", Stream),
        ("Event", Event),
        ("StreamContext", StreamContext),
        ("stream", StreamContext),
        ("current_stream", current_stream),
        ("default_stream", default_stream),
        ("set_stream", set_stream),
    ):
        patcher.set(cuda, name, value, copies=True)
    patcher.set(torch._C, "_cuda_setStream", _set_by_number)
    patcher.set(torch._C, "_cuda_getCurrentStream", lambda index: _numbers(current_stream(index)))
    patcher.set(torch._C, "_cuda_getDefaultStream", lambda index: _numbers(default_stream(index)))
    patcher.set(cuda.streams, "Stream", Stream)
    patcher.set(cuda.streams, "Event", Event)
    for name, generic in (("Stream", Stream), ("Event", AnyEvent)):
        if hasattr(torch, name):
            patcher.set(torch, name, generic, copies=True)
    patcher.set(torch.Tensor, "record_stream", lambda self, stream: None)
