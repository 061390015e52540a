"""Public names of torch.cuda and torch.accelerator that a simulated GPU refuses, and why.

Keys: full names. The error is `<name>: <reason>`.
"""

_GRAPHS = (
    "a simulated GPU launches no kernels, so graphs cannot be captured. Run this part without "
    "graphs."
)
_ALLOCATOR = (
    "a simulated GPU counts its memory but has no allocator of its own, so pools, raw blocks and "
    "other allocators do not exist. Use ordinary tensors."
)
_STREAMS = "a simulated GPU has no streams of other libraries. Use torch.cuda.Stream()."
_NVML = "a simulated GPU has no driver that measures it (NVML)."
#: Of torch.cuda.jiterator, whose functions may be made (libraries do while they load) but not run.
KERNELS = "a simulated GPU compiles and launches no kernels. Use PyTorch operators."
_STORAGE = "a simulated GPU reads no files into its memory. Use torch.load."

REFUSED: dict[str, str] = {
    "torch.cuda.CUDAGraph": _GRAPHS,
    "torch.cuda.graph": _GRAPHS,
    "torch.cuda.graph_pool_handle": _GRAPHS,
    "torch.cuda.export_dot": _GRAPHS,
    "torch.cuda.export_graph_data": _GRAPHS,
    "torch.cuda.make_graphed_callables": _GRAPHS,
    "torch.accelerator.Graph": _GRAPHS,
    "torch.cuda.CUDAPluggableAllocator": _ALLOCATOR,
    "torch.cuda.MemPool": _ALLOCATOR,
    "torch.cuda.MemPoolContext": _ALLOCATOR,  # torch 2.6
    "torch.cuda.caching_allocator_alloc": _ALLOCATOR,
    "torch.cuda.caching_allocator_delete": _ALLOCATOR,
    "torch.cuda.change_current_allocator": _ALLOCATOR,
    "torch.cuda.use_mem_pool": _ALLOCATOR,
    "torch.cuda.ExternalStream": _STREAMS,
    "torch.cuda.GreenContext": _STREAMS,
    "torch.cuda.get_stream_from_external": _STREAMS,
    "torch.cuda.clock_rate": _NVML,
    "torch.cuda.device_memory_used": _NVML,
    "torch.cuda.list_gpu_processes": _NVML,
    "torch.cuda.memory_usage": _NVML,
    "torch.cuda.power_draw": _NVML,
    "torch.cuda.temperature": _NVML,
    "torch.cuda.utilization": _NVML,
    "torch.cuda.gds.GdsFile": _STORAGE,
    "torch.cuda.gds.gds_register_buffer": _STORAGE,
    "torch.cuda.gds.gds_deregister_buffer": _STORAGE,
}
