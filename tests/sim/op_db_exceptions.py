"""Samples of PyTorch's operator database that the simulated GPU does not get right, with reasons.

Keys: (operator, pass). benchmarks/sim_op_db.py finds them; test_op_db.py checks a part each day.
"""

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("linalg.matrix_rank", "forward"): (
        "Of an empty matrix only: the C++ code makes the result without looking at the matrix. The "
        "database holds the C function itself; through `torch.linalg.matrix_rank` it is right."
    ),
    ("linalg.matrix_rank.hermitian", "forward"): "As linalg.matrix_rank.",
}
