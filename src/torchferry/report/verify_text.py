"""A verdict for people. Colours are terminal codes, which `click.echo` takes out elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .run_text import account_rows, explain, shown_path

if TYPE_CHECKING:
    from torchferry.verification import Verdict
    from torchferry.verification.verdict import Difference, EditedLines, Evidence, RunSummary

_COLOURS = {"verified": "green", "failed": "red", "not shown": "yellow"}
_MOST_SHOWN = 5
_RUN_NAMES = {
    "original": "original",
    "original-again": "original again",
    "migrated-cpu": "migrated, CPU",
    "migrated-gpu": "migrated, GPU",
    "original-gpu": "original, GPU",
}


def verdict_text(verdict: Verdict) -> str:
    """The verdict, its proof or the first difference, and what was left out."""
    outcome = verdict.outcome.value
    title = click.style(outcome, fg=_COLOURS[outcome], bold=True)
    parts = [f"{shown_path(verdict.script)}: {title}", f"  {verdict.reason}"]
    if verdict.difference is not None:
        parts += ["", *_difference(verdict.difference)]
    if verdict.device_error is not None:
        parts += ["", explain(verdict.device_error, verdict.texts)]
    elif verdict.traceback:
        parts += ["", _indented(verdict.traceback.rstrip())]
    details = _details(verdict)
    if details:
        parts += ["", *(f"  {name:<13} {text}" for name, text in details)]
    parts += [f"  note          {note}" for note in verdict.notes]
    if verdict.kept:
        parts.append(f"  kept in       {verdict.kept}")
    return "\n".join(parts)


def _difference(found: Difference) -> list[str]:
    if found.text is not None:
        where = f"line {found.text.line} of {found.stream}"
        before = found.text.before or "(nothing)"
        after = found.text.after or "(nothing)"
        return [f"  {where}", f"    before: {before}", f"    after:  {after}"]
    if found.tensor is None:
        return []
    tensor = found.tensor
    owner = f" (its module is made at line {tensor.place})" if tensor.place else ""
    return [
        f"  {tensor.name}{owner}",
        f"    {tensor.reason}: by at most {tensor.max_absolute:.3g}, "
        f"{tensor.max_relative:.3g} of its size",
    ]


def _details(verdict: Verdict) -> list[tuple[str, str]]:
    rows = [*_evidence(verdict.evidence)]
    rows += _lines(verdict.edited_lines)
    if verdict.account is not None:
        rows += account_rows(verdict.account)
    if verdict.runs:
        rows.append(("runs", ", ".join(map(_run, verdict.runs))))
    made = sorted({name for run in verdict.runs for name in run.created_files})
    if made:
        rows.append(("files made", _some(made)))
    return rows


def _evidence(evidence: Evidence) -> list[tuple[str, str]]:
    rows = []
    if evidence.lines:
        rows.append(
            (
                "printed",
                f"{counted(evidence.numbers, 'number')} in {counted(evidence.lines, 'line')} agree",
            )
        )
    if evidence.tensors:
        tensors, values = counted(evidence.tensors, "tensor"), counted(evidence.elements, "value")
        text = f"{tensors} with {values} agree"
        rows.append(("learned", text))
    if evidence.largest_difference:
        rows.append(("difference", f"at most {evidence.largest_difference:.2g}, in tolerance"))
    if evidence.device_lines:
        pairs = [f"{before!r} became {after!r}" for before, after in evidence.device_lines]
        rows.append(("device names", _some(pairs)))
    if evidence.unstable_lines:
        lines = [repr(line) for line in evidence.unstable_lines]
        rows.append(("left out", "what differs between runs of the original: " + _some(lines)))
    if evidence.unstable_tensors:
        text = "what differs between runs of the original: " + _some(evidence.unstable_tensors)
        rows.append(("left out", text))
    if evidence.unmatched_tensors:
        rows.append(("left out", "in one program only: " + _some(evidence.unmatched_tensors)))
    return rows


def _lines(lines: EditedLines) -> list[tuple[str, str]]:
    if not lines.count:
        return []
    rows = [("edited lines", f"{lines.ran_count} of {lines.count} ran")]
    for file, numbers in lines.not_run.items():
        if numbers:
            listed = ", ".join(map(str, numbers))
            rows.append(("", f"did not run: {shown_path(file)}, line {listed} of the new text"))
    return rows


def _run(run: RunSummary) -> str:
    name = _RUN_NAMES[run.role.value]
    code = f", exit code {run.exit_code}" if run.exit_code else ""
    return f"{name} {run.seconds:.1f} s{code}"


def counted(count: int, noun: str) -> str:
    """ "1 line", "2 lines"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _some(items: list[str]) -> str:
    shown = ", ".join(items[:_MOST_SHOWN])
    more = len(items) - _MOST_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
