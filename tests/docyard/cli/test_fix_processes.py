"""`fix_documents` in two processes, compared with its results in one process."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from docyard.cli.checked_files import process_in_blocks
from workspace.config.config import WorkspaceConfig
from workspace.validation.files import FileSet, FolderReader
from workspace.validation.fixes.broken_link import RenamedDocuments
from workspace.validation.fixes.fix import FixFinder, fix_documents
from workspace.validation.run import RuleSelection

pytestmark = pytest.mark.process

TEXTS = {
    "a.md": "# A\n\n## One\n\n[gone](old.md) [case](B.md)\n",
    "b.md": "# B\n\n## Sub\n\n### Sub\n\n[no](a.md#none)\n",
    "c.md": "- [] task\n\ntrailing\t \n",
    "new.md": "# New\n",
}


def test_two_processes_return_same_fixes_as_one_process(tmp_path: Path) -> None:
    for path, text in TEXTS.items():
        (tmp_path / path).write_text(text)
    config = WorkspaceConfig()
    files = FileSet(frozenset(TEXTS), frozenset(), FolderReader(tmp_path), config)
    finder = FixFinder(
        files=files,
        selection=RuleSelection(config.validation),
        moves=RenamedDocuments({"old.md": "new.md"}),
    )
    progress_counts: list[float] = []
    results = process_in_blocks(
        partial(fix_documents, finder),
        sorted(TEXTS),
        "Fixing",
        jobs=2,
        progress=lambda count, total, message: progress_counts.append(count),
    )
    assert sorted(results) == sorted(fix_documents(finder, TEXTS))
    assert progress_counts[-1] == len(TEXTS)
    results_by_path = {result.path: result for result in results}
    # Only the history has the new address of the deleted section.
    assert results_by_path["b.md"].needs_history_search
    change = results_by_path["a.md"].change
    assert change
    assert b"[gone](new.md) [case](b.md)" in change.after
