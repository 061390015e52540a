"""Python's own rules, seen by the device flow: where the names of a program are at its end.

Each program ends with names whose place is asked for, one or more, as the comment says. `c` is
a tensor on the CPU, `g` one on the GPU, `gpu` a device, `maybe` a value that nobody knows.
"""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from .seen import flow, seen

UNKNOWN = "from elsewhere import maybe, thing\n"


def check(program: str) -> None:
    """The last line of a program is `# name: word; name: word`."""
    text = dedent(program).strip("\n")
    body, _, expected = text.rpartition("\n# ")
    names = dict(part.split(": ", 1) for part in expected.split("; "))
    assert dict(zip(names, seen(UNKNOWN + body, *names), strict=True)) == names


def programs(text: str) -> list[str]:
    """Programs are set apart by lines of dashes."""
    return [part for part in dedent(text).split("\n---\n") if part.strip()]


def each(text: str) -> pytest.MarkDecorator:
    found = programs(text)
    return pytest.mark.parametrize("program", found, ids=[str(n) for n in range(len(found))])


@each("""
x = c
# x: cpu
---
x = y = g
# x: gpu; y: gpu
---
a, b = c, g
# a: cpu; b: gpu
---
a, (b, *d) = g, (c, g, c)
# a: gpu; b: cpu; d: list(gpu, cpu)
---
*a, b = [c, c, g]
# a: list(cpu, cpu); b: gpu
---
a, b = c, g
a, b = b, a
# a: gpu; b: cpu
---
x: object = g
# x: gpu
---
(x := g)
# x: gpu
---
x = c
x += 1
y = g
y *= c.sum()
# x: cpu; y: gpu
---
x = [c]
x += [g]
# x: list(cpu, gpu)
---
x = g
del x
# x: unknown
""")
def test_assignment(program: str) -> None:
    check(program)


@each("""
if maybe:
    x = c
else:
    x = g
# x: either
---
x = c
if maybe:
    x = g
# x: either
---
if torch.cuda.is_available():
    x = g
else:
    x = c
# x: gpu
---
if not torch.cuda.is_available():
    x = c
else:
    x = g
# x: gpu
---
if False:
    x = c
else:
    x = g
# x: gpu
---
x = None
if maybe:
    x = g
# x: gpu
---
x = 3
if maybe:
    x = g
# x: gpu?
---
x = thing
if maybe:
    x = g
# x: unknown
---
x = c if maybe else g
y = c if torch.cuda.is_available() else g
# x: either; y: cpu
---
x = None or g
y = g or c
# x: gpu
---
def f():
    if maybe:
        return c
    return g
x = f()
# x: either
---
x = c
if maybe:
    x = g
    raise ValueError
# x: cpu
---
try:
    x = g
except KeyError:
    x = c
# x: either
---
try:
    x = g
except KeyError:
    raise
# x: gpu
---
try:
    pass
finally:
    x = g
# x: gpu
---
with thing() as y:
    x = g
# x: gpu; y: unknown
---
match maybe:
    case 1:
        x = c
    case _:
        x = c
# x: cpu
---
assert maybe
x = g
# x: gpu
""")
def test_branches(program: str) -> None:
    check(program)


@each("""
x = c
for i in range(3):
    x = x.to(gpu)
# x: gpu
---
for i in maybe:
    x = g
else:
    y = c
# x: gpu; y: cpu
---
x = c
for i in range(3):
    if maybe:
        x = g
        break
# x: either
---
x = c
for i in range(3):
    if maybe:
        x = g
        continue
    y = c
# x: either
---
x = c
while True:
    x = g
    break
# x: gpu
---
x = c
y = c
for i in range(3):
    y = x
    x = g
# x: gpu; y: gpu
---
for i in range(2):
    for j in range(2):
        x = g
# x: gpu
---
x = c
for layer in [nn.ReLU(), nn.Linear(3, 3).to(gpu)]:
    if isinstance(layer, nn.ReLU):
        continue
    x = g
# x: either
---
total = 0
for i in range(3):
    total = total + g
# total: gpu
---
for x in [c, c]:
    pass
# x: cpu
---
for i, (a, b) in enumerate(zip([c], [g])):
    pass
# i: host value; a: cpu; b: gpu
---
for key, x in {"a": g}.items():
    pass
# key: host value; x: gpu
""")
def test_loops(program: str) -> None:
    check(program)


@each("""
def f(x):
    return x
a, b = f(c), f(g)
# a: cpu; b: gpu
---
def f(a, b=g, *rest, k, **more):
    return b, rest, k, more
x = f(c, k=g)
y = f(c, c, c, k=c, other=g)
# x: tuple(gpu, tuple(), gpu, {}); y: tuple(cpu, tuple(cpu), cpu, {other: gpu})
---
def f(a, /, b, *, k):
    return a, b, k
x = f(*(c, g), **{"k": c})
# x: tuple(cpu, gpu, cpu)
---
def f(a, b=c):
    return b
x = f(*thing)
# x: unknown
---
def f():
    pass
x = f()
# x: None
---
def f(n):
    return g if n == 0 else f(n - 1)
x = f(3)
# x: unknown
---
def outer():
    held = g
    def inner():
        return held
    return inner
x = outer()()
# x: gpu
---
def outer():
    held = c
    def change():
        nonlocal held
        held = g
    change()
    return held
x = outer()
# x: gpu
---
x = c
def change():
    global x
    x = g
change()
# x: gpu
---
f = lambda a, b=g: b
x = f(c)
y = f(c, c)
# x: gpu; y: cpu
---
def f():
    yield c
    yield c
for x in f():
    pass
y = list(f())
# x: cpu; y: list of cpu
---
def f():
    yield from [g]
x = next(f())
# x: gpu
---
async def f():
    return g
async def main():
    return await f()
x = main()
# x: gpu
---
from functools import partial
def f(a, b):
    return a, b
x = partial(f, c)(g)
y = partial(f, b=g)(c)
# x: tuple(cpu, gpu); y: tuple(cpu, gpu)
---
def f(x):
    x = g
f(c)
x = c
# x: cpu
---
def f(items):
    items.append(g)
x = []
f(x)
# x: list(gpu)
---
x = thing(c)
y = thing(c).attribute
# x: unknown; y: unknown
""")
def test_functions(program: str) -> None:
    check(program)


@each("""
class A:
    held = g
    def __init__(self, x):
        self.x = x
    def get(self):
        return self.x
a = A(c)
x = a.get()
y = a.held
# x: cpu; y: gpu
---
class A:
    def get(self):
        return c
class B(A):
    def get(self):
        return super().get(), g
x = B().get()
# x: tuple(cpu, gpu)
---
class A:
    @property
    def x(self):
        return g
    @staticmethod
    def s(x):
        return x
    @classmethod
    def make(cls):
        return cls()
x = A().x
y = A.s(c)
z = A.make().x
# x: gpu; y: cpu; z: gpu
---
class A:
    def __call__(self, x):
        return x
    def __getitem__(self, i):
        return g
    def __iter__(self):
        return iter([c])
x = A()(g)
y = A()[0]
for z in A():
    pass
# x: gpu; y: gpu; z: cpu
---
from dataclasses import dataclass
@dataclass
class A:
    x: object
    y: object = None
x = A(g).x
# x: gpu
---
class A:
    pass
a = A()
a.x = c
b = a
b.x = g
x = a.x
# x: gpu
---
class A:
    pass
a = A()
setattr(a, "x", g)
x = getattr(a, "x")
# x: gpu
---
class A:
    size = 3
    def f(self):
        return size
size = g
x = A().f()
# x: gpu
---
class A(thing):
    pass
x = A().anything
# x: unknown
---
class A:
    def __init__(self):
        self.x = c
a, b = A(), A()
a.x = g
x, y = a.x, b.x
# x: gpu; y: cpu
""")
def test_classes(program: str) -> None:
    check(program)


@each("""
x = [c for i in range(3)]
y = {i: g for i in range(3)}
z = {c for i in range(3)}
# x: list of cpu; y: {...: gpu}; z: set of cpu
---
x = [b for a in [[c], [c]] for b in a if maybe]
# x: list of cpu
---
i = g
x = [i for i in [c]]
# i: gpu; x: list of cpu
---
y = [(last := a) for a in [g]]
# last: gpu
---
x = next(a for a in [g])
# x: gpu
---
x = [c, g]
x[0] = g
y = x[-1]
# x: list(gpu, gpu); y: gpu
---
x = {"a": c}
x["b"] = g
y = x["b"]
z = x.get("a")
# y: gpu; z: cpu
---
x = []
for i in range(3):
    x.append(g)
# x: list of gpu
---
x = [c]
y = x
y.append(g)
# x: list(cpu, gpu)
---
x = [c, g]
y = x.pop()
# x: list(cpu); y: gpu
---
x = [c, g][1:]
y = (c, g) + (c,)
# x: list(gpu); y: tuple(cpu, gpu, cpu)
---
x = dict(a=c, b=g)["b"]
y = tuple([c])
# x: gpu; y: tuple(cpu)
---
x = list(map(lambda t: t.to(gpu), [c]))
y = sorted([c])
# x: list of gpu; y: list of cpu
---
x = max(c, c)
y = sum([g, g])
# x: cpu; y: gpu
---
from copy import deepcopy
x = deepcopy([g])
# x: list(gpu)
---
x = [c][maybe]
y = {"a": g}[maybe]
# x: cpu; y: gpu
---
x = (c, g)[0:maybe]
# x: tuple of either
---
x = f"{g} {c}"
y = "a" + "b"
# x: text; y: 'ab'
""")
def test_containers(program: str) -> None:
    check(program)


@pytest.mark.parametrize(
    "program",
    [
        "def f(x):\n    return f(x)\nx = f(c)",
        "x = [x for x in x]",
        "class A(A):\n    pass",
        "a = []\na.append(a)\nfor x in a:\n    for y in x:\n        pass",
        "a = {}\na['a'] = a\nx = a['a']['a']",
        "import a.b.c as d, e.f\nx = d.g(e.f.h)",
        "from . import *\nfrom .. import a",
        "x = yield_ = (lambda *a, **k: (a, k))(*c, **maybe)",
        "def f(*, a, b=1): ...\nf(**{'a': c}, **maybe)\nf()\nf(1, 2, 3)",
        "x = c[...]\nx[:, None] = g\nx[maybe][0] += 1\ndel x[0], maybe.a",
        "for (a, b), *d in maybe: pass\nelse: a, b, d",
        "try:\n    pass\nexcept* ValueError as e:\n    x = e",
        "while maybe: break\nelse: x = 1",
        "match c:\n    case [a, *b]: pass\n    case {'k': d, **e}: pass\n    case A(f=g): pass",
        "@maybe.a(1)\n@maybe\nclass A(maybe, k=c):\n    @maybe\n    def f(s): super().f()\nA().f()",
        "nn.Module.forward(c)\nnn.Linear\nnn.Module()()\nsuper()\nsuper().f()",
        "x = " + "(" * 80 + "c" + ")" * 80,
        "x = " + " + ".join(["c"] * 400),
        "x = " + "-" * 300 + "1",
        "x = c" + ".sum()" * 300,
        "def f():\n    return g()\ndef g():\n    return f()\nx = f()",
        "\n".join(f"def f{n}(): return f{n + 1}()" for n in range(60)) + "\nx = f0()",
        "global x\nx = c",
        "x = lambda: (yield)\nlist(x())",
        "async def f():\n    async for a in maybe:\n        async with maybe as b: yield b\n",
        "print(*[c], sep=maybe, **maybe)",
        "torch.zeros(*maybe, **maybe)\ntorch.load()\ntorch.device()\ntorch.tensor()\ntorch.cat()",
        "c.to()\nc.cuda(0)\nc.type()\nc.new()\nc.backward(*maybe)\nc.numpy(1, 2)",
        "m = nn.Linear()\nm.to()\nm.register_buffer()\nm.add_module()\nm(1)\nm()\nm.apply()",
        "torch.utils.data.DataLoader()\ntorch.utils.data.TensorDataset()\ntorch.optim.SGD()",
    ],
)
@pytest.mark.parametrize("migrating", [True, False])
def test_nothing_crashes_the_analysis(program: str, migrating: bool) -> None:
    try:
        ast.parse(program)
    except SyntaxError:  # newer than this Python
        pytest.skip("no program for this Python")
    flow(UNKNOWN + program, migrating=migrating)


def test_many_calls_end() -> None:
    """Each function calls the next one twice: a trillion calls if all were followed."""
    chain = "\n".join(f"def f{n}(x):\n    f{n + 1}(x)\n    return f{n + 1}(x)" for n in range(40))
    ip = flow(f"{chain}\ndef f40(x):\n    return x\ny = f0(g)\n")
    assert ip.refused
    assert ip.steps < 20_000
