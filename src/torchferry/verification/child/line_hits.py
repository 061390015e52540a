"""Which of a few lines of the program run. Costs next to nothing once all of them have.

The marks are kept in shared memory: what a forked worker runs counts too.
"""

from __future__ import annotations

import ast
import mmap
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

_COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.If,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.Match,
)


def witnesses(source: str | bytes, filename: str, lines: Sequence[int]) -> dict[int, list[int]]:
    """For each line that holds code: the lines whose running shows that it ran.

    That is the line itself, or, within a statement of several lines, any of the statement's lines
    that the interpreter knows. Raises SyntaxError.
    """
    tree = ast.parse(source, filename)
    runnable = set(_runnable(compile(source, filename, "exec", dont_inherit=True)))
    ranges = [_range(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    known: dict[int, list[int]] = {}
    for line in lines:
        if line in runnable:
            known[line] = [line]
            continue
        around = [(start, end) for start, end in ranges if start <= line <= end]
        if around:
            start, end = max(around)
            inside = [number for number in range(start, end + 1) if number in runnable]
            if inside:
                known[line] = inside
    return known


def _runnable(code: CodeType) -> Iterator[int]:
    for _, _, line in code.co_lines():
        if line:
            yield line
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _runnable(constant)


def _range(node: ast.stmt) -> tuple[int, int]:
    """First and last line of a simple statement, or of the header of a compound one."""
    start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    if isinstance(node, _COMPOUND):
        body = node.cases[0].pattern if isinstance(node, ast.Match) else node.body[0]
        return start, max(start, body.lineno - 1)
    return start, node.end_lineno or node.lineno


class LineHits:
    """Watches lines of files; `start` before the program runs, `result` at its end."""

    def __init__(self, files: Mapping[str, Sequence[int]]) -> None:
        self._files: dict[str, dict[int, list[int]]] = {}
        for file, lines in files.items():
            with open(file, "rb") as source:
                self._files[file] = witnesses(source.read(), file, lines)
        watched = sorted(
            {(file, w) for file, known in self._files.items() for ws in known.values() for w in ws}
        )
        self._slots = {place: slot for slot, place in enumerate(watched)}
        self._marks = mmap.mmap(-1, max(1, len(watched)))
        self._left = len(watched)
        # by id, with the code to keep the id taken: a hash of code is computed anew each time
        self._open_lines: dict[int, tuple[CodeType, set[int]]] = {}

    def start(self) -> None:
        """Begin to watch."""
        if self._left == 0:
            return
        if _start_monitoring(self):
            return
        sys.settrace(self._on_call)
        threading.settrace(self._on_call)

    def code_lines(self) -> dict[str, tuple[int, ...]]:
        """The lines asked for that hold code."""
        return {file: tuple(sorted(known)) for file, known in self._files.items()}

    def result(self) -> dict[str, tuple[int, ...]]:
        """The lines asked for that ran."""
        return {
            file: tuple(
                sorted(
                    line
                    for line, ws in known.items()
                    if any(self._marks[self._slots[file, w]] for w in ws)
                )
            )
            for file, known in self._files.items()
        }

    def mark(self, file: str, line: int) -> bool:
        """Note that a line ran; True if it was not one of those watched, or is known already."""
        slot = self._slots.get((file, line))
        if slot is None:
            return True
        if not self._marks[slot]:
            self._marks[slot] = 1
            self._left -= 1
            return False
        return True

    def watched_in(self, code: CodeType) -> set[int]:
        """The watched lines of one code object, its inner functions apart."""
        lines = {line for _, _, line in code.co_lines() if line}
        return {line for line in lines if (code.co_filename, line) in self._slots}

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        known = self._open_lines.get(id(code))
        if known is None:
            known = self._open_lines[id(code)] = (code, self.watched_in(code))
        return self._on_line if known[1] else None

    def _on_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event != "line":
            return self._on_line
        still = self._open_lines[id(frame.f_code)][1]
        if frame.f_lineno in still:
            still.discard(frame.f_lineno)
            self.mark(frame.f_code.co_filename, frame.f_lineno)
            if self._left == 0:
                sys.settrace(None)
                threading.settrace(None)
        if not still:
            frame.f_trace_lines = False
            return None
        return self._on_line


def _start_monitoring(hits: LineHits) -> bool:
    """Watch with `sys.monitoring`, which forgets a line once it has run; False if it is in use."""
    monitoring: Any = getattr(sys, "monitoring", None)  # Python 3.12 and newer
    if monitoring is None or monitoring.get_tool(monitoring.PROFILER_ID) is not None:
        return False
    tool = monitoring.PROFILER_ID
    monitoring.use_tool_id(tool, "torchferry")
    watched = hits._files

    def on_start(code: CodeType, offset: int) -> object:
        if code.co_filename in watched and hits.watched_in(code):
            monitoring.set_local_events(tool, code, monitoring.events.LINE)
        return monitoring.DISABLE

    def on_line(code: CodeType, line: int) -> object:
        hits.mark(code.co_filename, line)
        return monitoring.DISABLE

    monitoring.register_callback(tool, monitoring.events.PY_START, on_start)
    monitoring.register_callback(tool, monitoring.events.LINE, on_line)
    monitoring.set_events(tool, monitoring.events.PY_START)
    return True
