"""A realistic workspace: documents with a history, proposals of agents, and reviews of people.

Tests and the screenshots in docs/ use this workspace.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.browser.chart import draw_chart
from tests.browser.page_server import PageServer, start_page_server
from tests.repositories import Repo, create_empty_repository
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, KnownBy, ReviewDecision
from workspace.workspace import Workspace

DOCUMENTS = Path(__file__).with_name("workspace")
RULES = '[[protect]]\npaths = ["api/**"]\napprovers = ["ana", "ben"]\n'
_PEOPLE = {"Mira": "Mira Holt <mira@harbor.example>", "Jonas": "Jonas Berg <jonas@harbor.example>"}
_FIRST_DAY = 1_788_250_000  # a day in September 2026, the first of the history


@dataclass(frozen=True, slots=True)
class Story:
    """The server, the tokens of two reviewers, and the ids of proposals by subject."""

    server: PageServer
    ana: str
    ben: str
    proposals: Mapping[str, str]


def read_documents() -> dict[str, str | bytes]:
    """Return the final files of the workspace, by path."""
    files: dict[str, str | bytes] = {
        path.relative_to(DOCUMENTS).as_posix(): path.read_text("utf-8") for path in DOCUMENTS.rglob("*.md")
    }
    months = (88, 89, 91, 90, 92, 92, 94, 95)
    return {**files, "product/within-the-hour.png": draw_chart(months, 80, 97), "docyard.toml": RULES}


def create_repository(folder: Path) -> Repo:
    """Create the workspace with a history of two authors on several days."""
    repo = create_empty_repository(folder)
    files = read_documents()
    roadmap, tracking = str(files["product/roadmap.md"]), str(files["api/tracking.md"])
    first_files = {
        **files,
        "product/roadmap.md": roadmap.replace("- [x] Webhooks", "- [ ] Webhooks").replace("- An app\n", ""),
        "api/tracking.md": tracking.replace("10 times a second", "5 times a second").replace(
            "- [x]", "- [ ]"
        ),
    }
    first_files.pop("operations/incidents.md")
    _commit(repo, first_files, "Begin the workspace", "Mira", 0)
    _commit(
        repo,
        {"operations/incidents.md": files["operations/incidents.md"]},
        "Write down incidents",
        "Jonas",
        3,
    )
    _commit(
        repo,
        {"api/tracking.md": tracking.replace("- [x]", "- [ ]")},
        "Twice as many requests: the new machines can take it",
        "Mira",
        9,
    )
    _commit(
        repo,
        {"product/roadmap.md": roadmap, "api/tracking.md": tracking},
        "Webhooks are there, and every error is described",
        "Jonas",
        16,
    )
    return repo


def _commit(repo: Repo, files: Mapping[str, str | bytes], message: str, author: str, day: int) -> None:
    repo.write(files)
    repo.git("add", "-A")
    date = f"{_FIRST_DAY + 86_400 * day + 3_701 * (day % 5)} +0200"
    name, _, email = _PEOPLE[author].rstrip(">").partition(" <")
    identity = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", name), ("EMAIL", email), ("DATE", date))
    }
    subprocess.run(
        ["git", "commit", "-q", "-m", message], cwd=repo.path, env={**os.environ, **identity}, check=True
    )


@contextmanager
def serve_story(folder: Path) -> Iterator[Story]:
    """Serve the workspace with two proposals of an agent, of which one has a conflict."""
    repo = create_repository(folder / "harbor")
    tokens = Tokens(repo.path / ".git")
    ana = tokens.add("ana", "Ana Li", "ana@harbor.example")
    ben = tokens.add("ben", "Ben Ode", "ben@harbor.example")
    with start_page_server(repo, folder / "home") as server:
        with server.agent() as agent:
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
        changed = str(read_documents()["api/tracking.md"]).replace("10 times a second", "12 times a second")
        _commit(repo, {"api/tracking.md": changed}, "Twelve requests a second, as measured", "Mira", 20)
        yield Story(server, ana, ben, {"retries": retries, "limits": limits})


def answer_review(story: Story) -> None:
    """Respond to a change request as the agent: change the text, add a comment, and submit again."""
    with story.server.agent() as agent:
        name = story.proposals["retries"]
        view = agent.call("view_proposal", proposal=name)
        assert view["state"] == "changes_requested", view["state"]
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


def add_review(story: Story) -> None:
    """Add a comment on a section and a change request, as Ana."""
    workspace = Workspace.open(story.server.repo.path, durable=False)
    person = Tokens(workspace.git.common_dir).person(story.ana)
    author = Author(person.name, person.email, KnownBy.TOKEN, person.token)
    actor = Actor(author, "page", "page", person)
    name = story.proposals["retries"]
    proposal_actions = workspace.proposal_actions()
    proposal_actions.comment(
        name, actor, "Always the *same* second?", file="api/retries.md", slug="backoff", quote="a second"
    )
    proposal_actions.review(
        name, actor, ReviewDecision.REQUEST_CHANGES, "Say how the wait grows, and where it ends."
    )
