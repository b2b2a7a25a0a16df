"""Five proposals of two agents over ten documents, from the first write to a fresh clone with their words."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import repositories, warm
from tests.acceptance.server import Server, serving, surroundings
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
    """Somebody at a terminal, in the repository's folder, with a token."""

    def __init__(self, repo: Repo, home: Path) -> None:
        self._folder = repo.path
        self._variables = {**surroundings(home), "COLUMNS": "100"}

    def adopts(self, secret: str) -> None:
        """From now on the token is in the person's environment."""
        self._variables["DOCYARD_TOKEN"] = secret

    def does(self, *arguments: str, exit_code: int = 0) -> str:
        """Runs a command of docyard, and returns what it prints."""
        done = subprocess.run(
            [*warm.python(), "-m", "docyard", *arguments],
            cwd=self._folder,
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def asks(self, *arguments: str) -> Any:
        """What a command prints as data."""
        return json.loads(self.does(*arguments, "--json"))


class Scene(NamedTuple):
    """A repository, two agents that serve it to themselves, one by the older protocol, and a person."""

    repo: Repo
    one: Server
    other: Server
    person: Person
    home: Path


@pytest.fixture
def scene(tmp_path: Path, home: Path) -> Iterator[Scene]:
    documents = {f"specs/service-{number}.md": DOCUMENT.format(number=number) for number in range(10)}
    repo = repositories.normal(tmp_path / "repo", {**documents, "docyard.toml": SETTINGS})
    with serving(repo.path, home) as one, serving(repo.path, home, era="legacy") as other:
        yield Scene(repo, one, other, Person(repo, home), home)


def specification(number: int) -> str:
    """The path of a document."""
    return f"specs/service-{number}.md"


def does(agent: Server, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers to a call that succeeds."""
    reply = agent.call(tool, **arguments)
    assert not reply.is_error, reply.data
    assert reply.data["next_step"]
    return reply.data


def opened(agent: Server, title: str, *operations: dict[str, Any]) -> str:
    """A proposal with some edits, submitted."""
    id: str = does(agent, "create_proposal", title=title, description=f"Because of {title}.")["proposal"]
    does(agent, "edit_document", proposal=id, operations=list(operations), mode="all")
    does(agent, "update_proposal", proposal=id, action="submit")
    return id


def section(number: int, slug: str, content: str) -> dict[str, Any]:
    """An edit that replaces the text of a section that the agent has read."""
    return {
        "operation": "replace_text",
        "file": specification(number),
        "slug": slug,
        "old": "A hundred requests." if slug == "limits" else "None are retried.",
        "new": content,
    }


def test_from_two_agents_to_a_fresh_clone(scene: Scene, tmp_path: Path) -> None:
    one, other, person = scene.one, scene.other, scene.person

    # Two agents make five proposals; the last is a direct write of what is protected.
    limits = opened(
        one,
        "Raise the limits",
        section(0, "limits", "Two hundred requests."),
        section(1, "limits", "Two hundred requests."),
        section(2, "limits", "Two hundred requests."),
    )
    lower = opened(
        other,
        "Lower the limits",
        section(2, "limits", "Fifty requests."),
        section(3, "limits", "Fifty requests."),
    )
    errors = opened(
        other, "Retry errors", section(4, "errors", "All are."), section(5, "errors", "Some are.")
    )
    tasks = does(one, "create_proposal", title="🎉 Measured", description="", submit=True)["proposal"]
    for number in (6, 7):
        does(one, "complete_task", proposal=tasks, file=specification(number), slug="tasks[0]")
    answer = does(
        other,
        "edit_document",
        operations=[
            section(8, "limits", "None."),
            section(9, "limits", "None."),
            section(2, "errors", "All."),
        ],
        mode="all",
        idempotency_key="direct",
    )
    direct = answer["proposal"]
    assert sorted(answer["protected"]) == [specification(2), specification(8), specification(9)]
    assert scene.repo.git("log", "--format=%s", "main") == "First\n"
    does(other, "update_proposal", proposal=direct, action="submit")
    every = [direct, tasks, errors, lower, limits]
    assert [found["proposal"] for found in does(one, "view_proposal")["proposals"]] == every

    # They are told where they meet, and what a proposal adds is found there alone.
    overlaps = does(other, "view_proposal", proposal=lower)["overlaps"]
    assert [found["proposal"] for found in overlaps] == [limits]
    assert overlaps[0]["addresses"] == [f"{specification(2)}#limits"]
    there = does(other, "search_docs", query="fifty requests", ref=lower)
    assert specification(3) in json.dumps(there)
    assert "Fifty" not in json.dumps(does(other, "search_docs", query="fifty requests"))

    # A person reviews on the command line.
    assert "Raise the limits" in person.does("proposals", "list")
    shown = person.does("proposals", "show", limits)
    assert "{+Two+} hundred requests" in shown
    assert lower in shown
    secret = person.does("tokens", "add", "ana", "--name", "Ana Li", "--email", "ana@example.org")
    found = re.search(r"docyard_ana_\w+", secret)
    assert found is not None
    person.adopts(found[0])
    person.does(
        "proposals", "comment", limits, f"{specification(0)}#limits", "-m", "Per minute?",
        "--quote", "Two hundred",
    )  # fmt: skip
    person.does("proposals", "request-changes", limits, "-m", "Say per what.")
    blocked = one.call("update_proposal", proposal=limits, action="merge")
    assert blocked.is_error

    # The agent answers, and the section that was commented on moves.
    seen = does(one, "view_proposal", proposal=limits)
    assert seen["state"] == "changes_requested"
    remark = seen["comments"][0]
    assert remark["text"] == "Per minute?"
    does(
        one,
        "edit_document",
        proposal=limits,
        operations=[
            {
                **section(0, "limits", ""),
                "old": "Two hundred requests.",
                "new": "Two hundred requests a minute.",
            },
            {"operation": "move_section", "file": specification(0), "slug": "limits", "after": "errors"},
        ],
        mode="all",
    )
    does(one, "update_proposal", proposal=limits, action="comment", text="Yes.", reply_to=remark["comment"])
    does(one, "update_proposal", proposal=limits, action="submit")
    refused = one.call("update_proposal", proposal=limits, action="approve")
    assert refused.is_error
    assert refused.data["code"] == "NEEDS_PERSON"

    # Approved, and merged; what the other agent proposes is in conflict now, and says so before anyone tries.
    person.does("proposals", "approve", limits, "-m", "Good.")
    person.does("proposals", "merge", limits)
    assert scene.repo.git("show", f"main:{specification(1)}").count("Two hundred requests.") == 1
    preview = does(other, "view_proposal", proposal=lower)
    [conflict] = preview["conflicts"]
    assert (conflict["file"], conflict["where"]) == (specification(2), "limits")
    assert conflict["base"].strip(), conflict
    person.does("proposals", "approve", lower)
    assert "conflict" in person.does("proposals", "merge", lower, exit_code=1).lower()
    decided = {
        name: value for name, value in conflict.items() if name in ("file", "kind", "where", "part")
    } | {"choice": "content", "content": "Between fifty and two hundred requests.\n"}
    seen = {name: preview[name] for name in ("commit", "target_commit")}
    does(other, "update_proposal", proposal=lower, action="refresh", resolutions=[decided], **seen)
    [review] = does(other, "view_proposal", proposal=lower)["reviews"]
    assert (review["holds"], review["void"]) == (False, "outdated")
    for id in (lower, errors, tasks, direct):
        person.does("proposals", "approve", id)
        person.does("proposals", "merge", id)
    text = scene.repo.git("show", f"main:{specification(2)}")
    assert "Between fifty and two hundred requests." in text
    assert "\nAll.\n" in text
    assert "<<<<" not in text

    # The history reads well, and says who approved nothing twice: a merge for each proposal, in order.
    graph = scene.repo.git("log", "--graph", "--oneline", "main")
    way = scene.repo.git("log", "--first-parent", "--format=%s", "main").splitlines()
    assert len(way) == 1 + len(every), graph
    assert "🎉 Measured" in way[1], graph
    assert scene.repo.git("fsck", "--strict") == ""

    # An ordinary clone has every proposal with its words.
    scene.repo.git("clone", "-q", str(scene.repo.path), str(tmp_path / "clone"))
    newcomer = Person(Repo(tmp_path / "clone"), scene.home)
    listed = newcomer.asks("proposals", "list", "--state", "all")["proposals"]
    assert {found["proposal"]: found["state"] for found in listed} == dict.fromkeys(every, "merged")
    words = newcomer.does("proposals", "show", limits)
    for said in ("Because of Raise the limits.", "Per minute?", "Yes.", "Say per what.", "Good.", "Ana Li"):
        assert said in words
