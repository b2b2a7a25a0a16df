"""Five proposals of two agents on ten documents, from the first write to a fresh clone."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import preloaded, repositories
from tests.acceptance.server import Server, serving, user_environment
from tests.repositories import Repo

SETTINGS = '[[protect]]\npaths = ["specs/**"]\napprovals = 1\n'
DOCUMENT = """# Service {number}

What it does.

## Limits

A hundred requests.

## Errors

None are retried.

## Tasks

- [ ] Measure it
"""


class Person:
    """A person at a terminal in the repository, with a token."""

    def __init__(self, repo: Repo, home: Path) -> None:
        self._folder = repo.path
        self._variables = {**user_environment(home), "COLUMNS": "100"}

    def use_token(self, secret: str) -> None:
        """Set the token in the person's environment."""
        self._variables["DOCYARD_TOKEN"] = secret

    def run(self, *arguments: str, exit_code: int = 0) -> str:
        """Run a command of docyard and return its output."""
        completed = subprocess.run(
            [*preloaded.python_command(), "-m", "docyard", *arguments],
            cwd=self._folder,
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert completed.returncode == exit_code, completed.stdout + completed.stderr
        return completed.stdout + completed.stderr

    def run_json(self, *arguments: str) -> Any:
        """Run a command with --json and return its data."""
        return json.loads(self.run(*arguments, "--json"))


class Scene(NamedTuple):
    """A repository, two agents with their own servers, the second with the older protocol, and a person."""

    repo: Repo
    first_agent: Server
    second_agent: Server
    person: Person
    home: Path


@pytest.fixture
def scene(tmp_path: Path, home: Path) -> Iterator[Scene]:
    documents = {f"specs/service-{number}.md": DOCUMENT.format(number=number) for number in range(10)}
    repo = repositories.create_repository(tmp_path / "repo", {**documents, "docyard.toml": SETTINGS})
    with serving(repo.path, home) as first_agent, serving(repo.path, home, protocol="legacy") as second_agent:
        yield Scene(repo, first_agent, second_agent, Person(repo, home), home)


def document_path(number: int) -> str:
    """Return the path of a document."""
    return f"specs/service-{number}.md"


def call_tool(agent: Server, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, which must succeed, and return its data."""
    reply = agent.call(tool, **arguments)
    assert not reply.is_error, reply.data
    assert reply.data["next_step"]
    return reply.data


def open_proposal(agent: Server, title: str, *operations: dict[str, Any]) -> str:
    """Create and submit a proposal with some edits; return its id."""
    id: str = call_tool(agent, "create_proposal", title=title, description=f"Because of {title}.")["proposal"]
    call_tool(agent, "edit_document", proposal=id, operations=list(operations), mode="all")
    call_tool(agent, "update_proposal", proposal=id, action="submit")
    return id


def section_edit(number: int, slug: str, content: str) -> dict[str, Any]:
    """Return an edit that replaces a known text in a section."""
    return {
        "operation": "replace_text",
        "file": document_path(number),
        "slug": slug,
        "old": "A hundred requests." if slug == "limits" else "None are retried.",
        "new": content,
    }


def test_proposals_of_two_agents_arrive_in_a_fresh_clone(scene: Scene, tmp_path: Path) -> None:
    first_agent, second_agent, person = scene.first_agent, scene.second_agent, scene.person

    # Two agents make five proposals; the last is a direct write to a protected path.
    limits = open_proposal(
        first_agent,
        "Raise the limits",
        section_edit(0, "limits", "Two hundred requests."),
        section_edit(1, "limits", "Two hundred requests."),
        section_edit(2, "limits", "Two hundred requests."),
    )
    lower = open_proposal(
        second_agent,
        "Lower the limits",
        section_edit(2, "limits", "Fifty requests."),
        section_edit(3, "limits", "Fifty requests."),
    )
    errors = open_proposal(
        second_agent,
        "Retry errors",
        section_edit(4, "errors", "All are."),
        section_edit(5, "errors", "Some are."),
    )
    tasks = call_tool(first_agent, "create_proposal", title="🎉 Measured", description="", submit=True)[
        "proposal"
    ]
    for number in (6, 7):
        call_tool(first_agent, "complete_task", proposal=tasks, file=document_path(number), slug="tasks[0]")
    response = call_tool(
        second_agent,
        "edit_document",
        operations=[
            section_edit(8, "limits", "None."),
            section_edit(9, "limits", "None."),
            section_edit(2, "errors", "All."),
        ],
        mode="all",
        idempotency_key="direct",
    )
    direct = response["proposal"]
    assert sorted(response["protected"]) == [document_path(2), document_path(8), document_path(9)]
    assert scene.repo.git("log", "--format=%s", "main") == "First\n"
    call_tool(second_agent, "update_proposal", proposal=direct, action="submit")
    expected_ids = [direct, tasks, errors, lower, limits]
    assert [item["proposal"] for item in call_tool(first_agent, "view_proposal")["proposals"]] == expected_ids

    # Overlaps are reported, and a search in a proposal finds its additions.
    overlaps = call_tool(second_agent, "view_proposal", proposal=lower)["overlaps"]
    assert [item["proposal"] for item in overlaps] == [limits]
    assert overlaps[0]["addresses"] == [f"{document_path(2)}#limits"]
    results = call_tool(second_agent, "search_docs", query="fifty requests", ref=lower)
    assert document_path(3) in json.dumps(results)
    assert "Fifty" not in json.dumps(call_tool(second_agent, "search_docs", query="fifty requests"))

    # A person reviews on the command line.
    assert "Raise the limits" in person.run("proposals", "list")
    page = person.run("proposals", "show", limits)
    assert "{+Two+} hundred requests" in page
    assert lower in page
    output = person.run("tokens", "add", "ana", "--name", "Ana Li", "--email", "ana@example.org")
    match = re.search(r"docyard_ana_\w+", output)
    assert match is not None
    person.use_token(match[0])
    person.run(
        "proposals", "comment", limits, f"{document_path(0)}#limits", "-m", "Per minute?",
        "--quote", "Two hundred",
    )  # fmt: skip
    person.run("proposals", "request-changes", limits, "-m", "Say per what.")
    blocked = first_agent.call("update_proposal", proposal=limits, action="merge")
    assert blocked.is_error

    # The agent replies, and moves the section of the comment.
    view = call_tool(first_agent, "view_proposal", proposal=limits)
    assert view["state"] == "changes_requested"
    comment = view["comments"][0]
    assert comment["text"] == "Per minute?"
    call_tool(
        first_agent,
        "edit_document",
        proposal=limits,
        operations=[
            {
                **section_edit(0, "limits", ""),
                "old": "Two hundred requests.",
                "new": "Two hundred requests a minute.",
            },
            {"operation": "move_section", "file": document_path(0), "slug": "limits", "after": "errors"},
        ],
        mode="all",
    )
    call_tool(
        first_agent,
        "update_proposal",
        proposal=limits,
        action="comment",
        text="Yes.",
        reply_to=comment["comment"],
    )
    call_tool(first_agent, "update_proposal", proposal=limits, action="submit")
    refused = first_agent.call("update_proposal", proposal=limits, action="approve")
    assert refused.is_error
    assert refused.data["code"] == "NEEDS_PERSON"

    # After the merge, the proposal of the second agent has a conflict, and its view contains the conflict.
    person.run("proposals", "approve", limits, "-m", "Good.")
    person.run("proposals", "merge", limits)
    assert scene.repo.git("show", f"main:{document_path(1)}").count("Two hundred requests.") == 1
    preview = call_tool(second_agent, "view_proposal", proposal=lower)
    [conflict] = preview["conflicts"]
    assert (conflict["file"], conflict["where"]) == (document_path(2), "limits")
    assert conflict["base"].strip(), conflict
    person.run("proposals", "approve", lower)
    assert "conflict" in person.run("proposals", "merge", lower, exit_code=1).lower()
    resolution = {
        name: value for name, value in conflict.items() if name in ("file", "kind", "where", "part")
    } | {"choice": "content", "content": "Between fifty and two hundred requests.\n"}
    commits = {name: preview[name] for name in ("commit", "target_commit")}
    call_tool(
        second_agent, "update_proposal", proposal=lower, action="refresh", resolutions=[resolution], **commits
    )
    [review] = call_tool(second_agent, "view_proposal", proposal=lower)["reviews"]
    assert (review["holds"], review["void"]) == (False, "outdated")
    for id in (lower, errors, tasks, direct):
        person.run("proposals", "approve", id)
        person.run("proposals", "merge", id)
    text = scene.repo.git("show", f"main:{document_path(2)}")
    assert "Between fifty and two hundred requests." in text
    assert "\nAll.\n" in text
    assert "<<<<" not in text

    # The history has one merge for each proposal, in order, with its approvers.
    graph = scene.repo.git("log", "--graph", "--oneline", "main")
    subjects = scene.repo.git("log", "--first-parent", "--format=%s", "main").splitlines()
    assert len(subjects) == 1 + len(expected_ids), graph
    assert "🎉 Measured" in subjects[1], graph
    assert scene.repo.git("fsck", "--strict") == ""

    # An ordinary clone has expected_ids proposal with its discussion.
    scene.repo.git("clone", "-q", str(scene.repo.path), str(tmp_path / "clone"))
    clone_person = Person(Repo(tmp_path / "clone"), scene.home)
    proposals = clone_person.run_json("proposals", "list", "--state", "all")["proposals"]
    assert {item["proposal"]: item["state"] for item in proposals} == dict.fromkeys(expected_ids, "merged")
    page = clone_person.run("proposals", "show", limits)
    for text in ("Because of Raise the limits.", "Per minute?", "Yes.", "Say per what.", "Good.", "Ana Li"):
        assert text in page
