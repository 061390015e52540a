"""Qualified names: one spelling for each thing of torch, whatever way it was imported."""

from __future__ import annotations

from torchferry.torchapi.torch_functions import LEGACY_TYPES

from .values import Ext, TypeName, Value

_ALIASES = {
    "torch.autograd.variable.Variable": "torch.autograd.Variable",
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.utils.data.dataset.Dataset": "torch.utils.data.Dataset",
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.utils.data.sampler": "torch.utils.data",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
}
_STAR = {
    "torch": "nn tensor zeros ones randn rand Tensor FloatTensor LongTensor device cuda no_grad",
    "torch.nn": "Module Linear Sequential ReLU Parameter ModuleList Conv2d MSELoss Embedding LSTM "
    "CrossEntropyLoss functional init Dropout BatchNorm1d BatchNorm2d MaxPool2d GRU RNN",
    "torch.autograd": "Variable Function grad",
    "torch.utils.data": "DataLoader Dataset TensorDataset random_split Subset",
    "torch.distributions": "Normal Categorical Bernoulli Beta Uniform MultivariateNormal Gamma "
    "Independent Poisson Exponential Laplace Dirichlet OneHotCategorical kl_divergence",
    "numpy": "array zeros ones arange linspace random exp sqrt log mean",
}


def star_names(module: str) -> list[str]:
    """The names that matter of `from module import *`."""
    return _STAR.get(module, "").split()


def canonical(name: str) -> Value:
    """The value of a qualified name of another package."""
    if name.startswith("torch"):
        name = _ALIASES.get(name, name)
        head, _, last = name.rpartition(".")
        if last in LEGACY_TYPES and head in ("torch", "torch.cuda", "torch.sparse"):
            if name != "torch.Tensor":
                return TypeName(name, head == "torch.cuda")
            return Ext(name)
        if head.startswith("torch.nn.modules."):
            return Ext("torch.nn." + last)
    return Ext(name)
