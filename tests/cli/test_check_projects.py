"""`torchferry check` over files that import each other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .calling import torchferry

NET = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 1)
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.lin(x * self.scale)
"""
GPU = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
USES = f"""\
import torch
from net import Net
device = {GPU}
net = Net().to(device)
net(torch.randn(4, 3).to(device))
"""
RIGHT = NET.replace("self.scale = torch.ones(3)", 'self.register_buffer("scale", torch.ones(3))')


@pytest.fixture
def project() -> None:
    Path("net.py").write_text(NET)
    Path("main.py").write_text(USES)
    Path("other.py").write_text(USES)


def findings(*args: str) -> list[tuple[str, int, str, str]]:
    """(path, line, code, severity) of a run."""
    content = json.loads(torchferry("check", "--format", "json", *args).out)
    return [
        (f["location"]["path"], f["location"]["line"], f["code"], f["severity"])
        for f in content["findings"]
    ]


@pytest.mark.usefixtures("project")
def test_a_fault_is_reported_once_where_it_stands() -> None:
    for paths in (["main.py"], ["main.py", "other.py"], ["main.py", "net.py"], ["."]):
        assert findings(*paths) == [("net.py", 7, "DEV401", "error")]
    assert findings("net.py") == []
    absolute = str(Path("main.py").absolute())
    assert findings(absolute) == [(str(Path("net.py").absolute()), 7, "DEV401", "error")]
    os.mkdir("below")
    os.chdir("below")
    assert findings("../main.py", "../net.py") == [("../net.py", 7, "DEV401", "error")]


@pytest.mark.usefixtures("project")
def test_processes_find_the_same() -> None:
    assert findings(".", "-j2", "--no-cache") == findings(".", "-j1", "--no-cache") != []


@pytest.mark.usefixtures("project")
def test_every_format_names_both_files() -> None:
    text = torchferry("check", "main.py")
    assert text.code == 1
    assert text.out.startswith("net.py:7:9: error DEV401")
    assert "  7 |         self.scale = torch.ones(3)\n" in text.out
    assert "  main.py:5:1: passed into `net(torch.randn(4, 3).to(device))`\n" in text.out
    assert "  line 7: `torch.ones(3)`: made on the CPU here\n" in text.out
    github = torchferry("check", "--format", "github", "main.py").out
    assert github.startswith("::error file=net.py,line=7,")
    assert "%0Amain.py:5: passed into" in github
    (run,) = json.loads(torchferry("check", "--format", "sarif", "main.py").out)["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "net.py"
    related = [r["physicalLocation"]["artifactLocation"]["uri"] for r in result["relatedLocations"]]
    assert set(related) == {"main.py"}
    assert [r["id"] for r in result["relatedLocations"]] == list(range(1, len(related) + 1))
    assert "fixes" not in result


@pytest.mark.usefixtures("project")
def test_cache_knows_what_a_file_depends_on() -> None:
    assert findings("main.py", "other.py") == [("net.py", 7, "DEV401", "error")]
    assert findings("main.py", "other.py") == [("net.py", 7, "DEV401", "error")]
    Path("net.py").write_text(RIGHT)  # neither main.py nor other.py changed
    assert findings("main.py", "other.py") == []
    Path("base.py").write_text(NET)
    Path("net.py").write_text("from base import Net\n")
    assert findings("main.py", "other.py") == [("base.py", 7, "DEV401", "error")]
    Path("base.py").write_text(RIGHT)  # two imports away
    assert findings("main.py", "other.py") == []
    os.mkdir("net")
    Path("net/__init__.py").write_text(NET)  # a new file comes before the old one
    assert findings("main.py", "other.py") == [("net/__init__.py", 7, "DEV401", "error")]
    os.unlink("net/__init__.py")
    os.unlink("net.py")  # nothing is left of what was imported
    assert findings("main.py", "other.py") == []


@pytest.mark.usefixtures("project")
def test_cache_is_used() -> None:
    findings("main.py", "other.py")
    (file,) = Path(".torchferry_cache").glob("*.pickle")
    before = file.stat().st_mtime_ns
    findings("main.py", "other.py")
    assert file.stat().st_mtime_ns == before


def test_comment_of_another_file_is_honoured_and_is_not_useless() -> None:
    needed = NET.replace("torch.ones(3)\n", "torch.ones(3)  # torchferry: ignore[DEV401, DEV102]\n")
    useless = needed.replace("import torch\n", "import torch  # torchferry: ignore\n", 1)
    Path("main.py").write_text(USES)
    Path("net.py").write_text(useless)
    assert findings(".") == [("net.py", 1, "DEV001", "warning"), ("net.py", 7, "DEV001", "warning")]
    text = torchferry("check", ".").out
    assert "DEV102: not found here" in text
    assert "DEV401" not in text.replace("ignore[DEV401, DEV102]", "")
    assert torchferry("check", "--fix", ".").code == 1
    fixed = Path("net.py").read_text()
    assert fixed.startswith("import torch\n\n")
    assert "ignore[DEV401, DEV102]" in fixed


def test_useless_comment_is_removed_and_a_needed_one_is_kept() -> None:
    Path("main.py").write_text(USES)
    Path("net.py").write_text(NET.replace("ones(3)\n", "ones(3)  # torchferry: ignore[DEV401]\n"))
    assert torchferry("check", "--fix", ".").code == 0
    assert "ignore[DEV401]" in Path("net.py").read_text()


@pytest.mark.usefixtures("project")
def test_files_that_are_left_out_are_not_reported_on() -> None:
    assert findings("main.py", "--exclude", "net.py") == []
    Path("pyproject.toml").write_text(
        '[tool.torchferry]\nper-file-ignores = {"net.py" = ["DEV401"]}\n'
    )
    assert findings("main.py") == []


@pytest.mark.usefixtures("project")
def test_fix_changes_no_file_that_is_not_checked() -> None:
    Path("main.py").write_text(USES.replace("torch.randn(4, 3).to(device)", "torch.randn(4, 3)"))
    Path("net.py").write_text(RIGHT)
    assert torchferry("check", "--fix", "main.py").code == 0
    assert Path("main.py").read_text().endswith("net(torch.randn(4, 3).to(device))\n")
    assert Path("net.py").read_text() == RIGHT


def test_what_others_say_of_a_file_is_asked_again_after_fixes() -> None:
    """main.py sees the fault of net.py before net.py, which sees it too, is fixed."""
    helper = (
        f"import torch\n\ndevice = {GPU}\n\ndef mix(x):\n"
        "    return x.to(device) + torch.ones(3)\n\nmix(torch.ones(3))\n"
    )
    Path("helper.py").write_text(helper)
    Path("a_main.py").write_text("import torch\nfrom helper import mix\nmix(torch.ones(3))\n")
    assert [f[:3] for f in findings(".")] == [("helper.py", 6, "DEV201")]
    result = torchferry("check", "--fix", ".")
    assert result.code == 0, result.out
    assert "torch.ones(3, device=" in Path("helper.py").read_text()


@pytest.mark.usefixtures("project")
def test_standard_input_follows_its_imports() -> None:
    result = torchferry("check", "-", "--stdin-filename", "editor.py", stdin=USES.encode())
    assert result.out.startswith("net.py:7:9: error DEV401")
    assert "editor.py:5:1: passed into" in result.out
    # what is given counts, not what is on the disk
    both = torchferry("check", "-", "--stdin-filename", "main.py", stdin=b"import torch\n")
    assert both.code == 0


@pytest.mark.usefixtures("project")
def test_baseline_holds_findings_of_imported_files() -> None:
    written = torchferry("check", "main.py", "--baseline", "known.json", "--write-baseline")
    assert written.code == 0
    assert torchferry("check", "main.py", "--baseline", "known.json").code == 0
    assert "net.py" in Path("known.json").read_text()


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_what_was_not_analysed_is_counted_and_listed_on_request(form: str) -> None:
    Path("main.py").write_text("import torch\nfrom .gone import f\nexec(input())\n")
    short = torchferry("check", "main.py", "--format", form)
    long = torchferry("check", "main.py", "--format", form, "--show-not-analysed")
    assert short.code == long.code == 0
    assert "by exec" not in short.out
    assert "by exec" in long.out
    if form == "text":
        assert short.out == "nothing found in 1 file; 2 places not analysed\n"
        assert "main.py:3:1: not analysed: code made at run time, by exec\n" in long.out
    elif form == "json":
        assert json.loads(short.out)["not_analysed_count"] == 2
        listed = json.loads(long.out)["not_analysed"]
        assert [gap["location"]["line"] for gap in listed] == [2, 3]
    elif form == "sarif":
        invocation = json.loads(long.out)["runs"][0]["invocations"][0]
        notes = invocation["toolExecutionNotifications"]
        assert [n["level"] for n in notes] == ["note", "note"]
        assert invocation["executionSuccessful"] is True
