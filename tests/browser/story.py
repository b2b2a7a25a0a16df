"""A believable workspace: documents with a past, and what agents proposed and people said of it.

Tests act in it, and the pictures in docs/ are taken of it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.browser.chart import chart
from tests.browser.served import Served, serving
from tests.repositories import Repo, unborn
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, KnownBy, ReviewDecision
from workspace.workspace import Workspace

DOCUMENTS = Path(__file__).with_name("workspace")
RULES = '[[protect]]\npaths = ["api/**"]\napprovers = ["ana", "ben"]\n'
_PEOPLE = {"Mira": "Mira Holt <mira@harbor.example>", "Jonas": "Jonas Berg <jonas@harbor.example>"}
_FIRST_DAY = 1_788_250_000  # a day in September 2026; the past goes on from there


@dataclass(frozen=True, slots=True)
class Story:
    """The server, the secrets by which two reviewers sign in, and the ids of proposals by their subjects."""

    served: Served
    ana: str
    ben: str
    proposals: Mapping[str, str]


def documents() -> dict[str, str | bytes]:
    """The files of the workspace as they end up, by path."""
    files: dict[str, str | bytes] = {
        path.relative_to(DOCUMENTS).as_posix(): path.read_text("utf-8") for path in DOCUMENTS.rglob("*.md")
    }
    months = (88, 89, 91, 90, 92, 92, 94, 95)
    return {**files, "product/within-the-hour.png": chart(months, 80, 97), "docyard.toml": RULES}


def repository(folder: Path) -> Repo:
    """The workspace with a past: written by two people, on several days."""
    repo = unborn(folder)
    files = documents()
    plan, api = str(files["product/roadmap.md"]), str(files["api/tracking.md"])
    young = {
        **files,
        "product/roadmap.md": plan.replace("- [x] Webhooks", "- [ ] Webhooks").replace("- An app\n", ""),
        "api/tracking.md": api.replace("10 times a second", "5 times a second").replace("- [x]", "- [ ]"),
    }
    young.pop("operations/incidents.md")
    _commit(repo, young, "Begin the workspace", "Mira", 0)
    _commit(
        repo,
        {"operations/incidents.md": files["operations/incidents.md"]},
        "Write down incidents",
        "Jonas",
        3,
    )
    _commit(
        repo,
        {"api/tracking.md": api.replace("- [x]", "- [ ]")},
        "Twice as many requests: the new machines can take it",
        "Mira",
        9,
    )
    _commit(
        repo,
        {"product/roadmap.md": plan, "api/tracking.md": api},
        "Webhooks are there, and every error is described",
        "Jonas",
        16,
    )
    return repo


def _commit(repo: Repo, files: Mapping[str, str | bytes], message: str, who: str, day: int) -> None:
    repo.write(files)
    repo.git("add", "-A")
    date = f"{_FIRST_DAY + 86_400 * day + 3_701 * (day % 5)} +0200"
    name, _, email = _PEOPLE[who].rstrip(">").partition(" <")
    person = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", name), ("EMAIL", email), ("DATE", date))
    }
    subprocess.run(
        ["git", "commit", "-q", "-m", message], cwd=repo.path, env={**os.environ, **person}, check=True
    )


@contextmanager
def told(folder: Path) -> Iterator[Story]:
    """The workspace, served, with two proposals of an agent's, of which one is in conflict."""
    repo = repository(folder / "harbor")
    tokens = Tokens(repo.path / ".git")
    ana = tokens.add("ana", "Ana Li", "ana@harbor.example")
    ben = tokens.add("ben", "Ben Ode", "ben@harbor.example")
    with serving(repo, folder / "home") as served:
        with served.agent() as agent:
            retries = str(
                agent.call(
                    "create_proposal",
                    title="Say how retries back off",
                    description="Clients **must not** come back all at once. This names the waits, and "
                    "says what to do with `Retry-After`.",
                )["proposal"]
            )
            agent.call(
                "edit_document",
                proposal=retries,
                operations=[
                    {
                        "operation": "replace_text",
                        "file": "api/retries.md",
                        "old": "A client comes back at once.",
                        "new": "A client waits a second before it comes back.",
                    },
                    {
                        "operation": "add_section",
                        "file": "api/retries.md",
                        "title": "Being told to wait",
                        "content": "When an answer carries `Retry-After`, the client waits that long.\n\n"
                        "| Answer | Wait |\n|---|---|\n| `429` | What it says |\n| `503` | What it says |\n",
                    },
                ],
            )
            agent.call("update_proposal", proposal=retries, action="submit")
            limits = str(
                agent.call(
                    "create_proposal",
                    title="Raise the rate limit to 20",
                    description="The machines of August can take it.",
                )["proposal"]
            )
            agent.call(
                "edit_document",
                proposal=limits,
                file="api/tracking.md",
                operation="replace_text",
                old="10 times a second",
                new="20 times a second",
            )
            agent.call("update_proposal", proposal=limits, action="submit")
        changed = str(documents()["api/tracking.md"]).replace("10 times a second", "12 times a second")
        _commit(repo, {"api/tracking.md": changed}, "Twelve requests a second, as measured", "Mira", 20)
        yield Story(served, ana, ben, {"retries": retries, "limits": limits})


def answered(story: Story) -> None:
    """The agent reads what was asked for, changes the text, says so, and submits again."""
    with story.served.agent() as agent:
        name = story.proposals["retries"]
        asked = agent.call("view_proposal", proposal=name)
        assert asked["state"] == "changes_requested", asked["state"]
        agent.call(
            "edit_document",
            proposal=name,
            file="api/retries.md",
            operation="replace_text",
            old="waits a second before it comes back",
            new="waits a second, then two, then four",
        )
        agent.call("update_proposal", proposal=name, action="comment", text="It doubles now.")
        agent.call("update_proposal", proposal=name, action="submit")


def discussed(story: Story) -> None:
    """Ana has commented on a section of the proposal, and has asked for changes."""
    workspace = Workspace.open(story.served.repo.path, durable=False)
    person = Tokens(workspace.git.common_dir).person(story.ana)
    author = Author(person.name, person.email, KnownBy.TOKEN, person.token)
    actor = Actor(author, "page", "page", person)
    name = story.proposals["retries"]
    proposing = workspace.proposing()
    proposing.comment(
        name, actor, "Always the *same* second?", file="api/retries.md", slug="backoff", quote="a second"
    )
    proposing.review(
        name, actor, ReviewDecision.REQUEST_CHANGES, "Say how the wait grows, and where it ends."
    )
