"""Documents and calls far over the limits: each returns an answer with little memory, without data loss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repositories import create_repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the limits of a process are set with POSIX calls"),
]

# At most a third is reachable objects; the rest may be garbage that is not collected yet.
ADDRESS_SPACE_BYTES = 1_800_000_000

# Committed documents, and whether they are readable.
COMMITTED_DOCUMENTS = {
    "small.md": (b"# Small\n\nA needle.\n", True),
    "bytes.md": (b"# Bytes\n\n" + b"needle " * 7_200_000, False),
    "lines.md": (b"# Lines\n\n" + b"\n" * 9_000_000, False),
    "blocks.md": (b"# Blocks\n\n" + (b"- " * 45 + b"a\n") * 30_000, False),
    "headings.md": (b"# Headings\n\n" + b"## A\n" * 100_000, True),
    "tasks.md": (b"# Tasks\n\n" + b"- [ ] a\n" * 90_000, True),
    "nesting.md": (b"# Nesting\n\n" + b"> - " * 2_000 + b"a\n\n## After\n", True),
    "brackets.md": (b"# Brackets\n\n" + b"[" * 5_000_000 + b"\n\n## " + b"[" * 4_000_000 + b"\n", True),
    "front.md": (b"---\n" + b"a: [" * 1_000_000 + b"\n---\n# Front\n", True),
    "aliases.md": (
        b"---\na: &a0 [x]\n"
        + b"".join(
            b"b%d: &a%d [*a%d, *a%d]\n" % (number, number, number - 1, number - 1) for number in range(1, 60)
        )
        + b"---\n# Aliases\n",
        True,
    ),
}


def test_oversized_documents_and_calls_use_little_memory(tmp_path: Path) -> None:
    repo = create_repository(
        tmp_path / "docs", {path: data for path, (data, _) in COMMITTED_DOCUMENTS.items()}
    )
    (repo.path / "docyard.toml").write_text('overwrite = "any"\n')
    repo.commit({})
    head_before = repo.head()
    process = subprocess.run(
        [sys.executable, "-m", "tests.tools.oversized_calls", str(repo.path), str(ADDRESS_SPACE_BYTES)],
        cwd=Path(__file__).parents[2],
        env={
            **os.environ,
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    results = json.loads(process.stdout)
    assert (results["list"], results["search"], results["small"]) == ("ok", "ok", "ok")
    assert "small.md" in results["hits"]
    for path, (data, is_readable) in COMMITTED_DOCUMENTS.items():
        expected = "ok" if is_readable else "LIMIT_EXCEEDED"
        assert (path, results[f"view {path}"]) == (path, expected)
        assert (path, results[f"write {path}"]) == (path, expected)
        assert results[f"size {path}"] < 300_000, path
        assert is_readable or path in results["hints"]
        committed_data = (repo.path / path).read_bytes()
        assert committed_data == data or (
            is_readable and committed_data.replace(b"\nMore.\n", b"").replace(b"\n", b"") != b""
        )
    for name in (
        "50 MB",
        "11 MB",
        "headings",
        "lines",
        "blocks",
        "nesting",
        "operations",
        "call",
        "one more heading",
    ):
        assert (name, results[name]) == (name, "LIMIT_EXCEEDED")
    commit_count = sum(is_readable for _, is_readable in COMMITTED_DOCUMENTS.values()) + 1
    assert repo.git("rev-list", "--count", f"{head_before}..HEAD").strip() == str(commit_count)
    assert repo.status() == ""
    assert repo.fsck() == ""
