"""Tensors and Variables, the way PyTorch was written in 2017."""

from __future__ import print_function

import torch
from torch.autograd import Variable

torch.manual_seed(0)

print("GPU available:", torch.cuda.is_available())
print("GPUs:", torch.cuda.device_count())

# A tensor there and back
t = torch.FloatTensor(2)
t.fill_(1.5)
print("before:", t.type())
if torch.cuda.is_available():
    t = t.cuda()
    print("on the GPU:", t.type())
    t = t.cpu()
print("after:", t.type())

# A Variable around a moved tensor, and a moved Variable
t = torch.FloatTensor([1, 2, 3])
if torch.cuda.is_available():
    inside = Variable(t.cuda())
    outside = Variable(t).cuda()
else:
    inside = Variable(t)
    outside = Variable(t)
print("equal values:", bool((inside.data == outside.data).all()))

# The values are equal, but only the first of these two is a leaf on a GPU: the second is the
# result of a copy, and the gradient goes to what was copied.
if torch.cuda.is_available():
    first = Variable(t.cuda(), requires_grad=True)
    second = Variable(t, requires_grad=True).cuda()
else:
    first = Variable(t, requires_grad=True)
    second = Variable(t, requires_grad=True)

for name, variable in (("first", first), ("second", second)):
    (variable * variable).sum().backward()
    print(name, "is a leaf:", variable.is_leaf)
    print(name, "gradient:", variable.grad if variable.is_leaf else None)
