"""What `torchferry run` says after the program: a device error explained, and the account.

Colours are written as terminal codes; `click.echo` takes them out where they do not belong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import click

from torchferry.trace import Account, DeviceErrorReport, Place, TensorReport

_BEFORE, _AFTER = 2, 1  # lines of context in a code frame

_HEADLINES = {
    "mixed-devices": "{operator} got tensors on different devices",
    "index-device": "{operator} got an index on another device than the tensor",
    "numpy-of-device-tensor": "numpy cannot read a tensor on the GPU",
    "generator": "{operator} got a random generator of another device",
    "packed-lengths": "the lengths of packed sequences must be on the CPU",
    "out-of-memory": "the GPU's memory is full",
    "out-of-range-device": "the program asks for a GPU that is not there",
    "pin": "only tensors on the CPU can be pinned",
}


def explain(error: DeviceErrorReport, texts: Mapping[str, str] | None = None) -> str:
    """The explanation of a device error, of several lines.

    texts: of the files that ran with other contents than they have, by path.
    """
    headline = _HEADLINES.get(error.kind, "{operator} failed on the GPU")
    what = headline.format(operator=error.operator or "an operator")
    parts = [click.style(f"torchferry: {what}", bold=True)]
    if error.place is not None:
        names = [tensor.name for tensor in error.tensors if tensor.name]
        parts.append(code_frame(error.place, names, (texts or {}).get(error.place.file)))
    file = error.place.file if error.place is not None else ""
    parts += [_history(tensor, file) for tensor in _by_name(error.tensors)]
    if error.suggestion:
        fix = error.suggestion[0].upper() + error.suggestion[1:]
        parts.append(click.style("Fix: ", fg="green", bold=True) + fix)
    return "\n".join(parts)


def code_frame(place: Place, names: list[str], text: str | None = None) -> str:
    """The line of an error between its neighbours, the names that matter marked below.

    text: of the file, read from it if None.
    """
    where = f"{shown_path(place.file)}:{place.line}"
    if place.function and not place.function.startswith("<"):
        where += f", in {place.function}"
    lines = _source_lines(place, text)
    width = len(str(max(lines, default=place.line)))
    gutter = " " * width + " |"
    frame = [f"{' ' * width}--> {where}", gutter]
    for number, line in lines.items():
        frame.append(f"{number:>{width}} | {line}".rstrip())
        if number == place.line:
            marks = _marks(line, names)
            if marks:
                frame.append(f"{gutter} {click.style(marks, fg='red', bold=True)}")
    return "\n".join([*frame, gutter])


def shown_path(file: str) -> str:
    """A path relative to the current folder where it lies in it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def account_text(account: Account) -> str:
    """The account of a run, a line for each of its rows."""
    return "\n".join(f"  {name:<12} {text}" for name, text in account_rows(account))


def account_rows(account: Account) -> list[tuple[str, str]]:
    """The account of a run, as names and texts."""
    on_host = f"{account.host_operators:,} on the host ({size(account.host_bytes)})"
    if not account.gpu_operators:
        return [("operators", f"none on the GPU, {on_host}")]
    share = f"{100 * account.gpu_share:.0f}% of the bytes computed"
    on_gpu = f"{account.gpu_operators:,} on the GPU ({size(account.gpu_bytes)}, {share})"
    between = f", {account.d2d_copies:,} between GPUs" if account.d2d_copies else ""
    return [
        ("operators", f"{on_gpu}, {on_host}"),
        (
            "copies",
            f"{account.h2d_copies:,} to the GPU ({size(account.h2d_bytes)}), "
            f"{account.d2h_copies:,} to the host ({size(account.d2h_bytes)}){between}",
        ),
        ("host waits", f"{account.host_waits:,}"),
        ("peak memory", size(account.peak_memory)),
    ]


def size(nbytes: int) -> str:
    """Bytes for people: "5.0 KiB"."""
    amount = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def _source_lines(place: Place, text: str | None) -> dict[int, str]:
    """The line and its neighbours; only the line itself where the file cannot be read."""
    if text is None:
        try:
            text = Path(place.file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return {place.line: place.source}
    lines = text.splitlines()
    if not 1 <= place.line <= len(lines):
        return {place.line: place.source}
    first, last = max(1, place.line - _BEFORE), min(len(lines), place.line + _AFTER)
    return {number: lines[number - 1].expandtabs(4) for number in range(first, last + 1)}


def _marks(text: str, names: list[str]) -> str:
    marks = [" "] * len(text)
    for name in names:
        if not re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text):
            name = name.partition(".")[0]  # the line says only what holds it: `model(x)`
        for match in re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", text):
            marks[match.start() : match.end()] = "^" * (match.end() - match.start())
    return "".join(marks).rstrip()


def _by_name(tensors: tuple[TensorReport, ...]) -> list[TensorReport]:
    """Each tensor once: an operator may take one in two arguments."""
    seen: set[tuple[object, ...]] = set()
    found = []
    for tensor in tensors:
        key = (tensor.name or tensor.argument, tensor.device, tensor.born, tensor.moves)
        if key not in seen:
            seen.add(key)
            found.append(tensor)
    return found


def _history(tensor: TensorReport, file: str) -> str:
    """A tensor's name, device, birth and moves; places in `file` need no file name."""
    device = click.style(device_name(tensor.device), bold=True)
    dtype = tensor.dtype.replace("torch.", "")
    name = tensor.name or f"(no name, argument `{tensor.argument}`)"
    argument = f", argument `{tensor.argument}`" if tensor.name and tensor.argument else ""
    lines = [f"  {name}: {dtype} {list(tensor.shape)} on {device}{argument}"]
    if tensor.born is not None:
        # a tensor that moved was born where the first move took it from: the host
        there = "cpu" if tensor.moves else tensor.device
        lines.append(_event(f"made on {device_name(there)}", tensor.born, file))
    for move in tensor.moves:
        if move.place is not None:
            lines.append(_event(f"moved to {device_name(move.device)}", move.place, file))
    return "\n".join(lines)


def _event(what: str, place: Place, file: str) -> str:
    elsewhere = "" if place.file == file else f"   ({shown_path(place.file)})"
    return f"    {what:<19} line {place.line:<4}  {place.source}{elsewhere}"


def device_name(device: str) -> str:
    """A device for people: "the CPU" or "cuda:0"."""
    return "the CPU" if device == "cpu" else device
