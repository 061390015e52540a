"""Events and account of a run, read and written as JSON lines. Never imports torch."""

from torchferry.trace.account import Account
from torchferry.trace.device_error import DeviceErrorReport, MoveRecord, TensorReport
from torchferry.trace.events import (
    TRACE_VERSION,
    Birth,
    Event,
    FirstBirth,
    Header,
    HostWait,
    MemoryHolder,
    MemoryPeak,
    MemorySample,
    Move,
    OperatorCount,
    Place,
)
from torchferry.trace.jsonl import TraceFormatError, read_jsonl, write_jsonl
from torchferry.trace.places import PlaceTotals, by_place

__all__ = [
    "TRACE_VERSION",
    "Account",
    "Birth",
    "DeviceErrorReport",
    "Event",
    "FirstBirth",
    "Header",
    "HostWait",
    "MemoryHolder",
    "MemoryPeak",
    "MemorySample",
    "Move",
    "MoveRecord",
    "OperatorCount",
    "Place",
    "PlaceTotals",
    "TensorReport",
    "TraceFormatError",
    "by_place",
    "read_jsonl",
    "write_jsonl",
]
