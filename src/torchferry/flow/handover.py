"""What unknown code is given: it may move a module, and then nothing is certain about its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .join import Choice
from .values import CPU, UNSURE, Inst, Seq

if TYPE_CHECKING:
    from .interp import Interp


def hand_over(ip: Interp, given: Iterable[Any]) -> None:
    """Modules on the host that a call of unknown code gets are anywhere behind it.

    A module that the program has put on the device stays there: nobody is known to bring it back.
    """
    for value in given:
        options: Iterable[Any] = (value,)
        if type(value) is Choice:
            options = value.options
        elif type(value) is Seq:
            options = value.state["items"] or ()
        for inst in options:
            if type(inst) is Inst and inst.kind == "module" and inst.state.get("dev") == CPU:
                _let_go(ip, inst, set())


def _let_go(ip: Interp, inst: Inst, seen: set[int]) -> None:
    if id(inst) in seen:
        return
    seen.add(id(inst))
    ip.trail.set(inst.state, "dev", UNSURE)
    for value in list(inst.attrs.values()):
        for option in value.options if type(value) is Choice else (value,):
            if type(option) is Inst and option.kind == "module":
                _let_go(ip, option, seen)
