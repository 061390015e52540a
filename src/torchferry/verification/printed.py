"""Printed text as lines of tokens, freed of what says nothing about the numbers.

Terminal colours, progress bars, memory addresses, clock times, durations and line numbers of
source files differ from run to run, or from one program text to the next, without meaning: colours
and bars are dropped, the others become tokens of a kind that always agrees with its like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """What a token is; the value is its sign in the shape of a line."""

    NUMBER = "#"
    WORD = ""
    ADDRESS = "<address>"
    CLOCK = "<clock>"
    DURATION = "<duration>"
    PLACE = "<line>"
    GRADIENT = "<grad_fn>"

    @property
    def meaningless(self) -> bool:
        """Whether two tokens of this kind always agree."""
        return self not in (Kind.NUMBER, Kind.WORD, Kind.GRADIENT)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a sign or a number of a line."""

    kind: Kind
    text: str

    @property
    def value(self) -> float:
        """The number; only of a NUMBER."""
        return float(self.text)

    @property
    def unit(self) -> float:
        """The value of the last printed digit: 0.01 of "3.14", 0 of an integer, "nan" or "inf"."""
        mantissa, _, exponent = self.text.lower().partition("e")
        _, dot, decimals = mantissa.partition(".")
        if not dot and not exponent:
            return 0.0
        return float(f"1e{int(exponent or 0) - len(decimals)}")


@dataclass(slots=True)
class Line:
    """A printed line: `text` as shown to people, `raw` before device names were made alike."""

    text: str
    raw: str
    tokens: tuple[Token, ...]
    shape: str = field(init=False)

    def __post_init__(self) -> None:
        self.shape = " ".join(token.kind.value or token.text for token in self.tokens)


_ANSI = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[@-Z\\-_]"
)
#: what tqdm draws: "40%|####  | 4/10 [00:01<00:02, 3.9it/s]", "12it [00:03, 3.9it/s]"
_BAR = re.compile(r"\d+%\|.*\|\s*\S+/\S+\s*\[|\d\S*it \[[\d:?]+[,<]|\?it/s\]")
#: of `warnings`: "train.py:3: UserWarning: ..." and the source line below it
_WARNING = re.compile(r"^\S.*?:\d+: \w*Warning: |^  \S.*$")

_TOKEN = re.compile(
    r"""
    (?P<gradient>grad_fn=<[^>]*>)
  | (?P<address>\b0x[0-9a-fA-F]+\b)
  | (?P<clock>\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?\b
      | \b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b)
  | (?P<place>(?<=\.py:)\d+ | (?<=\.py",[ ]line[ ])\d+)
  | (?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?
      | [-+]?\b(?:nan|inf)\b)
  | (?P<word>[^\W\d]\w*)
  | (?P<other>\S)
    """,
    re.VERBOSE,
)
_KINDS = {
    "gradient": Kind.GRADIENT,
    "address": Kind.ADDRESS,
    "clock": Kind.CLOCK,
    "place": Kind.PLACE,
    "number": Kind.NUMBER,
    "word": Kind.WORD,
    "other": Kind.WORD,
}
# fmt: off
_TIME_UNITS = frozenset((
    "ns", "us", "µs", "ms", "msec", "s", "sec", "secs", "second", "seconds",
    "min", "mins", "minute", "minutes", "h", "hour", "hours",
))
# fmt: on
_TIME_WORDS = frozenset(("time", "elapsed", "took", "duration", "runtime", "seconds", "secs"))


def lines_of(text: str, *, same_device: bool = False, warnings: bool = True) -> list[Line]:
    """The lines of a captured stream.

    same_device: make the names of devices alike ("cuda:0" and "cpu"), for a comparison between
        two devices. warnings: keep the lines that Python's `warnings` writes.
    """
    lines = []
    for raw in _segments(text):
        if not raw or _BAR.search(raw) or (not warnings and _WARNING.match(raw)):
            continue
        shown = alike_devices(raw) if same_device else raw
        lines.append(Line(shown, raw, tuple(_tokens(shown))))
    return lines


def _segments(text: str) -> Iterator[str]:
    """What stood on a line of the terminal at one time: cut at newlines, returns, backspaces."""
    plain = _TENSOR_DEVICE_BREAK.sub(r", \1", _ANSI.sub("", text))
    for segment in re.split(r"[\n\r\b]+", plain):
        yield segment.rstrip()


def _tokens(text: str) -> Iterator[Token]:
    found = [
        Token(_KINDS[match.lastgroup or "other"], match.group()) for match in _TOKEN.finditer(text)
    ]
    for at, token in enumerate(found):
        if token.kind is Kind.NUMBER and _is_duration(found, at):
            yield Token(Kind.DURATION, token.text)
        else:
            yield token


def _is_duration(tokens: list[Token], at: int) -> bool:
    """ "0.31 s", "12ms", "time: 0.31", "took 0.31"."""
    if at + 1 < len(tokens) and tokens[at + 1].text.lower() in _TIME_UNITS:
        return True
    if "." not in tokens[at].text:
        return False
    before = at - 1
    while before >= 0 and tokens[before].text in (":", "=", "(", "is", "taken", "was"):
        before -= 1
    return before >= 0 and tokens[before].text.lower() in _TIME_WORDS


_TENSOR_DEVICE = r"device='(?:cpu|cuda|mps|xpu|hpu|npu)(?::\d+)?'"
_TENSOR_DEVICE_BREAK = re.compile(r",\s*\n\s*(" + _TENSOR_DEVICE + ")")
_ALIKE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r",\s*" + _TENSOR_DEVICE), ""),
    (re.compile(r"device\(type='\w+'(?:, index=\d+)?\)"), "device(type='cpu')"),
    (re.compile(r"\btorch\.(?:cuda|mps|xpu)\.(?=[A-Za-z]*(?:Tensor|Storage)\b)"), "torch."),
    (re.compile(r"\b(?:cuda|mps|xpu|gpu|cpu)(?::\d+)?\b", re.IGNORECASE), "cpu"),
)


def alike_devices(text: str) -> str:
    """`text` with every name of a device replaced by the CPU's."""
    for pattern, replacement in _ALIKE:
        text = pattern.sub(replacement, text)
    return text


def device_names(text: str) -> list[str]:
    """The names of devices in `text`, as written."""
    return [match.group() for pattern, _ in _ALIKE for match in pattern.finditer(text)]
