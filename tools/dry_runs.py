"""Dry runs: what a commit would change, and whether it would become a proposal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.write_target import would_propose

if TYPE_CHECKING:
    from tools.errors import Data
    from tools.write_target import Home
    from workspace.writing.write import Written

_MAX_DIFF = 50_000


def dry_run_data(home: Home, written: Written) -> Data:
    """What a dry run says beside the answer: a diff, and which paths only a proposal may change."""
    data: Data = {"dry_run": True, "diff": diff(written)}
    return {**data, **would_propose(home.protected)} if home.protected else data


def diff(written: Written) -> str:
    """What a commit would change, as a unified diff; cut where it would fill a conversation."""
    import difflib

    lines: list[str] = []
    for path, data in sorted(written.changes.items()):
        entry = written.plan.snapshot.entry(path)
        before = written.plan.snapshot.git.blob(entry.id) if entry else b""
        old, new = (
            text.decode("utf-8", "replace").splitlines(keepends=True) for text in (before, data or b"")
        )
        names = f"a/{path}" if entry else "/dev/null", f"b/{path}" if data is not None else "/dev/null"
        lines += (
            line if line.endswith("\n") else line + "\n" for line in difflib.unified_diff(old, new, *names)
        )
    text = "".join(lines)
    return text if len(text) <= _MAX_DIFF else text[:_MAX_DIFF] + "\n… (the diff goes on)\n"
