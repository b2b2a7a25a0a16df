"""Five proposals by two agents for ten documents, from the first write to a new clone."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import fork_server, repositories
from tests.acceptance.server import Server, build_user_environment, serve_repository
from tests.repositories import Repo

SETTINGS = '[[protect]]\npaths = ["specs/**"]\napprovals = 1\n'
DOCUMENT_TEMPLATE = """# Service {number}

What it does.

## Limits

A hundred requests.

## Errors

None are retried.

## Tasks

- [ ] Measure it
"""


class CommandLineUser:
    """A person who runs commands in a repository, with a token after a call of `use_token`."""

    def __init__(self, repo: Repo, home: Path) -> None:
        self._folder = repo.path
        self._variables = {**build_user_environment(home), "COLUMNS": "100"}

    def use_token(self, secret: str) -> None:
        """Set the token in the person's environment."""
        self._variables["DOCYARD_TOKEN"] = secret

    def run(self, *arguments: str, exit_code: int = 0) -> str:
        """Run a command of docyard, check its exit code, and return its output."""
        process = subprocess.run(
            [*fork_server.build_python_command(), "-m", "docyard", *arguments],
            cwd=self._folder,
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == exit_code, process.stdout + process.stderr
        return process.stdout + process.stderr

    def run_json(self, *arguments: str) -> Any:
        """Run a command with --json and return its data."""
        return json.loads(self.run(*arguments, "--json"))


class TwoAgentSetup(NamedTuple):
    """A repository, two agents with separate servers, and a person at the command line.

    The second agent uses the protocol version with a handshake.
    """

    repo: Repo
    first_agent: Server
    second_agent: Server
    person: CommandLineUser
    home: Path


@pytest.fixture
def setup(tmp_path: Path, home: Path) -> Iterator[TwoAgentSetup]:
    documents = {
        f"specs/service-{number}.md": DOCUMENT_TEMPLATE.format(number=number) for number in range(10)
    }
    repo = repositories.create_repository(tmp_path / "repo", {**documents, "docyard.toml": SETTINGS})
    with (
        serve_repository(repo.path, home) as first_agent,
        serve_repository(repo.path, home, protocol="legacy") as second_agent,
    ):
        yield TwoAgentSetup(repo, first_agent, second_agent, CommandLineUser(repo, home), home)


def make_path(number: int) -> str:
    """Return the path of a document."""
    return f"specs/service-{number}.md"


def call_tool(agent: Server, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, which must succeed, and return its data."""
    response = agent.call(tool, **arguments)
    assert not response.is_error, response.data
    assert tool == "search_docs" or "operations" in arguments or response.data["next_step"]
    return response.data


def open_proposal(agent: Server, title: str, *operations: dict[str, Any]) -> str:
    """Create and submit a proposal with edits; return its id."""
    id: str = call_tool(agent, "create_proposal", title=title, description=f"Because of {title}.")["proposal"]
    call_tool(agent, "edit_document", proposal=id, operations=list(operations), mode="all")
    call_tool(agent, "update_proposal", proposal=id, action="submit")
    return id


def make_section_edit(number: int, slug: str, content: str) -> dict[str, Any]:
    """Return an edit that replaces the initial text of a section."""
    return {
        "operation": "replace_text",
        "file": make_path(number),
        "slug": slug,
        "old": "A hundred requests." if slug == "limits" else "None are retried.",
        "new": content,
    }


def test_new_clone_contains_proposals_of_two_agents(setup: TwoAgentSetup, tmp_path: Path) -> None:
    first_agent, second_agent, person = setup.first_agent, setup.second_agent, setup.person

    # Two agents make five proposals, the last by a direct write to a protected path.
    raise_id = open_proposal(
        first_agent,
        "Raise the limits",
        make_section_edit(0, "limits", "Two hundred requests."),
        make_section_edit(1, "limits", "Two hundred requests."),
        make_section_edit(2, "limits", "Two hundred requests."),
    )
    lower_id = open_proposal(
        second_agent,
        "Lower the limits",
        make_section_edit(2, "limits", "Fifty requests."),
        make_section_edit(3, "limits", "Fifty requests."),
    )
    errors_id = open_proposal(
        second_agent,
        "Retry errors",
        make_section_edit(4, "errors", "All are."),
        make_section_edit(5, "errors", "Some are."),
    )
    tasks_id = call_tool(first_agent, "create_proposal", title="🎉 Measured", description="", submit=True)[
        "proposal"
    ]
    for number in (6, 7):
        call_tool(first_agent, "complete_task", proposal=tasks_id, file=make_path(number), slug="tasks[0]")
    response = call_tool(
        second_agent,
        "edit_document",
        operations=[
            make_section_edit(8, "limits", "None."),
            make_section_edit(9, "limits", "None."),
            make_section_edit(2, "errors", "All."),
        ],
        mode="all",
        idempotency_key="direct",
    )
    direct_id = response["proposal"]
    assert sorted(response["protected"]) == [make_path(2), make_path(8), make_path(9)]
    assert setup.repo.git("log", "--format=%s", "main") == "First\n"
    call_tool(second_agent, "update_proposal", proposal=direct_id, action="submit")
    expected_ids = [direct_id, tasks_id, errors_id, lower_id, raise_id]
    proposals = call_tool(first_agent, "view_proposal")["proposals"]
    assert [entry["proposal"] for entry in proposals] == expected_ids

    # Overlaps are reported, and a search in a proposal finds its additions.
    overlaps = call_tool(second_agent, "view_proposal", proposal=lower_id)["overlaps"]
    assert [overlap["proposal"] for overlap in overlaps] == [raise_id]
    assert overlaps[0]["addresses"] == [f"{make_path(2)}#limits"]
    results = call_tool(second_agent, "search_docs", query="fifty requests", ref=lower_id)
    assert make_path(3) in json.dumps(results)
    assert "Fifty" not in json.dumps(call_tool(second_agent, "search_docs", query="fifty requests"))

    # A person reviews on the command line.
    assert "Raise the limits" in person.run("proposals", "list")
    output = person.run("proposals", "show", raise_id)
    assert "{+Two+} hundred requests" in output
    assert lower_id in output
    output = person.run("tokens", "add", "ana", "--name", "Ana Li", "--email", "ana@example.org")
    match = re.search(r"docyard_ana_\w+", output)
    assert match is not None
    person.use_token(match[0])
    person.run(
        "proposals", "comment", raise_id, f"{make_path(0)}#limits", "-m", "Per minute?",
        "--quote", "Two hundred",
    )  # fmt: skip
    person.run("proposals", "request-changes", raise_id, "-m", "Say per what.")
    merge_response = first_agent.call("update_proposal", proposal=raise_id, action="merge")
    assert merge_response.is_error

    # The agent replies, and moves the section of the comment.
    view = call_tool(first_agent, "view_proposal", proposal=raise_id)
    assert view["state"] == "changes_requested"
    comment = view["comments"][0]
    assert comment["text"] == "Per minute?"
    call_tool(
        first_agent,
        "edit_document",
        proposal=raise_id,
        operations=[
            {
                **make_section_edit(0, "limits", ""),
                "old": "Two hundred requests.",
                "new": "Two hundred requests a minute.",
            },
            {"operation": "move_section", "file": make_path(0), "slug": "limits", "after": "errors"},
        ],
        mode="all",
    )
    call_tool(
        first_agent,
        "update_proposal",
        proposal=raise_id,
        action="comment",
        text="Yes.",
        reply_to=comment["comment"],
    )
    call_tool(first_agent, "update_proposal", proposal=raise_id, action="submit")
    approval_response = first_agent.call("update_proposal", proposal=raise_id, action="approve")
    assert approval_response.is_error
    assert approval_response.data["code"] == "NEEDS_PERSON"

    # After the merge, the proposal of the second agent has a conflict, and its view contains the conflict.
    person.run("proposals", "approve", raise_id, "-m", "Good.")
    person.run("proposals", "merge", raise_id)
    assert setup.repo.git("show", f"main:{make_path(1)}").count("Two hundred requests.") == 1
    conflict_view = call_tool(second_agent, "view_proposal", proposal=lower_id)
    [conflict] = conflict_view["conflicts"]
    assert (conflict["file"], conflict["where"]) == (make_path(2), "limits")
    assert conflict["base"].strip(), conflict
    person.run("proposals", "approve", lower_id)
    assert "conflict" in person.run("proposals", "merge", lower_id, exit_code=1).lower()
    resolution = {
        name: value for name, value in conflict.items() if name in ("file", "kind", "where", "part")
    } | {"choice": "content", "content": "Between fifty and two hundred requests.\n"}
    commits = {name: conflict_view[name] for name in ("commit", "target_commit")}
    call_tool(
        second_agent,
        "update_proposal",
        proposal=lower_id,
        action="refresh",
        resolutions=[resolution],
        **commits,
    )
    [review] = call_tool(second_agent, "view_proposal", proposal=lower_id)["reviews"]
    assert (review["holds"], review["void"]) == (False, "outdated")
    for id in (lower_id, errors_id, tasks_id, direct_id):
        person.run("proposals", "approve", id)
        person.run("proposals", "merge", id)
    text = setup.repo.git("show", f"main:{make_path(2)}")
    assert "Between fifty and two hundred requests." in text
    assert "\nAll.\n" in text
    assert "<<<<" not in text

    # The history has one merge for each proposal.
    graph = setup.repo.git("log", "--graph", "--oneline", "main")
    subjects = setup.repo.git("log", "--first-parent", "--format=%s", "main").splitlines()
    assert len(subjects) == 1 + len(expected_ids), graph
    assert "🎉 Measured" in subjects[1], graph
    assert setup.repo.git("fsck", "--strict") == ""

    # A new clone contains each proposal with its discussion.
    setup.repo.git("clone", "-q", str(setup.repo.path), str(tmp_path / "clone"))
    clone_person = CommandLineUser(Repo(tmp_path / "clone"), setup.home)
    proposals = clone_person.run_json("proposals", "list", "--state", "all")["proposals"]
    assert {entry["proposal"]: entry["state"] for entry in proposals} == dict.fromkeys(expected_ids, "merged")
    output = clone_person.run("proposals", "show", raise_id)
    for text in ("Because of Raise the limits.", "Per minute?", "Yes.", "Say per what.", "Good.", "Ana Li"):
        assert text in output
