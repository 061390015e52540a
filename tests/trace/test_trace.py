"""Traces, accounts and error reports survive their JSON; torch is never imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from torchferry.trace import (
    Account,
    Birth,
    DeviceErrorReport,
    Event,
    Header,
    HostWait,
    MemoryPeak,
    MemorySample,
    Move,
    MoveRecord,
    OperatorCount,
    Place,
    TensorReport,
    TraceFormatError,
    read_jsonl,
    write_jsonl,
)

PLACE = Place("train.py", 17, "forward", "h0 = torch.zeros(1, 4)")
EVENTS: list[Event] = [
    Header(torch_version="2.13.0", device_name="Simulated GPU"),
    Birth("cpu", "zeros", 16, PLACE),
    Move("h2d", 16, PLACE, "cpu", "cuda:0", pinned=True, non_blocking=True, count=2),
    HostWait("item", None, 3),
    OperatorCount("addmm", "cuda:0", 4, 1024, PLACE),
    MemoryPeak("cuda:0", 1024, 2048),
    MemorySample("cuda:0", 1, 512),
]


def test_events_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    assert write_jsonl(path, EVENTS) == len(EVENTS)
    assert read_jsonl(path) == EVENTS


def test_a_header_is_added(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    assert write_jsonl(path, EVENTS[1:2]) == 2
    assert isinstance(read_jsonl(path)[0], Header)


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[1]",
        '{"no": "event"}',
        '{"event": "Unknown"}',
        json.dumps({"event": "Header", "version": 99}),
    ],
)
def test_damage_and_newer_formats_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(TraceFormatError, match=r"trace\.jsonl:1|trace format 99"):
        read_jsonl(path)


def test_fields_of_a_later_minor_version_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"event": "HostWait", "what": "item", "colour": "red"}\n')
    assert read_jsonl(path) == [HostWait("item")]


def test_account_round_trip_share_and_sum() -> None:
    account = Account(gpu_operators=3, gpu_bytes=300, host_bytes=100, peak_memory=7)
    data = json.loads(json.dumps(account.to_json()))
    assert data["gpu_share"] == 0.75
    assert Account.from_json(data) == account
    assert Account().gpu_share == 0.0
    total = account + Account(gpu_bytes=100, peak_memory=9)
    assert (total.gpu_bytes, total.peak_memory) == (400, 9)


def test_report_round_trip() -> None:
    tensor = TensorReport(
        "cpu", (1, 4), "torch.float32", "h0", "hx", PLACE, "zeros", (MoveRecord("cpu", PLACE),)
    )
    report = DeviceErrorReport(
        "mixed-devices", "message", "lstm", PLACE, (tensor,), "move it", (PLACE, PLACE)
    )
    assert DeviceErrorReport.from_json(json.loads(json.dumps(report.to_json()))) == report


def test_torch_is_not_imported() -> None:
    code = "import sys, torchferry.trace; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
