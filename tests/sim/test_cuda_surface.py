"""Every public name of torch.cuda, torch.accelerator, torch.amp and torch.cuda.amp: it works, or it
raises one clear error that names it. The lists are held against `dir()`: a new name fails here."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")


from torchferry.sim import simulate  # noqa: E402
from torchferry.sim.tables.refused_names import REFUSED  # noqa: E402

MODULES = ("torch.cuda", "torch.accelerator", "torch.amp", "torch.cuda.amp")
_TYPES = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()

#: name -> program that uses it on a machine with two GPUs; `c` is the module.
USES: dict[str, dict[str, str]] = {
    "torch.cuda": {
        **{f"{t}Tensor": f"assert c.{t}Tensor(3).is_cuda" for t in _TYPES},
        **{
            f"{t}Storage": f"s = c.{t}Storage(3); assert s.is_cuda and s.size() == 3"
            for t in (*_TYPES, "ComplexFloat", "ComplexDouble")
        },
        "AcceleratorError": "assert issubclass(c.AcceleratorError, RuntimeError)",
        "CudaError": "assert issubclass(c.CudaError, RuntimeError)",
        "DeferredCudaCallError": "assert issubclass(c.DeferredCudaCallError, Exception)",
        "OutOfMemoryError": "assert c.OutOfMemoryError is torch.OutOfMemoryError",
        "Event": "e = c.Event(enable_timing=True); e.record(); f = c.Event(enable_timing=True); "
        "f.record(); assert e.elapsed_time(f) >= 0 and e.query()",
        "Stream": "s = c.Stream(device=1); assert s.device.index == 1 and s.query()",
        "StreamContext": "s = c.Stream()\nwith c.StreamContext(s): assert c.current_stream() == s",
        "stream": "s = c.Stream(1)\nwith c.stream(s): assert c.current_device() == 1\n"
        "assert c.current_device() == 0",
        "set_stream": "s = c.Stream(); c.set_stream(s); assert c.current_stream() == s",
        "current_stream": "assert c.current_stream(1).device.index == 1",
        "default_stream": "assert c.default_stream() == c.current_stream()",
        "caching_allocator_disabled": "with c.caching_allocator_disabled(): torch.ones(1).cuda()",
        "caching_allocator_enable": "c.caching_allocator_enable(True)",
        "can_device_access_peer": "assert c.can_device_access_peer(0, 1)",
        "check_error": "c.check_error(0)",
        "cudaStatus": "assert c.cudaStatus.SUCCESS == 0",
        "cudart": "assert c.cudart().cudaMemGetInfo(0)[1] == 80 << 30",
        "current_blas_handle": "assert c.current_blas_handle()",
        "current_solver_handle": "assert c.current_solver_handle()",
        "current_device": "assert c.current_device() == 0",
        "default_generators": "assert len(c.default_generators) == 2",
        "device": "with c.device(1): assert c.current_device() == 1",
        "device_count": "assert c.device_count() == 2",
        "device_of": "with c.device_of(torch.ones(1, device='cuda:1')): "
        "assert c.current_device() == 1",
        "empty_cache": "x = torch.ones(9 << 20, device='cuda'); del x; c.empty_cache(); "
        "assert c.memory_reserved() == 0",
        "get_allocator_backend": "assert c.get_allocator_backend() == 'native'",
        "get_arch_list": "assert 'sm_90' in c.get_arch_list()",
        "get_device_capability": "assert c.get_device_capability(1) == (9, 0)",
        "get_device_name": "assert c.get_device_name(0) == 'Simulated GPU'",
        "get_device_properties": "assert c.get_device_properties(0).total_memory == 80 << 30",
        "get_gencode_flags": "assert 'sm_90' in c.get_gencode_flags()",
        "get_per_process_memory_fraction": "c.set_per_process_memory_fraction(0.5); "
        "assert c.get_per_process_memory_fraction() == 0.5",
        "set_per_process_memory_fraction": "c.set_per_process_memory_fraction(1e-6, 0)\n"
        "try: torch.ones(1 << 20, device='cuda')\nexcept torch.OutOfMemoryError: pass\n"
        "else: raise AssertionError",
        "get_rng_state": "s = c.get_rng_state(); a = torch.rand(2, device='cuda'); "
        "c.set_rng_state(s); assert torch.equal(a, torch.rand(2, device='cuda'))",
        "set_rng_state": "c.set_rng_state(c.get_rng_state(1), 1)",
        "get_rng_state_all": "assert len(c.get_rng_state_all()) == 2",
        "set_rng_state_all": "c.set_rng_state_all(c.get_rng_state_all())",
        "initial_seed": "c.manual_seed(7); assert c.initial_seed() == 7",
        "manual_seed": "c.manual_seed(7); a = torch.rand(2, device='cuda'); c.manual_seed(7); "
        "assert torch.equal(a, torch.rand(2, device='cuda'))",
        "manual_seed_all": "c.manual_seed_all(3); a = torch.rand(2, device='cuda:1'); "
        "c.manual_seed_all(3); assert torch.equal(a, torch.rand(2, device='cuda:1'))",
        "seed": "c.seed()",
        "seed_all": "c.seed_all()",
        "get_sync_debug_mode": "assert c.get_sync_debug_mode() == 0",
        "set_sync_debug_mode": "x = torch.ones(1, device='cuda'); c.set_sync_debug_mode('error')\n"
        "c.synchronize()\ntry: x.item()\nexcept RuntimeError as e: assert 'synchronizing' in str(e)"
        "\nelse: raise AssertionError",
        "host_memory_stats": "c.host_memory_stats()",
        "host_memory_stats_as_nested_dict": "c.host_memory_stats_as_nested_dict()",
        "reset_accumulated_host_memory_stats": "c.reset_accumulated_host_memory_stats()",
        "reset_peak_host_memory_stats": "c.reset_peak_host_memory_stats()",
        "init": "c.init()",
        "ipc_collect": "c.ipc_collect()",
        "is_available": "assert c.is_available()",
        "is_bf16_supported": "assert c.is_bf16_supported()",
        "is_current_stream_capturing": "assert not c.is_current_stream_capturing()",
        "is_initialized": "assert not c.is_initialized(); torch.ones(1, device='cuda'); "
        "assert c.is_initialized()",
        "is_tf32_supported": "assert c.is_tf32_supported()",
        "max_memory_allocated": "x = torch.ones(1024, device='cuda'); del x; "
        "assert c.max_memory_allocated() == 4096",
        "max_memory_cached": "torch.ones(1024, device='cuda'); assert c.max_memory_cached() > 0",
        "max_memory_reserved": "torch.ones(1024, device='cuda'); "
        "assert c.max_memory_reserved() == 2 << 20",
        "mem_get_info": "assert c.mem_get_info(0) == (80 << 30, 80 << 30)",
        "memory_allocated": "x = torch.ones(1, device='cuda'); assert c.memory_allocated() == 512",
        "memory_cached": "x = torch.ones(1, device='cuda'); assert c.memory_cached() == 2 << 20",
        "memory_reserved": "x = torch.ones(1).cuda(); assert c.memory_reserved() == 2 << 20",
        "memory_snapshot": "assert c.memory_snapshot() == []",
        "memory_stats": "x = torch.ones(1, device='cuda'); "
        "assert c.memory_stats()['allocated_bytes.all.current'] == 512",
        "memory_stats_as_nested_dict": "c.init(); "
        "assert 'segment' in c.memory_stats_as_nested_dict()",
        "memory_summary": "assert 'Allocated memory' in c.memory_summary()",
        "reset_accumulated_memory_stats": "c.reset_accumulated_memory_stats()",
        **{
            f"reset_{name}": f"torch.ones(9, device='cuda'); c.reset_{name}(); "
            "assert c.max_memory_allocated() == 0"
            for name in ("max_memory_allocated", "max_memory_cached", "peak_memory_stats")
        },
        "set_device": "c.set_device(1); assert torch.ones(1).cuda().get_device() == 1",
        "synchronize": "c.synchronize(1)",
    },
    "torch.accelerator": {
        "current_accelerator": "assert c.current_accelerator().type == 'cuda'",
        "current_device_idx": "assert c.current_device_idx() == 0",
        "current_device_index": "assert c.current_device_index() == 0",
        "current_stream": "assert c.current_stream().device.index == 0",
        "device_count": "assert c.device_count() == 2",
        "device_index": "with c.device_index(1): assert torch.cuda.current_device() == 1",
        "empty_cache": "c.empty_cache()",
        "empty_host_cache": "c.empty_host_cache()",
        "get_device_capability": "assert torch.float32 in c.get_device_capability()"
        "['supported_dtypes']",
        "get_memory_info": "assert c.get_memory_info() == (80 << 30, 80 << 30)",
        "is_available": "assert c.is_available()",
        "max_memory_allocated": "torch.ones(1, device='cuda'); assert c.max_memory_allocated()"
        " == 512",
        "max_memory_reserved": "torch.ones(1, device='cuda'); assert c.max_memory_reserved() > 0",
        "memory_allocated": "x = torch.ones(1, device='cuda'); assert c.memory_allocated() == 512",
        "memory_reserved": "x = torch.ones(1).cuda(); assert c.memory_reserved() == 2 << 20",
        "memory_stats": "assert 'allocated_bytes.all.current' in c.memory_stats()",
        "reset_accumulated_memory_stats": "c.reset_accumulated_memory_stats()",
        "reset_peak_memory_stats": "torch.ones(1, device='cuda'); c.reset_peak_memory_stats(); "
        "assert c.max_memory_allocated() == 0",
        "set_device_idx": "c.set_device_idx(1); assert torch.cuda.current_device() == 1",
        "set_device_index": "c.set_device_index(1); assert torch.cuda.current_device() == 1",
        "set_stream": "s = torch.cuda.Stream(); c.set_stream(s); assert c.current_stream() == s",
        "synchronize": "c.synchronize()",
    },
    "torch.amp": {
        "GradScaler": "s = c.GradScaler(); assert s.is_enabled() and "
        "s.scale(torch.ones(1, device='cuda')).item() == 65536.0",
        "autocast": "x = torch.ones(2, 2, device='cuda')\n"
        "with c.autocast('cuda'): assert (x @ x).dtype == torch.float16",
        "custom_fwd": "assert callable(c.custom_fwd(lambda ctx: 1, device_type='cuda'))",
        "custom_bwd": "assert callable(c.custom_bwd(lambda ctx: 1, device_type='cuda'))",
        "is_autocast_available": "assert c.is_autocast_available('cuda')",
    },
    "torch.cuda.amp": {
        "GradScaler": "assert c.GradScaler().is_enabled()",
        "amp_definitely_not_available": "assert not c.common.amp_definitely_not_available()",
        "autocast": "x = torch.ones(2, 2, device='cuda')\n"
        "with c.autocast(): assert (x @ x).dtype == torch.float16",
        "custom_fwd": "assert callable(c.custom_fwd(lambda ctx: 1))",
        "custom_bwd": "assert callable(c.custom_bwd(lambda ctx: 1))",
    },
}  # fmt: skip

#: Uses of the public submodules of torch.cuda.
SUBMODULE_USES = {
    "nvtx": "n = torch.cuda.nvtx\nassert n.range_push('a') == 0 and n.range_push('b') == 1\n"
    "n.range_pop(); n.range_pop(); n.mark('m'); n.range_end(n.range_start('c'))\n"
    "with n.range('d'): pass",
    "profiler": "with torch.cuda.profiler.profile(): torch.ones(1, device='cuda')",
    "tunable": "assert not torch.cuda.tunable.is_enabled()",
    "nccl": "assert torch.cuda.nccl.is_available([torch.ones(1, device='cuda')]) in (True, False)",
}


def public_names(module: str) -> list[str]:
    """Names of `module` that are its own: not modules, typing helpers and plain constants."""
    owner = _module(module)
    found = []
    for name in dir(owner):
        value = getattr(owner, name)
        home = getattr(value, "__module__", "") or ""
        foreign = home.partition(".")[0] in ("typing", "typing_extensions", "functools", "types")
        foreign = foreign or home in ("collections.abc", "torch._utils")
        if name.startswith("_") or isinstance(value, ModuleType) or foreign:
            continue
        if name in ("classproperty", "deprecated") or not (
            callable(value) or name == "default_generators"
        ):
            continue
        found.append(name)
    return found


def _module(name: str) -> Any:
    owner: Any = torch
    for part in name.split(".")[1:]:
        owner = getattr(owner, part)
    return owner


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_accounted_for(module: str) -> None:
    unknown = [
        name
        for name in public_names(module)
        if name not in USES[module] and f"{module}.{name}" not in REFUSED
    ]
    assert unknown == [], "neither used nor refused"
    both = [name for name in USES[module] if f"{module}.{name}" in REFUSED]
    assert both == []


CASES = [(module, name, code) for module in MODULES for name, code in USES[module].items()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("module", "name", "code"), CASES, ids=[f"{m}.{n}" for m, n, _ in CASES])
def test_use(module: str, name: str, code: str) -> None:
    owner = _module(module)
    if not hasattr(owner, name):
        pytest.skip(f"this torch has no {module}.{name}")
    with simulate(gpus=2, rng="device"):
        exec(code, {"torch": torch, "c": owner})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(SUBMODULE_USES))
def test_submodule(name: str) -> None:
    with simulate():
        exec(SUBMODULE_USES[name], {"torch": torch})


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refusal_names_what_it_refuses(name: str) -> None:
    owner, _, short = name.rpartition(".")
    original = getattr(_module(owner), short, None)
    if original is None:
        pytest.skip(f"this torch has no {name}")
    with simulate():
        refused = getattr(_module(owner), short)
        assert inspect.isclass(refused) == inspect.isclass(original)
        with pytest.raises(RuntimeError, match=f"^{name}: a simulated GPU"):
            refused()
    assert getattr(_module(owner), short) is original


def test_jiterator_is_refused_when_it_launches() -> None:
    with simulate():
        double = torch.cuda.jiterator._create_jit_fn(
            "template <typename T> T double_it(T x) { return x + x; }"
        )
        with pytest.raises(RuntimeError, match=r"torch\.cuda\.jiterator: a simulated GPU"):
            double(torch.ones(1, device="cuda"))


def test_sync_debug_mode_warns() -> None:
    with simulate():
        x = torch.ones(1, device="cuda")
        torch.cuda.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match="synchronizing CUDA operation"):
            x.item()
    with simulate():
        assert torch.cuda.get_sync_debug_mode() == 0


def test_typed_storage_of_elements() -> None:
    with simulate() as gpu:
        storage = torch.cuda.FloatStorage([1.0, 2.0])
        assert storage.tolist() == [1.0, 2.0]
        assert gpu.memory.cards[0].allocated == 512
    # as on a machine without a card: a CPU build says the first, a CUDA build the second
    words = r"not compiled with CUDA|NVIDIA driver"
    with pytest.raises((AssertionError, RuntimeError), match=words):
        torch.cuda.FloatStorage(3)
