"""The calls of the agent in the demonstration, the conditions on their responses, and the output.

Between the calls a person makes a commit. The commit is made with the git program, as people do; if the
program is not installed, Docyard writes the same commit.
"""

from __future__ import annotations

import difflib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.rule import Rule
from rich.text import Text

from docyard.terminal import styles
from docyard.terminal.console import create_console
from workspace.proposal_ids import derive_id

if TYPE_CHECKING:
    from workspace.git.objects import Commit

Data = Mapping[str, Any]
DOCUMENT = "search-api.md"
_IDEMPOTENCY_KEY = "demo-proposal"
PROPOSAL = derive_id(_IDEMPOTENCY_KEY)
"""The proposal of the demonstration, whose id is derived from the idempotency key."""

PERSONS_SECTION = (
    "\n## Rate Limiting\n\n"
    "Each key has a leaky bucket of 20 requests; the response to further requests is 429 with Retry-After.\n"
)
"""The section that a person adds to the document between two calls."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call: its purpose, and a condition on the data and text of its response.

    `fails` is true if the response must be an error.
    """

    purpose: str
    tool: str
    arguments: Data
    is_expected: Callable[[Data, str], bool]
    fails: bool = False


@dataclass(frozen=True, slots=True)
class PersonCommit:
    """A commit that a person makes between two calls."""

    purpose: str


STEPS: Sequence[Step | PersonCommit] = (
    Step(
        "List the document types",
        "create_document",
        {},
        lambda data, _: {"api_spec", "process_checklist", "review_cleanup"} <= set(data["doc_types"]),
    ),
    Step(
        "Read the guidance for a specification",
        "create_document",
        {"doc_type": "api_spec"},
        lambda data, _: bool(data["instructions"]) and "## Endpoints" in data["structure"],
    ),
    Step(
        "An invalid call returns the valid values and the usage",
        "create_document",
        {"doc_type": "invalid_type"},
        lambda data, _: "api_spec" in data["valid_types"] and bool(data["usage"]),
        fails=True,
    ),
    Step(
        "Create the document",
        "create_document",
        {
            "doc_type": "api_spec",
            "title": "Search API",
            "initial_content": "Full-text search over documents, ranked by relevance.",
        },
        lambda data, _: data["path"] == DOCUMENT and data["created"] is True,
    ),
    Step(
        "Make several changes in one call, which becomes one commit",
        "edit_document",
        {
            "operations": [
                {"operation": "add_section", "file": DOCUMENT, "title": "Endpoints"},
                {
                    "operation": "add_section",
                    "file": DOCUMENT,
                    "title": "Search",
                    "parent_slug": "endpoints",
                    "content": "`POST /v1/search` takes a query and returns a page of hits.",
                },
                {
                    "operation": "add_section",
                    "file": DOCUMENT,
                    "title": "Requirements",
                    "parent_slug": "endpoints/search",
                    "content": "The latency is at most 200 ms at the 99th percentile.",
                },
                {
                    "operation": "add_task",
                    "file": DOCUMENT,
                    "slug": "tasks",
                    "title": "Define schemas",
                    "criteria": "OpenAPI 3.1 compatible",
                },
                {"operation": "add_task", "file": DOCUMENT, "slug": "tasks", "title": "Measure the latency"},
            ]
        },
        lambda data, _: all(result["success"] for result in data["batch_results"]),
    ),
    Step(
        "View the document",
        "view_document",
        {"file": DOCUMENT},
        lambda data, _: data["sections"]["tasks"]["total"] == 2,
    ),
    Step(
        "Complete a task",
        "complete_task",
        {"file": DOCUMENT, "slug": "tasks[0]", "note": "Schemas validated"},
        lambda data, _: data["completed"] is True,
    ),
    Step(
        "Tag the document",
        "tag_document",
        {"file": DOCUMENT, "tags": ["backend", "search"]},
        lambda data, _: data["total_tags"] == 2,
    ),
    Step(
        "Find a document by its words",
        "search_documents",
        {"query": "latency requirements"},
        lambda data, _: any(match["slug"] == "endpoints/search/requirements" for match in data["matches"]),
    ),
    Step(
        "Read the section",
        "view_document",
        {"file": DOCUMENT, "slug": "endpoints/search/requirements"},
        lambda data, _: "200 ms" in data["content"],
    ),
    Step(
        "Search for a passage",
        "search_docs",
        {"query": "how fast must the search endpoint answer?", "limit": 3},
        lambda data, _: any(hit["filepath"] == DOCUMENT for hit in data["hits"]),
    ),
    Step(
        "Fetch the passage with its neighbours",
        "get_doc",
        {"chunk_id": f"{DOCUMENT}#endpoints/search/requirements", "context": 1},
        lambda _, text: "(Target) ---" in text and "(Context: -1) ---" in text,
    ),
    PersonCommit("A person adds a section in an editor and commits it"),
    Step(
        "The next search finds the person's words",
        "search_docs",
        {"query": "leaky bucket"},
        lambda data, _: data["hits"][0]["chunk_id"] == f"{DOCUMENT}#rate-limiting",
    ),
    Step(
        "The next edit preserves the person's section",
        "edit_document",
        {
            "operation": "add_task",
            "file": DOCUMENT,
            "slug": "tasks",
            "title": "Test the rate limit",
            "criteria": "The 21st request in a burst is refused",
        },
        lambda data, _: data["updated"] is True and data["task_index"] == 2,
    ),
    Step(
        "At the commit before the person's commit, the search has no hits",
        "search_docs",
        {"query": '"leaky bucket"', "ref": "HEAD~2"},
        lambda data, _: data["hits"] == [],
    ),
    Step(
        "List the commits that changed a section",
        "view_history",
        {"file": DOCUMENT, "slug": "tasks", "limit": 2},
        lambda data, _: data["history"][0]["tool"] == "edit_document",
    ),
    Step(
        "Undo the last commit with a new commit",
        "restore_document",
        {"undo": "HEAD"},
        lambda data, _: data["commit"] != data["undo"],
    ),
    Step(
        "Propose a change on a new branch",
        "create_proposal",
        {
            "title": "Promise a shorter latency",
            "description": "The new index answers within 120 ms.",
            "idempotency_key": _IDEMPOTENCY_KEY,
        },
        lambda data, _: data["proposal"] == PROPOSAL,
    ),
    Step(
        "Write to the proposal; the served branch does not change",
        "edit_document",
        {
            "operation": "replace_text",
            "file": DOCUMENT,
            "old": "200 ms",
            "new": "120 ms",
            "proposal": PROPOSAL,
        },
        lambda data, _: data["proposal"] == PROPOSAL and "overlaps" not in data,
    ),
    Step(
        "Request a review",
        "update_proposal",
        {"proposal": PROPOSAL, "action": "submit"},
        lambda data, _: data["state"] == "open",
    ),
    Step(
        "View the proposal as a reviewer does",
        "view_proposal",
        {"proposal": PROPOSAL},
        lambda data, text: "missing" not in data and "120 ms" in text,
    ),
    Step(
        "Merge the proposal; a protected document would need a person's approval",
        "update_proposal",
        {"proposal": PROPOSAL, "action": "merge"},
        lambda data, _: data["state"] == "merged",
    ),
)

_MAX_RESPONSE_LINES = 24
_MAX_LINE_LENGTH = 90  # characters; longer JSON is printed on several lines


class Screen:
    """The output of the demonstration: a line for each step, or each call with its response."""

    def __init__(self, shows_calls: bool) -> None:
        self.shows_calls = shows_calls
        self._console = create_console()
        self._step_number = 0

    def print_title(self, text: str) -> None:
        self._console.print(Rule(Text(text, style=styles.TITLE)))

    def print_note(self, text: str) -> None:
        self._console.print(Text(text, style=styles.MUTED))

    def print_step(self, tool: str, purpose: str, is_expected: bool) -> None:
        """Print a step in one line."""
        line = Text("✓ ", style=styles.PASSED) if is_expected else Text("✗ ", style=styles.ERROR)
        line.append(f"{tool:<17} ", style=styles.ADDRESS).append(purpose, style="default")
        self._console.print(line, soft_wrap=True)

    def print_person(self, purpose: str, command: str) -> None:
        """Print the commit of a person, which `command` made."""
        if self.shows_calls:
            self.print_note(command)
        else:
            self.print_step("git commit", purpose, True)

    def print_document(self, text: str) -> None:
        for line in text.splitlines():
            self._console.print(
                Text(line, style=styles.TITLE if line.startswith("#") else ""), soft_wrap=True
            )

    def print_diff(self, text: str) -> None:
        for line in text.splitlines():
            self._console.print(Text(line, style=styles.DIFF_LINES.get(line[:1], "")), soft_wrap=True)

    def print_purpose(self, text: str) -> None:
        if not self.shows_calls:
            return
        self._step_number += 1
        self._console.print(Text(f"\n{self._step_number}. {text}", style=styles.TITLE))

    def print_call(self, tool: str, arguments: Mapping[str, Any]) -> None:
        line = Text("→ ", style=styles.ADDRESS)
        line.append(tool, style=styles.ADDRESS_TITLE).append(" ").append(
            _format_json(arguments), style="default"
        )
        self._console.print(line)

    def print_response(self, data: Mapping[str, Any], text: str) -> None:
        lines = (_format_json(data) if _is_json(text) else text).splitlines()
        if len(lines) > _MAX_RESPONSE_LINES:
            lines = [*lines[:_MAX_RESPONSE_LINES], f"… {len(lines) - _MAX_RESPONSE_LINES} more lines"]
        self._console.print(Text("\n".join(f"  {line}" for line in lines), style=styles.MUTED))

    def print_verdict(self, is_expected: bool) -> None:
        self._console.print(
            Text("✓ as expected", style=styles.PASSED)
            if is_expected
            else Text("✗ not as expected", style=styles.ERROR)
        )

    def print_text(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)


def _format_json(data: Mapping[str, Any]) -> str:
    one_line = json.dumps(data, ensure_ascii=False)
    return one_line if len(one_line) <= _MAX_LINE_LENGTH else json.dumps(data, ensure_ascii=False, indent=2)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


PERSON_NAME, PERSON_EMAIL = "Dana Reader", "dana@example.com"
COMMIT_MESSAGE = "Describe the rate limit"

# The commit must not depend on the user's own Git settings.
_GIT_OPTIONS = (
    "-c",
    f"user.name={PERSON_NAME}",
    "-c",
    f"user.email={PERSON_EMAIL}",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.hooksPath=.git/no-hooks",
)


COMMIT_COMMAND = "git show -m --first-parent"
"""The command whose output is the last commit and its changes, also of a merge."""


def commit_as_person(folder: Path, variables: Mapping[str, str]) -> str:
    """Append a section to the document and commit it as a person.

    Return the text of the command, or a note if git is not installed.
    """
    program = shutil.which("git")
    if program is None:
        _commit_without_git(folder, DOCUMENT, PERSONS_SECTION)
        return "(git is not installed; the same commit was made without it)"
    with (folder / DOCUMENT).open("ab") as stream:
        stream.write(PERSONS_SECTION.encode())
    arguments = ("commit", "--quiet", "--all", "--message", COMMIT_MESSAGE)
    subprocess.run(
        (program, *_GIT_OPTIONS, *arguments), cwd=folder, env=variables, check=True, capture_output=True
    )
    return f'git commit --all --message "{COMMIT_MESSAGE}"'


def read_history(folder: Path, variables: Mapping[str, str]) -> str:
    """Return the output of `git log --stat`, or a similar text if git is not installed."""
    program = shutil.which("git")
    if program is None:
        return _read_history_without_git(folder)
    return _run_git(program, ("log", "--stat", "--no-color"), folder, variables)


def read_last_commit(folder: Path, variables: Mapping[str, str]) -> str:
    """Return the output of COMMIT_COMMAND, or a similar text if git is not installed."""
    program = shutil.which("git")
    if program is None:
        return _read_last_commit_without_git(folder)
    _, *arguments = COMMIT_COMMAND.split()
    return _run_git(program, (*arguments, "--no-color", "--no-ext-diff"), folder, variables)


def _run_git(program: str, arguments: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
    process = subprocess.run(
        (program, "--no-pager", "-c", "log.showSignature=false", *arguments),
        cwd=folder,
        env=variables,
        check=True,
        capture_output=True,
    )
    return process.stdout.decode(errors="replace").rstrip()


def _commit_without_git(folder: Path, file: str, text: str) -> None:
    from workspace.git.objects import Signature
    from workspace.git.store import GitStore
    from workspace.publishing.batch import Batch
    from workspace.publishing.publish import publish
    from workspace.workspace import Workspace

    workspace = Workspace.open(folder, read_only=True)
    snapshot = workspace.snapshot()
    author = Signature(PERSON_NAME, PERSON_EMAIL, int(time.time()), 0)
    content = snapshot.read(file) + text.encode()
    batch = Batch(workspace.branch or "main", snapshot.commit, {file: content}, COMMIT_MESSAGE, author)
    publish(GitStore(folder), batch, durable=False)


def _read_history_without_git(folder: Path) -> str:
    from workspace.git import trees
    from workspace.git.ancestry import walk_first_parents
    from workspace.workspace import Workspace

    workspace = Workspace.open(folder, read_only=True)
    lines: list[str] = []
    git, tip = workspace.git, workspace.tip()
    for commit in walk_first_parents(git.commit, git.boundary, tip) if tip is not None else ():
        parent = workspace.git.commit(commit.parents[0]).tree if commit.parents else None
        lines += [
            *_format_commit(commit),
            *(f" {change.path}" for change in trees.diff_trees(workspace.git, parent, commit.tree)),
            "",
        ]
    return "\n".join(lines).rstrip()


def _read_last_commit_without_git(folder: Path) -> str:
    from workspace.workspace import Workspace

    workspace = Workspace.open(folder, read_only=True)
    commit = workspace.git.commit(str(workspace.tip()))
    before, after = (
        workspace.snapshot(version).read(DOCUMENT).decode().splitlines()
        for version in (commit.parents[0], commit.id)
    )
    diff = difflib.unified_diff(before, after, DOCUMENT, DOCUMENT, lineterm="")
    return "\n".join((*_format_commit(commit), *diff))


def _format_commit(commit: Commit) -> list[str]:
    """Return the head of a commit in the format of `git log`, with an empty line at its end."""
    time_text = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(commit.author.time))
    return [
        f"commit {commit.id}",
        f"Author: {commit.author.name} <{commit.author.email}>",
        f"Date:   {time_text}",
        "",
        *(f"    {line}".rstrip() for line in commit.message.strip().splitlines()),
        "",
    ]
