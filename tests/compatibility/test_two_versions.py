"""Processes of 0.1.0 and of the present version that write to one repository concurrently."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.compatibility.versions import ROOT, VERSION_0_1_0, Client, CommitMissing, Version, extract_code
from tests.compatibility.write_archive import (
    START_TIME,
    TOOLSETS,
    call_successfully,
    create_repository_of_killed_writer,
)
from tests.faults.support.repo_template import check_no_leftovers
from tests.repositories import Repo, create_bare_repository, create_repository

SHARED_PATH = "guides/shared.md"
SETTINGS = '[[protect]]\npaths = ["specs/**"]\napprovals = 1\nchecks = []\n'
FILES = {
    "docyard.toml": SETTINGS,
    SHARED_PATH: "# Shared\n\n## Log\n\nFirst.\n\n## Tasks\n\n- [ ] First\n",
    "specs/api.md": "# Interface\n\n## Limits\n\nA hundred.\n",
}
_MAX_ATTEMPTS = 200
"""The largest number of attempts at one call."""


class AcknowledgedWrite(NamedTuple):
    """A successful write: its unique word, its text, and the id of its commit or comment."""

    word: str
    text: str
    commit: str | None = None
    comment: str | None = None


@pytest.fixture(scope="session")
def code_0_1_0(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return extract_code(VERSION_0_1_0, tmp_path_factory.mktemp("code-0.1.0"))
    except CommitMissing as error:
        pytest.skip(f"version 0.1.0 cannot be run: {error}")


@pytest.fixture
def versions(code_0_1_0: Path, tmp_path: Path) -> tuple[Version, Version]:
    """Return both versions, for the same user."""
    return Version(code_0_1_0, tmp_path / "home"), Version(ROOT, tmp_path / "home")


def test_old_version_runs_the_code_of_0_1_0(versions: tuple[Version, Version]) -> None:
    old_version, present_version = versions
    assert old_version.run("--version").split()[-1] == "0.1.0"
    assert (old_version.code / "docyard" / "__init__.py").exists()
    assert present_version.run("--version")
    assert old_version.code != present_version.code == ROOT


def call_until_accepted(client: Client, tool: str, arguments: dict[str, object]) -> dict[str, object]:
    """Repeat a call with its idempotency key until the server is not busy; return the response."""
    for _ in range(_MAX_ATTEMPTS):
        response = client.call(tool, **arguments)
        if response.get("code") not in {"BUSY", "LOCKED"}:
            assert "error" not in response, response
            return response
    raise AssertionError(f"{tool} stayed busy")


def make_calls(word: str, proposal: str) -> list[tuple[str, str, dict[str, object]]]:
    """Return the calls of a round, each as the text that it writes, the tool and the arguments."""
    return [
        (
            f"Line {word}log.",
            "edit_document",
            {
                "operation": "append_content",
                "file": SHARED_PATH,
                "slug": "log",
                "content": f"Line {word}log.",
            },
        ),
        (
            f"Do {word}task\n",
            "edit_document",
            {"operation": "add_task", "file": SHARED_PATH, "slug": "tasks", "title": f"Do {word}task"},
        ),
        (
            f"Says {word}own.",
            "create_document",
            {"doc_type": "document", "title": f"Own {word}own", "initial_content": f"Says {word}own."},
        ),
        (
            f"Says {word}comment.",
            "update_proposal",
            {"proposal": proposal, "action": "comment", "text": f"Says {word}comment."},
        ),
    ]


class Writer(threading.Thread):
    """A client that writes to a shared document and to new documents, adds comments, and searches."""

    def __init__(self, client: Client, name: str, round_count: int, proposal: str) -> None:
        super().__init__(name=name)
        self._client, self._rounds, self._proposal = client, round_count, proposal
        self.writes: list[AcknowledgedWrite] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            for number in range(self._rounds):
                self._write(f"{self.name}x{number}")
        except BaseException as error:
            self.error = error

    def _write(self, word: str) -> None:
        for number, (text, tool, arguments) in enumerate(make_calls(word, self._proposal)):
            key = f"{word}-{number}"
            response = call_until_accepted(self._client, tool, {**arguments, "idempotency_key": key})
            written_word = re.findall(rf"{word}[a-z]+", text)[0]
            if tool == "update_proposal":
                self.writes.append(AcknowledgedWrite(written_word, text, comment=str(response["comment"])))
            else:
                self.writes.append(AcknowledgedWrite(written_word, text, commit=str(response["commit"])))
        hits = call_successfully(self._client, "search_docs", query=f"{word}own")["hits"]
        assert [hit["filepath"] for hit in hits] == [f"own-{word}own.md"]


@pytest.mark.parametrize(
    ("writer_count", "round_count"),
    [(1, 3), pytest.param(2, 20, marks=pytest.mark.slow)],
    ids=["1x3", "2x20"],
)
@pytest.mark.parametrize("repository_kind", ["checked-out", pytest.param("bare", marks=pytest.mark.slow)])
def test_concurrent_versions_lose_no_write_and_search_correctly(
    versions: tuple[Version, Version],
    tmp_path: Path,
    repository_kind: str,
    writer_count: int,
    round_count: int,
) -> None:
    repo = (create_bare_repository if repository_kind == "bare" else create_repository)(
        tmp_path / "repo", FILES
    )
    with run_servers(versions, repo, writer_count) as clients:
        proposal = call_successfully(clients[0], "create_proposal", title="Talked about", description="")[
            "proposal"
        ]
        threads = [
            Writer(client, f"w{number}", round_count, str(proposal)) for number, client in enumerate(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        assert [thread.error for thread in threads] == [None] * len(threads)
        writes = [write for thread in threads for write in thread.writes]
        calls_per_round = len(make_calls("", str(proposal)))
        assert len(writes) == calls_per_round * round_count * len(clients)
        check_writes(repo, writes)
        for client in clients:
            check_reads(client, proposal, writes)
        # If the schema version of the index has changed, `--fix` removes the index of the older servers.
        versions[1].run("doctor", "-C", repo.path, "--fix")
        for client in clients:
            check_searches(client, writes)
    for version in versions:
        problems = find_problems(version, repo)
        # After the exit of the older version, its index folder is unused, which is reported.
        assert [problem for problem in problems if "not used any more" not in problem] == []
    assert repo.fsck() == ""
    if repository_kind != "bare":
        assert repo.status() == ""
    git_dir = repo.path / ("." if repository_kind == "bare" else ".git")
    shutil.rmtree(git_dir / "docyard" / "index")  # the lock files remain for the next server
    check_no_leftovers(git_dir)


@contextmanager
def run_servers(versions: tuple[Version, Version], repo: Repo, count: int) -> Iterator[list[Client]]:
    """Start `count` servers of each version, and yield their clients."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                version.serve("-C", repo.path, "--no-sync", "--no-fsync", "--toolsets", TOOLSETS)
            )
            for version in versions
            for _ in range(count)
        ]


def find_problems(version: Version, repo: Repo) -> list[str]:
    """Return the errors and warnings of `doctor`."""
    process = subprocess.run(
        version.build_command("doctor", "-C", repo.path, "--json"),
        cwd=version.code,
        env=version.build_environment(),
        capture_output=True,
        check=False,
    )
    findings = json.loads(process.stdout)["findings"]
    return [finding["message"] for finding in findings if finding["severity"] != "note"]


def check_writes(repo: Repo, writes: list[AcknowledgedWrite]) -> None:
    """Check that each acknowledged commit is on the branch, and each word is in the files exactly once."""
    commits = set(repo.git("rev-list", "HEAD").split())
    paths = repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
    text = "".join(repo.git("show", f"HEAD:{path}") for path in paths if path.endswith(".md"))
    for write in writes:
        if write.commit is not None:
            assert write.commit in commits, write
            assert text.count(write.text) == 1, write


def check_reads(client: Client, proposal: str, writes: list[AcknowledgedWrite]) -> None:
    """Check that each comment is listed once, and that a search finds each word in its section."""
    comments: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = call_successfully(
            client, "view_proposal", proposal=proposal, comments=True, limit=50, **cursor
        )
        comments += [comment["comment"] for comment in page["comments"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert sorted(comments) == sorted(write.comment for write in writes if write.comment is not None)
    check_searches(client, writes)


def check_searches(client: Client, writes: list[AcknowledgedWrite]) -> None:
    """Check that a search finds each word of the shared document in its section."""
    for write in writes:
        if write.word.endswith(("log", "task")):
            hits = call_successfully(client, "search_docs", query=write.word)["hits"]
            section = "log" if write.word.endswith("log") else "tasks"
            assert [hit["chunk_id"] for hit in hits] == [f"{SHARED_PATH}#{section}"], write


@pytest.fixture(params=[pytest.param("0.1.0 merges", marks=pytest.mark.slow), "present merges"])
def agent_and_reviewer(request: pytest.FixtureRequest, versions: tuple[Version, Version]) -> list[Version]:
    """Return the version of the agent and the version of the reviewer."""
    return [*versions] if request.param == "present merges" else [*reversed(versions)]


def test_proposal_is_approved_and_merged_by_the_other_version(
    agent_and_reviewer: list[Version], tmp_path: Path
) -> None:
    """Run the agent's server and the reviewer's commands with different versions."""
    agent, reviewer = agent_and_reviewer
    repo = create_repository(tmp_path / "repo", FILES)
    repository_options = ("-C", repo.path)
    output = reviewer.run(
        "tokens", "add", "ana", "--name", "Ana Li", "--email", "ana@example.org", *repository_options
    )
    reviewer.variables["DOCYARD_TOKEN"] = output.split()[0]
    with agent.serve(*repository_options, "--no-sync", "--toolsets", TOOLSETS) as client:
        proposal = call_successfully(client, "create_proposal", title="Raise the limit", description="")[
            "proposal"
        ]
        edit = {
            "operation": "replace_text",
            "file": "specs/api.md",
            "old": "A hundred.",
            "new": "Two hundred.",
        }
        call_successfully(client, "edit_document", **edit, proposal=proposal)
        call_successfully(client, "update_proposal", proposal=proposal, action="submit")
        reviewer.run("proposals", "approve", proposal, *repository_options)
        assert call_successfully(client, "view_proposal", proposal=proposal)["state"] == "approved"
        reviewer.run("proposals", "merge", proposal, *repository_options)
        assert call_successfully(client, "view_proposal", proposal=proposal)["state"] == "merged"
        assert [
            hit["chunk_id"] for hit in call_successfully(client, "search_docs", query='"two hundred"')["hits"]
        ] == ["specs/api.md#limits"]
    assert "Two hundred." in repo.git("show", "HEAD:specs/api.md")


@pytest.mark.parametrize("when", ["before", pytest.param("after", marks=pytest.mark.slow)])
def test_crashed_publication_of_present_version_is_safe_with_0_1_0(
    versions: tuple[Version, Version], tmp_path: Path, when: str
) -> None:
    """Check that 0.1.0 recovers with the journal, or changes nothing if the journal has a later version."""
    old_version, present_version = versions
    create_repository_of_killed_writer(
        Version(present_version.code, present_version.home, START_TIME), tmp_path / "repo", when
    )
    repo = Repo(tmp_path / "repo")
    base = repo.head()
    edit = {"operation": "replace_text", "file": "notes/one.md", "old": "old", "new": "new"}
    with old_version.serve("-C", repo.path, "--no-sync") as client:
        response = client.call("edit_document", **edit, idempotency_key="crash-1")
    if response.get("code") == "UNKNOWN_JOURNAL":
        assert repo.head() == base
        with present_version.serve("-C", repo.path, "--no-sync") as client:
            response = client.call("edit_document", **edit, idempotency_key="crash-1")
    assert response["commit"] == repo.head()
    assert repo.git("rev-list", "--count", "HEAD").strip() == "2"
    assert (repo.path / "notes/one.md").read_text() == "# One\n\n## Part\n\nnew\n"
    assert (repo.status(), repo.fsck()) == ("", "")
    check_no_leftovers(repo.path / ".git")
