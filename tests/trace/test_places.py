"""Events of a run, summed by line."""

from __future__ import annotations

from torchferry.trace import Account, HostWait, Move, OperatorCount, Place, by_place

LINE = Place("train.py", 3)
OTHER = Place("train.py", 7)


def test_sums_are_by_file_and_line() -> None:
    found = by_place(
        [
            OperatorCount("aten.mm.default", "cuda:0", 2, 64, OTHER),
            OperatorCount("aten.add.Tensor", "cuda:0", 1, 8, LINE),
            OperatorCount("aten.add.Tensor", "cpu", 5, 40, LINE),
            Move("h2d", 100, LINE, count=4),
            Move("h2d", 100, LINE, pinned=True),
            HostWait("item", LINE, 3),
            HostWait("item", count=2),
        ]
    )
    assert [one.place for one in found] == [None, LINE, OTHER]
    nowhere, line, other = found
    assert nowhere.host_waits == 2
    assert (line.gpu_operators, line.gpu_bytes) == (1, 8)
    assert (line.host_operators, line.host_bytes) == (5, 40)
    assert (line.h2d_copies, line.unpinned_copies, line.host_waits) == (5, 4, 3)
    assert (other.gpu_operators, other.gpu_bytes) == (2, 64)


def test_accounts_add_up_by_place_and_survive_json() -> None:
    one = Account(host_waits=3, peak_memory=10, places=by_place([HostWait("item", LINE, 3)]))
    two = Account(host_waits=1, peak_memory=7, places=by_place([HostWait("item", LINE, 1)]))
    both = one + two
    assert (both.host_waits, both.peak_memory) == (4, 10)
    assert [(p.place, p.host_waits) for p in both.places] == [(LINE, 4)]
    assert Account.from_json(both.to_json()) == both
    assert "places" not in both.to_json(places=False)
