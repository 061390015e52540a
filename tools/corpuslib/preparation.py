"""Build the folder of a program from a clone of its repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpuslib.place import Json, Program, Workplace
from corpuslib.supplies import BORROWED, EMPTY_FOLDERS, SYNTHETIC

_MEDIA = (".png", ".jpg", ".jpeg", ".gif", ".pdf", ".svg", ".mp4", ".pptx", ".zip", ".whl", ".ai")
_MAGIC = re.compile(r"%{1,2}[A-Za-z]|!|\?|[A-Za-z_][\w.]*\?\s*$")


def git_directory(clones: Path, repo: str) -> Path:
    """The git directory of ``owner/name`` below ``clones`` (``owner+name`` or ``owner/name``)."""
    for base in (clones / repo.replace("/", "+"), clones / repo):
        for tail in ("repo/.git", "repo", ".git", "."):
            if (base / tail / "HEAD").is_file():
                return base / tail
    raise FileNotFoundError(f"no clone of {repo} below {clones}")


class Clone:
    """Reads the files of one commit; files that the clone lacks do not exist for it."""

    def __init__(self, directory: Path, commit: str) -> None:
        self._git = ["git", "-c", "safe.directory=*", "--git-dir", str(directory)]
        listing = self._run("ls-tree", "-r", "-l", "-z", commit).decode("utf-8", "surrogateescape")
        self.sizes: dict[str, int] = {}
        self._blobs: dict[str, str] = {}
        for line in filter(None, listing.split("\0")):
            head, path = line.split("\t", 1)
            _, kind, blob, size = head.split()
            if kind == "blob" and size.isdigit():
                self.sizes[path], self._blobs[path] = int(size), blob

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        environment = dict(os.environ, GIT_CONFIG_COUNT="1")
        environment |= {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        return subprocess.run(
            [*self._git, *arguments], input=stdin, capture_output=True, check=True, env=environment
        ).stdout

    def read(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        request = "".join(self._blobs[path] + "\n" for path in paths).encode()
        answer = self._run("cat-file", "--batch", stdin=request)
        position = 0
        for path in paths:
            end = answer.index(b"\n", position)
            size = int(answer[position:end].split()[2])
            yield path, answer[end + 1 : end + 1 + size]
            position = end + 1 + size + 1


def convert_notebook(text: str) -> str:
    """The code cells of a notebook, in order; magics and shell lines become comments."""
    notebook = json.loads(text)
    cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    sources = [c.get("source", c.get("input", "")) for c in cells if c["cell_type"] == "code"]
    return "\n\n".join(_convert_cell("".join(source)) for source in sources) + "\n"


def _convert_cell(source: str) -> str:
    lines = source.rstrip().split("\n")
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]  # which IPython drops
    lines = [line.removeprefix(indent) for line in lines]
    foreign = re.match(r"%%(bash|sh|html|javascript|js|writefile|script|latex|svg|cmd)\b", source)
    return "\n".join("# " + line if foreign or _MAGIC.match(line) else line for line in lines)


def prepare(place: Workplace, program: Program, clones: Path) -> Json:
    """Build the pristine folder of a program."""
    folder = place.pristine(program)
    if folder.exists():
        shutil.rmtree(folder)
    clone = Clone(git_directory(clones, program.repo), program.commit)
    own = {program.notebook, *program.pyfiles}
    wanted = [
        path for path, size in clone.sizes.items() if path in own or _wanted(program, path, size)
    ]
    for path, content in clone.read(wanted):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    if program.notebook:
        text = (folder / program.notebook).read_text(encoding="utf-8")
        (folder / program.entry).write_text(convert_notebook(text), encoding="utf-8")
    missing = [path for path in program.pyfiles if not (folder / path).is_file()]
    if missing:
        raise FileNotFoundError(f"not in the repository: {', '.join(missing)}")
    unused = apply_trims(program, folder)
    _supply(program, folder, clones)
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    return {"files": len(wanted), "bytes": size, "trims_unused": unused}


def _wanted(program: Program, path: str, size: int) -> bool:
    if path.endswith(".ipynb"):
        return False
    near = program.cwd == "." or path.startswith(program.cwd + "/") or "data" in path
    return size < 200_000 or (near and size < 16 << 20) or not path.lower().endswith(_MEDIA)


def apply_trims(program: Program, folder: Path) -> list[str]:
    """Shorten the program as its entry says. Returns the trims that matched nowhere."""
    unused = []
    for trim in program.trims:
        files = [program.entry, *(path for path in program.pyfiles if path != program.entry)]
        for path in files:
            content = (folder / path).read_bytes()
            before = trim["before"].encode()
            if before in content:
                (folder / path).write_bytes(content.replace(before, trim["after"].encode()))
                break
        else:
            unused.append(trim["before"])
    return unused


def _supply(program: Program, folder: Path, clones: Path) -> None:
    if program.repo in EMPTY_FOLDERS:
        (folder / program.cwd / EMPTY_FOLDERS[program.repo]).mkdir(exist_ok=True)
    if program.repo in BORROWED:
        repo, path = BORROWED[program.repo]
        commit = program.commit if repo == program.repo else "HEAD"
        _, content = next(Clone(git_directory(clones, repo), commit).read([path]))
        (folder / program.cwd / Path(path).name).write_bytes(content)
    if program.id in SYNTHETIC:
        SYNTHETIC[program.id](folder)
