"""A realistic workspace: documents with a history, proposals by agents, and reviews by people.

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
from workspace.proposals.events import Author, IdentitySource, ReviewDecision
from workspace.workspace import Workspace

DOCUMENTS_FOLDER = Path(__file__).with_name("workspace")
RULES = '[[protect]]\npaths = ["api/**"]\napprovers = ["ana", "ben"]\n'
CODE = {
    "services/windows/van.py": "STOPS = 1\n",
    "services/windows/hour.py": "HOURS = 1\n",
    "services/webhooks.py": "RETRY_DAYS = 1\n",
    "tests/test_page.py": "def test_req_1_needs_no_account(): ...\n\ndef test_req_3_is_retried(): ...\n",
}
_PEOPLE = {"Mira": "Mira Holt <mira@harbor.example>", "Jonas": "Jonas Berg <jonas@harbor.example>"}
_FIRST_DAY_S = 1_788_250_000  # seconds since 1970: the first day of the history, in September 2026
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class SampleSite:
    """The server, the tokens of two reviewers, and the ids of proposals by subject."""

    server: PageServer
    ana_token: str
    ben_token: str
    proposal_ids: Mapping[str, str]


def read_documents() -> dict[str, str | bytes]:
    """Return the final files of the workspace, by path."""
    files: dict[str, str | bytes] = {
        path.relative_to(DOCUMENTS_FOLDER).as_posix(): path.read_text("utf-8")
        for path in DOCUMENTS_FOLDER.rglob("*.md")
    }
    monthly_percentages = (88, 89, 91, 90, 92, 92, 94, 95)
    return {
        **files,
        "product/within-the-hour.png": draw_chart(monthly_percentages, lowest=80, highest=97),
        "docyard.toml": RULES,
        **CODE,
    }


def create_repository(folder: Path) -> Repo:
    """Create the workspace, with a history by two authors on several days."""
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
    _commit(
        repo,
        {"services/windows/van.py": "STOPS = 2\n", "services/windows/hour.py": "HOURS = 2\n"},
        "Compute windows from two stops",
        "Jonas",
        17,
    )
    _commit(repo, {"services/windows/van.py": "STOPS = 3\n"}, "Count the last stop, too", "Mira", 18)
    return repo


def _commit(repo: Repo, files: Mapping[str, str | bytes], message: str, author: str, day: int) -> None:
    repo.write(files)
    repo.git("add", "-A")
    seconds_into_day = 3_701 * (day % 5)  # so that the commits of the days have different times
    date = f"{_FIRST_DAY_S + _DAY_S * day + seconds_into_day} +0200"
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
def serve_sample_site(folder: Path) -> Iterator[SampleSite]:
    """Serve the workspace with two proposals by an agent; one proposal has a conflict."""
    repo = create_repository(folder / "harbor")
    tokens = Tokens(repo.path / ".git")
    ana_token = tokens.add("ana", "Ana Li", "ana@harbor.example")
    ben_token = tokens.add("ben", "Ben Ode", "ben@harbor.example")
    with start_page_server(repo, folder / "home") as server:
        with server.connect_agent() as agent:
            retries_id = str(
                agent.call(
                    "create_proposal",
                    title="Say how retries back off",
                    description="Clients **must not** come back all at once. This names the waits, and "
                    "says what to do with `Retry-After`.",
                )["proposal"]
            )
            agent.call(
                "edit_document",
                proposal=retries_id,
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
            agent.call("update_proposal", proposal=retries_id, action="submit")
            limits_id = str(
                agent.call(
                    "create_proposal",
                    title="Raise the rate limit to 20",
                    description="The machines of August can take it.",
                )["proposal"]
            )
            agent.call(
                "edit_document",
                proposal=limits_id,
                file="api/tracking.md",
                operation="replace_text",
                old="10 times a second",
                new="20 times a second",
            )
            agent.call("update_proposal", proposal=limits_id, action="submit")
        new_text = str(read_documents()["api/tracking.md"]).replace("10 times a second", "12 times a second")
        _commit(repo, {"api/tracking.md": new_text}, "Twelve requests a second, as measured", "Mira", 20)
        yield SampleSite(server, ana_token, ben_token, {"retries": retries_id, "limits": limits_id})


def answer_review(sample_site: SampleSite) -> None:
    """Respond to a change request, as the agent: change the text, add a comment, and submit again."""
    with sample_site.server.connect_agent() as agent:
        proposal_id = sample_site.proposal_ids["retries"]
        view = agent.call("view_proposal", proposal=proposal_id)
        assert view["state"] == "changes_requested", view["state"]
        agent.call(
            "edit_document",
            proposal=proposal_id,
            file="api/retries.md",
            operation="replace_text",
            old="waits a second before it comes back",
            new="waits a second, then two, then four",
        )
        agent.call("update_proposal", proposal=proposal_id, action="comment", text="It doubles now.")
        agent.call("update_proposal", proposal=proposal_id, action="submit")


def add_review(sample_site: SampleSite) -> None:
    """Add a comment on a section and a change request, as Ana."""
    workspace = Workspace.open(sample_site.server.repo.path, durable=False)
    person = Tokens(workspace.git.common_dir).person(sample_site.ana_token)
    author = Author(person.name, person.email, IdentitySource.TOKEN, person.token)
    actor = Actor(author, "page", "page", person)
    proposal_id = sample_site.proposal_ids["retries"]
    proposal_actions = workspace.proposal_actions()
    proposal_actions.comment(
        proposal_id,
        actor,
        "Always the *same* second?",
        file="api/retries.md",
        slug="backoff",
        quote="a second",
    )
    proposal_actions.review(
        proposal_id, actor, ReviewDecision.REQUEST_CHANGES, "Say how the wait grows, and where it ends."
    )
