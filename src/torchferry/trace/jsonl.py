"""Traces as JSON lines: one event a line, `{"event": "Move", ...}`, the Header first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from torchferry.trace.device_error import place_from_json
from torchferry.trace.events import EVENT_TYPES, TRACE_VERSION, Event, FirstBirth, Header


class TraceFormatError(ValueError):
    """A trace file is damaged, or newer than this version of torchferry."""


def write_jsonl(path: str | os.PathLike[str], events: Iterable[Event]) -> int:
    """Write `events` to `path`, a Header first if there is none. Returns the number of lines."""
    count = 0
    with open(path, "w", encoding="utf-8") as file:
        for event in _with_header(events):
            file.write(json.dumps({"event": type(event).__name__, **asdict(event)}) + "\n")
            count += 1
    return count


def read_jsonl(path: str | os.PathLike[str]) -> list[Event]:
    """Read a trace. Raises TraceFormatError for damage or a newer format."""
    events: list[Event] = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                events.append(_event(line, f"{os.fspath(path)}:{number}"))
    return events


def _with_header(events: Iterable[Event]) -> Iterator[Event]:
    first = True
    for event in events:
        if first and not isinstance(event, Header):
            yield Header()
        first = False
        yield event
    if first:
        yield Header()


def _event(line: str, where: str) -> Event:
    try:
        data: dict[str, Any] = json.loads(line)
        cls = EVENT_TYPES.get(str(data.pop("event")))
        version = int(data.get("version", 0)) if cls is Header else 0
        if version > TRACE_VERSION:
            raise TraceFormatError(
                f"{where}: trace format {version}, this torchferry reads up to {TRACE_VERSION}"
            )
        if cls is None:
            raise TraceFormatError(f"{where}: unknown event")
        return _rebuilt(cls, data)
    except TraceFormatError:
        raise
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise TraceFormatError(f"{where}: not a line of a torchferry trace") from error


def _rebuilt(cls: type, data: dict[str, Any]) -> Event:
    """An event from its fields; fields that this version does not know are left out."""
    values = {k: v for k, v in data.items() if k in cls.__dataclass_fields__}  # type: ignore[attr-defined]
    for name in ("place", "born"):
        if name in values:
            values[name] = place_from_json(values[name])
    if "first" in values:
        values["first"] = tuple(
            FirstBirth(tuple(one["shape"]), one["dtype"], one["nbytes"]) for one in values["first"]
        )
    event: Event = cls(**values)
    return event
