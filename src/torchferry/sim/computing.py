"""The hot path: operators that compute. Checks devices, runs the CPU kernel, tags and counts.

Written out in one function on purpose: it runs for nearly every operator of a program, and each
call or attribute that it does without is time that the program does not lose.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from torchferry.sim import checks, failures
from torchferry.sim.befores import lookup, random_call
from torchferry.sim.memory import OutOfMemory
from torchferry.sim.operators import Operator
from torchferry.sim.places import internal_files
from torchferry.sim.sites import FIRST, Site
from torchferry.sim.tables import families
from torchferry.sim.tables.bindings import METHODS
from torchferry.sim.tags import (
    CPU,
    FLOATING,
    NO_STORAGE,
    DeviceTag,
    set_tag,
    storage_of,
    tag_results,
)

if TYPE_CHECKING:
    from torchferry.sim.session import Session

Tensor = torch.Tensor
#: No tensor seen yet.
_NONE = -3


class _Mixed(Exception):
    """Tensors of an operator are on several devices, or not where the hot path looks."""


def runner(session: Session, operator: Operator) -> Callable[..., Any]:
    """Runner of an operator that computes."""
    call, name, waits = random_call(session, operator), operator.name, operator.waits
    if call is operator.func._op:
        call = method_of(operator) or call
    before, silent = lookup(operator), not operator.func._schema.returns
    on_host = families.HOST_RESULTS.get(operator.short)
    last, more = _where_tensors_are(operator.func._schema)
    counter, site_of = session.counter, session.counter.site
    sites: dict[tuple[int, int, int], Site] = {}
    tracing, getframe, internal = counter.tracing, sys._getframe, internal_files
    first = FIRST if tracing else 0

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        site: Site | None
        device = _NONE
        try:
            for arg in args[:last]:
                if isinstance(arg, Tensor):
                    tag = storage_of(arg)._ferry
                    here = CPU if tag is None else tag.device
                    if here != device:
                        if device != _NONE:
                            raise _Mixed
                        device = here
                elif arg.__class__ is list and arg:
                    if isinstance(arg[0], Tensor):
                        for item in arg:
                            tag = storage_of(item)._ferry
                            here = CPU if tag is None else tag.device
                            if here != device:
                                if device != _NONE:
                                    raise _Mixed
                                device = here
                    elif arg[0] is None:
                        raise _Mixed
            if more and kwargs:
                raise _Mixed
        except (_Mixed, *NO_STORAGE, TypeError):
            device = checks.settle(session, operator, args, kwargs)
        if before is not None:
            args, kwargs = before(session, operator, args, kwargs, device)
        try:
            out = call(*args, **kwargs) if kwargs else call(*args)
        except (RuntimeError, IndexError) as error:
            out = failures.recover(session, operator, device, args, kwargs, error)
        if device == _NONE:
            device = CPU
        if silent:
            out = None  # a binding returns its argument where the operator returns nothing
        elif on_host is not None:
            for position in on_host:
                set_tag(out[position], site_of(name, CPU, None, 0))
        if device < 0 and (counter.loading or session.lenient):
            site = counter.site_here(name, FLOATING if session.lenient else device, 1)
        elif tracing:
            try:
                start = frame = getframe(2)
            except ValueError:  # a thread of C++ has no frame of Python below
                start = frame = getframe(1)
            code = frame.f_code
            while internal[code.co_filename]:
                back = frame.f_back
                if back is None:
                    break
                frame = back
                code = frame.f_code
            lasti = frame.f_lasti
            site = sites.get((id(code), lasti, device))
            if site is None:
                site = site_of(name, device, code, lasti, start)
                if site.code is code:  # else it does not keep the code, whose id may come again
                    sites[id(code), lasti, device] = site
        else:
            site = sites.get((0, 0, device))
            if site is None:
                site = sites[0, 0, device] = site_of(name, device, None, 0)
        try:
            count = site.count
            if out.__class__ is Tensor:
                storage = storage_of(out)
                if storage._ferry is None:
                    nbytes = storage.nbytes()
                    card = site.card
                    if card is None:
                        storage._ferry = site
                    else:
                        size = (nbytes + 511) & -512
                        if card.allocated + size > card.threshold:
                            card.grow(card.allocated + size, nbytes)
                        card.allocated += size
                        tag = storage._ferry = DeviceTag()
                        tag.device = device
                        tag.nbytes = nbytes
                        tag.site = site
                    if count < first:
                        site.note(out, nbytes)
                else:
                    nbytes = out.nbytes
                    site.kept += 1
                    site.kept_bytes += nbytes
                site.nbytes += nbytes
            else:
                site.kept += 1
                if out is not None:
                    site.nbytes += tag_results(out, site)
            site.count = count + 1
        except OutOfMemory as full:
            site.kept += 1
            site.count += 1
            session.out_of_memory(full, name)
        except NO_STORAGE:
            site.kept += 1
            site.nbytes += tag_results(out, site)
            site.count += 1
        if waits and device >= 0:
            counter.wait(operator.short)
        return out

    return run


def method_of(operator: Operator) -> Callable[..., Any] | None:
    """The method of tensors that runs the same kernel as an operator, with cheaper arguments."""
    if operator.name not in METHODS or operator.func.namespace != "aten":
        return None
    return getattr(torch._C.TensorBase, operator.short, None)


def _where_tensors_are(schema: Any) -> tuple[int, bool]:
    """Number of positional arguments up to the last tensor; if there are tensors by keyword."""
    last, more = 0, False
    for index, argument in enumerate(schema.arguments):
        if "Tensor" in str(argument.type):
            if argument.kwarg_only:
                more = True
            else:
                last = index + 1
    return last, more
