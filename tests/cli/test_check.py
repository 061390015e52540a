"""`torchferry check`, `explain` and `rules` as a user calls them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .calling import torchferry

MIXED = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 1).to(device)
x = torch.randn(4, 3)
print(net(x).detach().numpy())
"""
RIGHT = "import torch\n\nx = torch.ones(3)\nprint(x)\n"


@pytest.fixture
def mixed() -> Path:
    path = Path("mixed.py")
    path.write_text(MIXED)
    return path


def test_finding_has_place_frame_proof_and_advice(mixed: Path) -> None:
    result = torchferry("check", mixed)
    assert result.code == 1
    assert "mixed.py:7:7: error DEV101 input-not-moved: `x` is still on the CPU" in result.out
    assert "7 | print(net(x).detach().numpy())" in result.out
    assert "line 6: `torch.randn(4, 3)`: made on the CPU here" in result.out
    assert "help: " in result.out
    assert "fix (safe): move `x` to the device" in result.out


def test_right_code_is_fine() -> None:
    Path("right.py").write_text(RIGHT)
    result = torchferry("check", "right.py")
    assert result.code == 0
    assert result.out.strip() == "nothing found in 1 file"


def test_fix_writes_until_nothing_is_left(mixed: Path) -> None:
    result = torchferry("check", "--fix", mixed)
    assert result.code == 0
    text = mixed.read_text()
    assert "net(x.to(device))" in text
    assert torchferry("check", mixed).code == 0
    assert torchferry("check", "--fix", mixed).code == 0
    assert mixed.read_text() == text


def test_diff_shows_and_writes_nothing(mixed: Path) -> None:
    result = torchferry("check", "--diff", mixed)
    assert result.code == 1
    assert "+print(net(x.to(device))" in result.out
    assert mixed.read_text() == MIXED


def test_unsafe_fixes_are_only_taken_when_asked() -> None:
    path = Path("load.py")
    path.write_text('import torch\n\nstate = torch.load("m.pt")\n')
    torchferry("check", "--fix", path)
    assert "map_location" not in path.read_text()
    torchferry("check", "--fix", "--unsafe-fixes", path)
    assert 'torch.load("m.pt", map_location="cpu")' in path.read_text()


def test_standard_input_with_a_name() -> None:
    result = torchferry("check", "-", "--stdin-filename", "src/net.py", stdin=MIXED.encode())
    assert result.code == 1
    assert result.out.startswith("src/net.py:7:7: error DEV101")
    assert torchferry("check", "x.py", "--stdin-filename", "y.py").code == 2


def test_ignore_comment_silences_and_a_useless_one_is_said(mixed: Path) -> None:
    lines = MIXED.split("\n")
    lines[6] += "  # torchferry: ignore[DEV101]"
    lines[5] += "  # torchferry: ignore"
    mixed.write_text("\n".join(lines))
    result = torchferry("check", mixed)
    assert "DEV101" not in result.out
    assert "mixed.py:6:24: warning DEV001 unused-ignore" in result.out


def test_settings_of_pyproject(mixed: Path) -> None:
    Path("pyproject.toml").write_text('[tool.torchferry]\nignore = ["DEV1", "DEV301"]\n')
    assert torchferry("check", mixed).code == 0
    Path("pyproject.toml").write_text(
        '[tool.torchferry.per-file-ignores]\n"mixed.py" = ["input-not-moved"]\n'
    )
    assert "DEV101" not in torchferry("check", mixed).out
    Path("pyproject.toml").write_text('[tool.torchferry]\ncolour = "red"\n')
    result = torchferry("check", mixed)
    assert result.code == 2
    assert "no 'colour'" in result.err


def test_select_and_level(mixed: Path) -> None:
    assert torchferry("check", "--select", "DEV9", mixed).code == 0
    assert torchferry("check", "--select", "input-not-moved", mixed).code == 1
    assert torchferry("check", "--ignore", "DEV101,DEV301", mixed).code == 0
    result = torchferry("check", "--select", "DEV42x", mixed)
    assert result.code == 2
    assert "no rule is named" in result.err


def test_baseline_keeps_only_what_is_new(mixed: Path) -> None:
    assert torchferry("check", "--baseline", "known.json", mixed).code == 2
    result = torchferry("check", "--baseline", "known.json", "--write-baseline", mixed)
    assert result.code == 0
    result = torchferry("check", "--baseline", "known.json", mixed)
    assert result.code == 0
    assert "in the baseline" in result.out
    mixed.write_text("# moved down by a line\n" + MIXED + "z = net(torch.ones(2, 3))\n")
    result = torchferry("check", "--baseline", "known.json", mixed)
    assert result.code == 1
    assert result.out.count("DEV101") == 1
    assert "mixed.py:9" in result.out


def test_json_and_github(mixed: Path) -> None:
    found = json.loads(torchferry("check", "--format", "json", mixed).out)["findings"]
    assert found[0]["code"] == "DEV101"
    assert found[0]["fix"]["edits"]
    result = torchferry("check", "--format", "github", mixed)
    line = result.out.split("\n")[0]
    assert line.startswith(
        "::error file=mixed.py,line=7,endLine=7,col=7,endColumn=13,title=DEV101 "
    )


def test_sarif_holds_rules_results_flows_and_fixes(mixed: Path) -> None:
    Path("broken.py").write_text("import torch\ndef f(:\n")
    log = json.loads(torchferry("check", "--format", "sarif", ".").out)
    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["endLine"] >= region["startLine"] >= 1
    first = run["results"][0]
    assert first["codeFlows"][0]["threadFlows"][0]["locations"]
    change = first["fixes"][0]["artifactChanges"][0]["replacements"][0]
    offset = change["deletedRegion"]["charOffset"]
    assert MIXED[:offset].endswith("net(x")
    assert run["invocations"][0]["executionSuccessful"] is False


def test_cache_gives_the_same_and_notices_changes() -> None:
    for number in range(3):
        Path(f"m{number}.py").write_text(MIXED)
    first = torchferry("check", ".")
    assert Path(".torchferry_cache").is_dir()
    assert torchferry("check", ".").out == first.out
    Path("m1.py").write_text(RIGHT)
    os.utime("m1.py", ns=(1, 1))
    assert "m1.py" not in torchferry("check", ".").out
    for file in Path(".torchferry_cache").glob("*.pickle"):
        file.write_bytes(b"damaged")
    assert "m0.py" in torchferry("check", ".").out


def test_processes_find_the_same() -> None:
    for number in range(5):
        Path(f"m{number}.py").write_text(MIXED)
    one = torchferry("check", "--no-cache", "-j1", ".")
    two = torchferry("check", "--no-cache", "-j2", ".")
    assert one.out == two.out
    assert one.code == two.code == 1


def test_explain_and_rules() -> None:
    result = torchferry("explain", "DEV101")
    assert result.code == 0
    assert "DEV101 input-not-moved" in result.out
    assert "Why is this bad" in result.out
    assert torchferry("explain", "input-not-moved").out == result.out
    assert "did you mean" in torchferry("explain", "input-not-movd").err
    listed = torchferry("rules").out
    assert "DEV101  input-not-moved" in listed
    assert len(json.loads(torchferry("rules", "--format", "json").out)) >= 40
