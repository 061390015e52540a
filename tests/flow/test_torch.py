"""What torch does to devices, seen by the flow; same words as in test_semantics."""

from __future__ import annotations

import pytest

from .seen import flow, seen
from .test_semantics import check, each


@each("""
x = torch.zeros(3)
y = torch.zeros(3, device="cuda")
z = torch.zeros(3, device=gpu)
w = torch.zeros(3, device="cpu")
# x: cpu; y: gpu; z: gpu; w: cpu
---
x = torch.zeros_like(g)
y = torch.zeros_like(g, device="cpu")
z = g.new_zeros(3)
# x: gpu; y: cpu; z: gpu
---
x = torch.as_tensor(g)
y = torch.tensor([1.0])
# x: gpu; y: cpu
---
x = torch.from_numpy(np.ones(3))
y = torch.FloatTensor(3)
z = torch.cuda.FloatTensor(3)
# x: cpu; y: cpu; z: gpu
---
x = torch.zeros(3, device=g.device)
y = torch.zeros(3, device=thing)
# x: gpu; y: unsure
""")
def test_factories(program: str) -> None:
    check(program)


@each("""
x = c.to(gpu)
y = g.to("cpu")
z = c.to(g)
w = g.to(torch.float64)
# x: gpu; y: cpu; z: gpu; w: gpu
---
x = c.cuda()
y = g.cpu()
z = c.cuda(0)
# x: gpu; y: cpu; z: gpu
---
x = g.float().view(-1).detach().clone()
y = (g * 2 + 1).sum()
# x: gpu; y: gpu
---
x = g.type(torch.FloatTensor)
y = c.type(torch.cuda.FloatTensor)
z = g.type(torch.float64)
w = c.type_as(g)
# x: cpu; y: gpu; z: gpu; w: gpu
---
x = g.numpy
y = g.cpu().numpy()
z = g.item()
w = g.shape
# x: method; y: array; z: host value; w: host value
---
x = c.to(thing)
# x: unsure
---
x = g.to(g.device)
y = g.T.data
z = g[0]
# x: gpu; y: gpu; z: gpu
---
x = g + torch.tensor(1.0)
y = c.sum() * g
# x: gpu; y: gpu
---
x = torch.stack([g, g])
y = torch.cat((c, c))
# x: gpu; y: cpu
---
x, y = torch.max(g, 1)
# x: gpu; y: gpu
---
c.to(gpu)
x = c
# x: cpu
""")
def test_moves_and_operators(program: str) -> None:
    check(program)


@each("""
m = nn.Linear(3, 3)
n = nn.Linear(3, 3).to(gpu)
x = n(g)
# m: torch.nn.Linear cpu; n: torch.nn.Linear gpu; x: gpu
---
m = nn.Linear(3, 3)
m.to(gpu)
x = m.weight
y = next(m.parameters())
# m: torch.nn.Linear gpu; x: gpu; y: gpu
---
inner = nn.Linear(3, 3)
m = nn.Sequential(inner, nn.ReLU())
m.cuda()
# inner: torch.nn.Linear gpu
---
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("b", torch.ones(3))
        self.plain = torch.ones(3)
    def forward(self, x):
        return self.layer(x)
m = Net().to(gpu)
x = m(g)
b = m.b
p = m.plain
layer = m.layer
# m: Net gpu; x: gpu; b: gpu; p: cpu; layer: torch.nn.Linear gpu
---
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
        self.hidden = [nn.Linear(3, 3)]
m = Net().cuda()
x = m.layers[0]
y = m.hidden[0]
# x: torch.nn.Linear gpu; y: torch.nn.Linear cpu
---
m = nn.Linear(3, 3).cuda().cpu()
x = m.bias
# m: torch.nn.Linear cpu; x: cpu
---
w = nn.Parameter(g)
x = w * 2
# w: gpu; x: gpu
""")
def test_modules(program: str) -> None:
    check(program)


@each("""
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(c, c)
for x, y in DataLoader(data):
    pass
# x: cpu; y: cpu
---
from torch.utils.data import DataLoader, Dataset
class Pictures(Dataset):
    def __getitem__(self, i):
        return {"x": c, "name": "a"}
for batch in DataLoader(Pictures()):
    x = batch["x"]
# x: cpu
---
from torch.utils.data import DataLoader
def collate(items):
    return torch.stack(items).to(gpu)
for x in DataLoader([c], collate_fn=collate):
    pass
# x: gpu
---
from torch.autograd import Variable
x = Variable(c)
y = Variable(g, requires_grad=True)
# x: cpu; y: gpu
---
x = gpu
y = torch.device("cpu")
z = torch.cuda.is_available()
# x: device gpu; y: device cpu; z: guard True
---
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
parser.add_argument("--size", type=int)
args = parser.parse_args()
x = args.cuda
y = args.size
# x: guard True; y: host value
""")
def test_data_and_devices(program: str) -> None:
    check(program)


#: programs in which the marked lines, and no others, cannot run on a GPU machine
CLASHES = """
x = c + g  # clash
---
x = c + g.cpu()
y = c.to(gpu) + g
---
x = torch.tensor(2.0) * g
y = c.sum() * g
---
m = nn.Linear(3, 3)
m(c)
m(g)  # clash
---
m = nn.Linear(3, 3).cuda()
m(g)
m(c)  # clash
---
y = g.numpy()  # clash
z = np.sqrt(g)  # clash
w = g.tolist()
---
if thing:
    x = c
else:
    x = g
y = x + g
---
def f(a, b):
    return a + b  # clash
f(c, c)
f(c, g)
---
x = c[g.long()]  # clash
y = g[c.long()]
---
x = thing(c)
y = x + g
---
torch.cat([c, g])  # clash
---
x = c
for i in range(2):
    y = x + g  # clash
    x = c
---
x = c.clone()
x.copy_(g)
x[0] = g[0]
---
g += c  # clash
"""


@pytest.mark.parametrize("program", [p.strip("\n") for p in CLASHES.split("---\n")])
def test_clashes(program: str) -> None:
    from .seen import START

    first = START.count("\n") + 1 + 1
    ip = flow("from elsewhere import thing\n" + program)
    lines = program.splitlines()
    expected = {n for n, line in enumerate(lines) if line.endswith("# clash")}
    assert {c.node.lineno - first for c in ip.clashes} == expected


def test_a_clash_tells_both_tensors_and_the_calls() -> None:
    ip = flow("def f(a, b):\n    return a + b\nf(c, g)\n")
    (clash,) = ip.clashes
    tensors, _ = clash.parties
    assert [(t.dev, t.why.node.lineno) for t, _ in tensors] == [(1, 5), (2, 6)]
    assert [node.lineno for node, _, _ in clash.stack] == [9]


def test_views_share_their_storage() -> None:
    """What is written in place must be where its base is."""
    ip = flow("def f(a):\n    a.add_(1)\nx = torch.ones(3)\nf(x)\n", migrating=True)
    births = [var for var, born in ip.graph.births.items() if born.how == "factory"]
    arguments = [var for var, kind in ip.graph.kinds.items() if kind == "arg"]
    assert {ip.graph.find(a) for a in arguments} <= {ip.graph.find(b) for b in births}


def test_what_is_seen_is_what_the_source_says() -> None:
    assert seen("x = 3", "x") == ["3"]
