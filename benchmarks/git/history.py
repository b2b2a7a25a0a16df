"""Times of a first page of history and of a blame in a repository of 10,000 commits.

python -m benchmarks.git.history     writes the repository with packed and with loose objects, and
                                     measures each query three times, each in a new process

The first commit adds 1,500 documents, and each later commit edits one section. The git program only writes
the repositories.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import measure_seconds

COMMIT_COUNT = 10_000
DOCUMENT_COUNT = 1_500
SECTION_COUNT = 10
LINES_PER_SECTION = 20
ROUND_COUNT = 3
LIMIT_MS = 300
_OFTEN_CHANGED, _SOMETIMES_CHANGED, _NEVER_CHANGED = 7, 33, 0  # document numbers

QUERIES = {
    "often changed": (_OFTEN_CHANGED, "section-3"),
    "sometimes changed": (_SOMETIMES_CHANGED, "section-3"),
    "changed by the first commit alone": (_NEVER_CHANGED, "section-3"),
    "a document": (_SOMETIMES_CHANGED, None),
}
"""The number of a document and the slug of a section (None for the full document), by title of the query."""


def make_document_path(number: int) -> str:
    """Return the path of a document, in one of 75 folders."""
    return f"area{number % 25:02}/part{number % 3}/doc{number}.md"


def make_document_bytes(number: int, versions: dict[int, int]) -> bytes:
    """Return the text of a document, with the version of each section."""
    document_parts = [f"# Document {number}\n\nIntroduction.\n"]
    for section in range(SECTION_COUNT):
        version = versions.get(section, 0)
        lines = (f"Line {line} of {section}, as of {version}.\n" for line in range(LINES_PER_SECTION))
        document_parts.append(f"\n## Section {section}\n\n" + "".join(lines))
    return "".join(document_parts).encode()


def make_fast_import_stream() -> Iterator[bytes]:
    """Yield the history as input of `git fast-import`."""
    rng = random.Random(7)
    versions: list[dict[int, int]] = [{} for _ in range(DOCUMENT_COUNT)]
    for commit in range(COMMIT_COUNT):
        numbers: Sequence[int] = range(DOCUMENT_COUNT)
        if commit:
            number = _OFTEN_CHANGED if commit % 50 == 0 else rng.randrange(1, DOCUMENT_COUNT)
            section = 3 if number in (_OFTEN_CHANGED, _SOMETIMES_CHANGED) else rng.randrange(SECTION_COUNT)
            versions[number][section] = commit
            numbers = [number]
        message = b"Edit %d\n" % commit
        yield b"commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n" % (
            1_600_000_000 + 60 * commit
        )
        yield b"data %d\n%b" % (len(message), message)
        for number in numbers:
            data = make_document_bytes(number, versions[number])
            yield b"M 100644 inline %b\ndata %d\n%b\n" % (
                make_document_path(number).encode(),
                len(data),
                data,
            )


def run_git(folder: Path, *arguments: str, data: bytes | None = None) -> None:
    """Run the git program. Raises CalledProcessError."""
    subprocess.run(["git", "-C", str(folder), *arguments], input=data, check=True, capture_output=True)


def write_repositories(folder: Path) -> dict[str, Path]:
    """Write the same history with packed and with loose objects; return both repositories."""
    packed_path, loose_path = folder / "packed", folder / "loose"
    for repository in (packed_path, loose_path):
        repository.mkdir()
        run_git(repository, "init", "-q", "--bare", "-b", "main")
    run_git(packed_path, "fast-import", "--quiet", data=b"".join(make_fast_import_stream()))
    run_git(packed_path, "gc", "-q")
    (pack,) = (packed_path / "objects" / "pack").glob("*.pack")
    run_git(loose_path, "unpack-objects", "-q", data=pack.read_bytes())
    tip = subprocess.check_output(["git", "-C", str(packed_path), "rev-parse", "main"], text=True).strip()
    run_git(loose_path, "update-ref", "refs/heads/main", tip)
    return {"packed": packed_path, "loose": loose_path}


def measure_once(repository: Path, query: str) -> dict[str, float]:
    """Return milliseconds of the first and the second run of a first page of history and of a blame."""
    from workspace.workspace import Workspace

    number, slug = QUERIES[query]
    workspace = Workspace.open(repository, read_only=True)
    snapshot, history, path = workspace.snapshot(), workspace.history(), make_document_path(number)
    return {
        "first page": 1e3 * measure_seconds(lambda: history.changes(snapshot, path, slug)),
        "first page, second run": 1e3 * measure_seconds(lambda: history.changes(snapshot, path, slug)),
        "blame": 1e3 * measure_seconds(lambda: history.blame(snapshot, path, slug)),
        "blame, second run": 1e3 * measure_seconds(lambda: history.blame(snapshot, path, slug)),
    }


def measure_query(repository: Path, query: str) -> dict[str, float]:
    """Return the shortest times of three processes, in milliseconds: other programs affect them the least."""
    command = [sys.executable, "-m", "benchmarks.git.history", "--measure-once", str(repository), query]
    rounds: list[dict[str, Any]] = [json.loads(subprocess.check_output(command)) for _ in range(ROUND_COUNT)]
    return {name: min(times[name] for times in rounds) for name in rounds[0]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a first page or a second blame takes over 300 ms."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.git.history")
    parser.add_argument("--measure-once", nargs=2, metavar=("REPOSITORY", "QUERY"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure_once:
        print(json.dumps(measure_once(Path(options.measure_once[0]), options.measure_once[1])))
        return 0
    is_slow = False
    with tempfile.TemporaryDirectory(prefix="docyard-history-") as folder:
        for kind, repository in write_repositories(Path(folder)).items():
            for query in QUERIES:
                times = measure_query(repository, query)
                is_slow |= times["first page"] > LIMIT_MS or times["blame, second run"] > LIMIT_MS
                line = ", ".join(f"{name} {time:.0f} ms" for name, time in times.items())
                print(f"{kind}, {query}: {line}")
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
