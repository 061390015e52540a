"""torch.compile on a simulated GPU: the code runs as it is, in the wrapper that programs know."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchferry.sim import simulate  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:torch.compile does nothing")


class Model(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        return self.layer(x)

    def width(self) -> int:
        return 3


def test_a_module_is_wrapped_as_torch_wraps_it() -> None:
    with simulate():
        model = Model().cuda()
        compiled = torch.compile(model, mode="reduce-overhead")
        assert compiled._orig_mod is model
        assert list(compiled.state_dict()) == ["_orig_mod.layer.weight", "_orig_mod.layer.bias"]
        assert compiled.width() == 3
        x = torch.randn(4, 3, device="cuda")
        assert torch.equal(compiled(x), model(x))
        compiled.eval()
        assert not model.training
        compiled(x).sum().backward()
        assert model.layer.weight.grad.is_cuda
        with pytest.raises(RuntimeError, match="same device"):
            compiled(torch.randn(4, 3))


def test_functions_and_decorators_run_as_they_are() -> None:
    with simulate():

        @torch.compile(fullgraph=True)  # type: ignore[untyped-decorator]
        def plus_one(x: Any) -> Any:
            return x + 1

        doubled = torch.compile(lambda x: x * 2)
        assert plus_one(torch.ones(2, device="cuda")).is_cuda
        assert doubled(torch.ones(2, device="cuda")).tolist() == [2.0, 2.0]


def test_it_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from torchferry.sim import compiling

    monkeypatch.setattr(compiling, "_told", set())
    with simulate(), pytest.warns(UserWarning, match="runs uncompiled") as said:
        [torch.compile(function) for function in (abs, min)]
    assert len(said) == 1


def test_exports_of_the_gpu_are_refused_by_name() -> None:
    import torch.export

    with simulate():
        model = Model()
        with pytest.raises(RuntimeError, match=r"torch\.export\.export: a simulated GPU"):
            torch.export.export(model.cuda(), (torch.ones(1, 3, device="cuda"),))
