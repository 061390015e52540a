"""Which edited lines ran, at next to no cost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from torchferry.verification.child.line_hits import LineHits, witnesses

PROGRAM = dedent(
    '''\
    """Doc."""
    import os
    # a comment

    def used(x):
        return call(
            x,
            device="cpu",
        )

    def unused(x):
        return x.to(
            "cuda",
        )

    def call(x, device):
        if device == "cuda":
            y = 1
        else:
            y = 2
        return y

    for _ in range(3):
        used(1)
    square = [lambda v: v * v
              for _ in range(2)]
    '''
)
LINES = range(1, PROGRAM.count("\n") + 1)


def run(tmp_path: Path, lines: list[int]) -> tuple[set[int], set[int]]:
    """Lines that hold code, and lines that ran, of PROGRAM run under a fresh interpreter."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    script = dedent(
        f"""
        from torchferry.verification.child.line_hits import LineHits
        file = {str(program)!r}
        hits = LineHits({{file: {lines!r}}})
        hits.start()
        exec(compile(open(file).read(), file, "exec"), {{"__name__": "__main__"}})
        print(hits.code_lines()[file], "|", hits.result()[file])
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    code, ran = done.stdout.split("|")
    return set(eval(code)), set(eval(ran))


def test_every_line_with_code_is_known_and_those_that_ran_are_told(tmp_path: Path) -> None:
    code, ran = run(tmp_path, list(LINES))
    text = PROGRAM.splitlines()
    blank = {n for n in LINES if not text[n - 1].strip() or text[n - 1].startswith("#")}
    assert not code & blank
    assert code - ran == {12, 13, 14, 18}  # the body of `unused`, and the branch not taken
    assert {6, 7, 8, 9} <= ran  # all lines of a call that ran


def test_watching_ends_when_all_lines_ran(tmp_path: Path) -> None:
    _, ran = run(tmp_path, [5, 20])
    assert ran == {5, 20}


def test_a_line_inside_a_statement_is_witnessed_by_the_statement() -> None:
    known = witnesses("x = (\n    # comment\n    1\n)\n", "f.py", [1, 2, 3, 4])
    assert known[2]
    assert set(known[2]) <= {1, 3, 4}


def test_the_end_of_a_block_is_no_code_of_its_header() -> None:
    assert 3 not in witnesses("if x:\n    y = 1\n\nz = 2\n", "f.py", [3])


def test_syntax_errors_pass_through() -> None:
    with pytest.raises(SyntaxError):
        witnesses("print 'x'", "f.py", [1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_lines_that_run_in_a_forked_worker_count(tmp_path: Path) -> None:
    program = tmp_path / "forked.py"
    program.write_text("def work():\n    return 1\n")
    hits = LineHits({str(program): [2]})
    pid = os.fork()
    if pid == 0:
        hits.mark(str(program), 2)
        os._exit(0)
    os.waitpid(pid, 0)
    assert hits.result()[str(program)] == (2,)
