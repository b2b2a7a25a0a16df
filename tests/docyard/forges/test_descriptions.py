"""The description of a pull request: its content, its limits, and the escaping of commands for a forge."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.forges.pull_requests import (
    MAX_DESCRIPTION_CHARS,
    build_description,
    format_marker,
    format_title,
    neutralize_commands,
)
from tests import repositories
from tests.loops import loop_over
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource
from workspace.proposals.proposal import Proposal
from workspace.workspace import Workspace

ACTOR = Actor(Author("Ann", "ann@example.org", IdentitySource.GIT), "test", "tests")


@pytest.fixture
def repo(tmp_path: Path) -> repositories.Repo:
    return repositories.create_repository(tmp_path / "docs")


Files = dict[str, str | bytes]


def create_proposal(repo: repositories.Repo, description: str, files: Files) -> tuple[Workspace, Proposal]:
    workspace = Workspace.open(repo.path, durable=False)
    proposal = workspace.proposal_actions().open("Rewrite the text", description, ACTOR)
    repo.git("switch", "-q", proposal.content.branch)
    repo.commit(files)
    repo.git("switch", "-q", "main")
    return workspace, workspace.proposal_actions().find(proposal.id)


def build_body(workspace: Workspace, proposal: Proposal) -> str:
    return build_description(proposal, workspace.proposal_reviews().changes(proposal))


def test_body_has_description_changes_and_marker(repo: repositories.Repo) -> None:
    files: Files = {"README.md": "# Example\n\nAnother text.\n", "logo.svg": b"<svg/>"}
    workspace, proposal = create_proposal(repo, "Clients *ask* for it.", files)
    parts = build_body(workspace, proposal).split("\n\n")
    assert parts[:3] == ["Clients *ask* for it.", "### `README.md`", "#### Example (`_preamble`)"]
    assert parts[3] == "```diff\n-Text.\n+Another text.\n```"
    assert parts[-3:] == ["Other files:", "- `logo.svg`", format_marker(proposal.id)]


def test_long_body_is_truncated_at_sections_with_a_note(repo: repositories.Repo) -> None:
    sections = "".join(f"## Part {n}\n\n{f'@ann fixes #{n}. ' * 60}\n\n" for n in range(200))
    repo.commit({"long.md": f"# Long\n\n{sections}"})
    workspace, proposal = create_proposal(
        repo, "Long " * 12_000, {"long.md": f"# Long\n\n{sections.replace('ann', 'bea')}"}
    )
    body = build_body(workspace, proposal)
    assert len(body) <= MAX_DESCRIPTION_CHARS
    assert "more changes." in body
    assert "The rest of the description is in the proposal." in body
    assert body.endswith(format_marker(proposal.id))


@pytest.mark.parametrize("fence", ["```", "~~~~", "  ```md"])
def test_open_code_block_of_description_is_closed(repo: repositories.Repo, fence: str) -> None:
    workspace, proposal = create_proposal(
        repo, f"See\n\n{fence}\ncode", {"README.md": "# Example\n\nOther.\n"}
    )
    description = build_body(workspace, proposal).partition("\n\n###")[0]
    assert description.endswith(f"code\n{fence.strip().removesuffix('md')}")


@loop_over(
    ("text", "absent_words"),
    [
        ("ask @ana and @org/team", "@ana @org"),
        ("(@ana)", "@ana"),
        ("\\@ana", "@ana"),
        ("&#64;ana &commat;ana", "&#64; &commat;"),
        ("see #12 and ana/docs#12", "#12"),
        ("see GH-12 and !7 and &3 and $4 and %5", "GH-12 !7 &3 $4 %5"),
        ("Fixes https://github.com/ana/docs/issues/1", "Fixes"),
        ("closes: #1, resolved ABC-12, implements #2", "closes resolved implements"),
        ("text\n/approve\n  /merge now\n> /close", "\n/approve \n__/merge >_/close"),
        ("<!-- hidden\n<script>x</script> <details>", "<!-- <script <details"),
        (format_marker("k7m2q9xa"), "<!--"),
    ],
)
def test_texts_that_a_forge_executes_are_escaped(text: str, absent_words: str) -> None:
    # Spaces separate the absent words, so `_` represents a space in a word.
    neutralized = neutralize_commands(text)
    assert not [word for word in absent_words.split(" ") if word.replace("_", " ") in neutralized]
    assert neutralized.replace("\u200b", "").replace("\\/", "/") == text


@loop_over(
    "text",
    [
        "mail ana@example.org about a/b, 3 < 4, C# and 50 % of it",
        "This fixes the problem, and closes the door.",
        "# Heading\n\n- [x] done, **well**: https://example.org/a#b",
    ],
)
def test_harmless_text_is_unchanged(text: str) -> None:
    assert neutralize_commands(text) == text


def test_escaping_takes_linear_time() -> None:
    """Escape long repetitions of the texts that the patterns match; quadratic time would take minutes."""
    for long_text in (
        "fixes " * 30_000,
        "@" * 100_000,
        "close: " + " " * 100_000,
        "<" * 100_000,
        "&" * 100_000,
    ):
        assert len(neutralize_commands(long_text)) >= len(long_text)


def test_title_is_short_and_mentions_no_user(repo: repositories.Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    proposal = workspace.proposal_actions().open("@ana: " + "x" * 240, "", ACTOR)
    assert len(format_title(proposal)) <= 255
    assert "@ana" not in format_title(proposal)


def test_escaped_title_stays_within_the_limit(repo: repositories.Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    title = format_title(workspace.proposal_actions().open("@a " * 80, "", ACTOR))
    assert len(title) <= 250
    assert "@a" not in title


def test_description_with_non_utf_8_file_name_can_be_encoded(repo: repositories.Repo) -> None:
    workspace, proposal = create_proposal(repo, "", {"caf\udce9.txt": "x"})
    assert build_body(workspace, proposal).encode()
