"""Times of the tools for planning: the list of tasks, drift, and the matrix of traces.

The workspaces are synthetic: 1,500 documents with 5,000 tasks and 1,000 identifiers, and a history of 10,000
commits in which 80 sections cover code. The git program only writes the repositories.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import compute_p50_p95_ms, measure_seconds
from index.service import SearchIndex
from tools.dispatcher import ToolDispatcher
from workspace.edits.tasks import CompleteTask
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode

DOCUMENT_COUNT = 1_500
TASK_COUNT = 5_000
IDENTIFIER_COUNT = 1_000
TEST_FILE_COUNT = 500
COMMIT_COUNT = 10_000
CALL_COUNT = 30
_CODE_FOLDERS = [f"src/{package}/{part}" for package in ("core", "web", "cli", "auth") for part in "xyz"]
_GUIDE_COUNT = 40
_SECTION_COUNT = 12
_COVERING_SECTIONS = (2, 5)


def measure(folder: str) -> dict[str, Any]:
    """Measure tool calls: first calls in seconds, and later calls in milliseconds."""
    plans, history = Path(folder) / "plans.git", Path(folder) / "drift.git"
    _write_repository(plans, [make_plans()])
    _write_repository(history, make_history())
    workspace = Workspace.open(plans, durable=False)
    dispatcher = _make_dispatcher(workspace)
    results: dict[str, Any] = {
        "first_trace_s": measure_seconds(lambda: _call(dispatcher, "view_trace", {"limit": 500})),
        "first_tasks_s": measure_seconds(lambda: _call(dispatcher, "list_tasks", {"ready": True})),
    }
    warm_times = [
        measure_seconds(lambda: _call(dispatcher, "list_tasks", {"ready": True})) for _ in range(CALL_COUNT)
    ]
    after_commit_times = [
        _measure_after_commit(dispatcher, workspace, number) for number in range(CALL_COUNT)
    ]
    drift_dispatcher = _make_dispatcher(Workspace.open(history, durable=False))
    results["first_drift_s"] = measure_seconds(lambda: _call(drift_dispatcher, "view_drift", {"limit": 100}))
    return results | {
        "tasks": compute_p50_p95_ms(warm_times),
        "tasks_after_commit": compute_p50_p95_ms(after_commit_times),
        "documents": DOCUMENT_COUNT,
        "commits": COMMIT_COUNT,
    }


def _make_dispatcher(workspace: Workspace) -> ToolDispatcher:
    return ToolDispatcher(workspace, SearchIndex(workspace), ("planning",), False)


def _call(dispatcher: ToolDispatcher, tool: str, arguments: Mapping[str, object]) -> None:
    answer = dispatcher.call(tool, dict(arguments), client="benchmark")
    assert not answer.is_error, answer.data


def _measure_after_commit(dispatcher: ToolDispatcher, workspace: Workspace, number: int) -> float:
    """Complete a task, and return the time of the next list."""
    operation = CompleteTask(file=f"plans/{number}.md", slug=f"t{number}")
    workspace.write(
        [operation],
        mode=BatchMode.ALL,
        tool="benchmark",
        client="benchmark",
        base_commit=workspace.tip(),
    )
    return measure_seconds(lambda: _call(dispatcher, "list_tasks", {"ready": True}))


def make_plans() -> Mapping[str, bytes]:
    """Return documents with tasks that depend on others, identifiers, and test files."""
    rng = random.Random(7)
    words = [f"word{number}" for number in range(500)]
    texts = {f"plans/{number}.md": f"# Plan {number}\n\n" for number in range(DOCUMENT_COUNT)}
    for number in range(IDENTIFIER_COUNT):
        title = " ".join(rng.choices(words, k=5))
        texts[f"plans/{number % 300}.md"] += f"## REQ-{number} {title} {{#req-{number}}}\n\n{title}.\n\n"
    for path in texts:
        texts[path] += (
            f"## Work\n\n{' '.join(rng.choices(words, k=300))} REQ-{rng.randrange(IDENTIFIER_COUNT)}.\n\n"
        )
    for number in range(TASK_COUNT):
        path = f"plans/{number % DOCUMENT_COUNT}.md"
        box = "x" if number % 3 == 2 else " "
        texts[path] += f"- [{box}] Task {number} of REQ-{number % IDENTIFIER_COUNT} {{#t{number}}}\n"
        if number >= 100:
            earlier = number - rng.randint(1, 100)
            texts[path] += f"  - Depends on: plans/{earlier % DOCUMENT_COUNT}.md#t{earlier}\n"
    tests = {
        f"tests/test_{number}.py": "".join(
            f"def test_req_{rng.randrange(IDENTIFIER_COUNT)}_{line}():\n    pass\n" for line in range(10)
        )
        for number in range(TEST_FILE_COUNT)
    }
    return {path: text.encode() for path, text in {**texts, **tests}.items()}


def make_history() -> Iterator[Mapping[str, bytes]]:
    """Yield the files that each commit changes: mostly code, and each fifth time a section of a guide."""
    rng = random.Random(7)
    files = [f"{folder}/f{number}.py" for folder in _CODE_FOLDERS for number in range(20)]
    guides = [f"docs/guide{number}.md" for number in range(_GUIDE_COUNT)]
    yield {
        **dict.fromkeys(files, b"x = 0\n" * 30),
        **{path: _make_guide(number, 0) for number, path in enumerate(guides)},
    }
    for commit in range(1, COMMIT_COUNT):
        if commit % 5:
            yield dict.fromkeys(rng.sample(files, rng.randint(1, 3)), b"x = %d\n" % commit * 30)
        else:
            number = rng.randrange(_GUIDE_COUNT)
            yield {guides[number]: _make_guide(number, commit)}


def _make_guide(number: int, commit: int) -> bytes:
    """Return a guide in which a commit has edited one section, rarely one that covers code."""
    parts = [f"# Guide {number}\n\n"]
    for section in range(_SECTION_COUNT):
        folder = _CODE_FOLDERS[(number + section) % len(_CODE_FOLDERS)]
        coverage = f"- Covers: `{folder}/**`\n\n" if section in _COVERING_SECTIONS else ""
        is_edited = section == commit % _SECTION_COUNT and section != _COVERING_SECTIONS[0]
        edit = f" as of {commit}" if is_edited else ""
        text = "words " * 150
        parts.append(f"## Part {section} {{#part-{section}}}\n\n{coverage}Text{edit}. {text}\n\n")
    return "".join(parts).encode()


def _write_repository(
    path: Path, commits: Iterator[Mapping[str, bytes]] | Sequence[Mapping[str, bytes]]
) -> None:
    """Write a bare repository with packed objects."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", path], check=True)
    command = ["git", "-C", path, "fast-import", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for number, files in enumerate(commits):
            time = 1_700_000_000 + 60 * number
            process.stdin.write(b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\n" % time)
            process.stdin.write(b"data 8\nA change\n")
            for file, data in files.items():
                process.stdin.write(b"M 100644 inline %b\ndata %d\n%b\n" % (file.encode(), len(data), data))
        process.stdin.close()
        assert process.wait() == 0
    subprocess.run(["git", "-C", path, "gc", "-q"], check=True)
