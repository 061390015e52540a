"""Samples of PyTorch's operator database that the simulated GPU does not get right, with reasons.

benchmarks/sim_op_db.py and sim_refusals.py find them; test_op_db.py checks a part each day, and
that each of these is still needed.
"""

#: (operator, step) -> reason; the steps are those of op_db_samples.py.
EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "lu",
        "refused",
    ): "Python code copies into `out` on any device: CUDA takes it too",
}

#: Operators that only CUDA has, which are not computed.
NOT_COMPUTED: dict[str, str] = {
    "torch.ops.aten._flash_attention_forward": "private kernel of scaled_dot_product_attention, "
    "which is computed; its results include the state of the GPU's random generator",
    "torch.ops.aten._efficient_attention_forward": "private kernel of "
    "scaled_dot_product_attention, which is computed; its layout is CUTLASS's own",
}
