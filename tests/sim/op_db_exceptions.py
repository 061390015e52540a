"""Samples of PyTorch's operator database that the simulated GPU does not get right, with reasons.

Keys: (operator, pass). benchmarks/sim_op_db.py finds them; test_op_db.py checks a part each day.
"""

EXCEPTIONS: dict[tuple[str, str], str] = {}
