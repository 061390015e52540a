"""Captured text becomes lines of tokens; what says nothing about the numbers is gone."""

from __future__ import annotations

import pytest

from torchferry.verification.printed import Kind, alike_devices, device_names, lines_of


def kinds(text: str) -> list[tuple[Kind, str]]:
    (line,) = lines_of(text)
    return [(token.kind, token.text) for token in line.tokens]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("loss 0.125", ["0.125"]),
        ("loss=1e-05, n=3", ["1e-05", "3"]),
        ("[-1. .5 +2]", ["-1.", ".5", "+2"]),
        ("x nan -inf", ["nan", "-inf"]),
        ("fc1.weight layer2", []),  # digits of a name are no number
        ("nancy and infinity", []),
        ("1,000", ["1", "000"]),
    ],
)
def test_numbers(text: str, numbers: list[str]) -> None:
    assert [word for kind, word in kinds(text) if kind is Kind.NUMBER] == numbers


@pytest.mark.parametrize(
    ("text", "kind", "word"),
    [
        ("<object at 0x7f12ab>", Kind.ADDRESS, "0x7f12ab"),
        ("2024-05-01 12:30:05 start", Kind.CLOCK, "2024-05-01 12:30:05"),
        ("at 12:30:05.25", Kind.CLOCK, "12:30:05.25"),
        ("took 0.31", Kind.DURATION, "0.31"),
        ("time: 0.31", Kind.DURATION, "0.31"),
        ("12 ms", Kind.DURATION, "12"),
        ("3.5s", Kind.DURATION, "3.5"),
        ("train.py:31: warning", Kind.PLACE, "31"),
        ('File "train.py", line 31', Kind.PLACE, "31"),
    ],
)
def test_tokens_without_meaning(text: str, kind: Kind, word: str) -> None:
    assert (kind, word) in kinds(text)
    assert kind.meaningless


@pytest.mark.parametrize("text", ["time step 12", "epoch 3 sample 4", "time 12 reward 3"])
def test_numbers_that_only_look_like_durations(text: str) -> None:
    assert Kind.DURATION not in [kind for kind, _ in kinds(text)]


def test_the_last_printed_digit_is_the_unit() -> None:
    (line,) = lines_of("3.14 2e-3 7 nan 1.50e+02")
    units = [token.unit for token in line.tokens]
    assert units == pytest.approx([0.01, 1e-3, 0, 0, 1.0])


def test_colours_and_titles_are_dropped() -> None:
    (line,) = lines_of("\x1b[1;31mloss\x1b[0m 0.5\x1b]0;title\x07")
    assert line.text == "loss 0.5"


def test_progress_bars_are_dropped_and_rewritten_lines_are_lines() -> None:
    bar = "\r 40%|####      | 4/10 [00:01<00:02,  3.9it/s]\r100%|####| 10/10 [00:02<00:00]"
    assert lines_of(bar) == []
    assert lines_of("\r12it [00:03,  3.91it/s]") == []
    assert [line.text for line in lines_of("step 1\rstep 2\r\nend\n")] == [
        "step 1",
        "step 2",
        "end",
    ]


def test_a_percentage_is_no_progress_bar() -> None:
    assert [line.text for line in lines_of("accuracy: 93% | 7% wrong")] != []


def test_warnings_can_be_left_out() -> None:
    text = "/a/train.py:3: UserWarning: careful\n  loss.item()\nINFO loss 0.5\n"
    assert [line.text for line in lines_of(text, warnings=False)] == ["INFO loss 0.5"]
    assert len(lines_of(text)) == 3


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("tensor([1.], device='cuda:0')", "tensor([1.])"),
        ("tensor([1.], device='cuda:0', requires_grad=True)", "tensor([1.], requires_grad=True)"),
        ("torch.cuda.FloatTensor", "torch.FloatTensor"),
        ("<class 'torch.cuda.FloatTensor'>", "<class 'torch.FloatTensor'>"),
        ("device(type='cuda', index=0)", "device(type='cpu')"),
        ("Using cuda:0", "Using cpu"),
        ("running on GPU", "running on CPU"),
        ("mps", "cpu"),
    ],
)
def test_device_names_are_made_alike(there: str, here: str) -> None:
    assert alike_devices(there) == alike_devices(here)
    assert device_names(there)


def test_words_that_hold_a_device_name_stay() -> None:
    assert alike_devices("cpus cudart_gpu") == "cpus cudart_gpu"


def test_a_device_on_a_line_of_its_own_joins_the_tensor() -> None:
    there = lines_of("tensor([1.,\n        2.],\n       device='cuda:0')", same_device=True)
    here = lines_of("tensor([1.,\n        2.])", same_device=True)
    assert [line.text for line in there] == [line.text for line in here]
