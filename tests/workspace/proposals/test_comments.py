"""Comments on text: each has its current position, or is reported as outdated or removed."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from tests.workspace.proposals.event_writer import GIT_AUTHOR, NOON
from workspace.document.addresses import SectionNotFound
from workspace.git.reader import GitReader
from workspace.proposals.comments import (
    CommentLocation,
    TextStatus,
    build_comment_target,
    find_comment_location,
    find_quote,
)
from workspace.proposals.events import MAX_QUOTE_CHARACTERS, CommentTarget, InvalidEventText
from workspace.proposals.proposal import Comment
from workspace.snapshot.snapshot import Snapshot

GUIDE = """# Retries

How to configure retries.

## Backoff Strategy

The SDK uses an exponential
backoff, and waits a second at least.

### Jitter

To prevent thundering herds, jitter is applied.

## Errors

A RateLimitError says when to retry.
"""
OTHER_TEXT = "# Limits\n\n## Rate Limit\n\nTen requests a second.\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return repositories.create_repository(tmp_path / "repo", {"retries.md": GUIDE, "limits.md": OTHER_TEXT})


def take_snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def make_comment(repo: Repo, slug: str | None, quote: str = "", path: str = "retries.md") -> Comment:
    """Return a comment on the current text of a section or document."""
    snapshot = take_snapshot(repo)
    target = build_comment_target(snapshot.document(path), slug, quote)
    return Comment("0" * 16, GIT_AUTHOR, NOON, "Why?", target, snapshot.commit)


def test_comment_on_unchanged_text_is_at_the_same_address(repo: Repo) -> None:
    comment = make_comment(repo, "errors")
    assert find_comment_location(comment, take_snapshot(repo)) == (TextStatus.HERE, "retries.md", "errors")
    repo.commit({"retries.md": GUIDE.replace("at least", "at most")})
    assert find_comment_location(comment, take_snapshot(repo)) == (TextStatus.HERE, "retries.md", "errors")


def test_comment_on_moved_section_has_new_address(repo: Repo) -> None:
    comment = make_comment(repo, "backoff-strategy/jitter")
    guide_without_section = GUIDE.replace(
        "### Jitter\n\nTo prevent thundering herds, jitter is applied.\n\n", ""
    )
    repo.commit(
        {
            "retries.md": guide_without_section
            + "\n## Jitter\n\nTo prevent thundering herds, jitter is applied.\n"
        }
    )
    assert find_comment_location(comment, take_snapshot(repo)) == (TextStatus.MOVED, "retries.md", "jitter")
    section = "\n## Jitter\n\nTo prevent thundering herds, jitter is applied.\n"
    repo.commit({"retries.md": guide_without_section, "limits.md": OTHER_TEXT + section})
    assert find_comment_location(comment, take_snapshot(repo)) == (TextStatus.MOVED, "limits.md", "jitter")


def test_comment_on_renamed_document_has_new_path(repo: Repo) -> None:
    section_comment, document_comment = make_comment(repo, "errors"), make_comment(repo, None)
    repo.git("mv", "retries.md", "again.md")
    repo.commit({})
    assert find_comment_location(section_comment, take_snapshot(repo)) == (
        TextStatus.MOVED,
        "again.md",
        "errors",
    )
    assert find_comment_location(document_comment, take_snapshot(repo)) == (
        TextStatus.MOVED,
        "again.md",
        None,
    )


def test_comment_on_changed_text_is_outdated(repo: Repo) -> None:
    section_comment, document_comment = make_comment(repo, "errors"), make_comment(repo, None)
    repo.commit({"retries.md": GUIDE.replace("says when", "tells when")})
    assert find_comment_location(section_comment, take_snapshot(repo)) == (
        TextStatus.OUTDATED,
        "retries.md",
        "errors",
    )
    assert find_comment_location(document_comment, take_snapshot(repo)) == (
        TextStatus.OUTDATED,
        "retries.md",
        None,
    )


def test_comment_with_quote_depends_on_quoted_text_only(repo: Repo) -> None:
    comment = make_comment(repo, "backoff-strategy", "an exponential backoff")
    repo.commit({"retries.md": GUIDE.replace("exponential\nbackoff, and waits a", "exponential backoff. A")})
    assert find_comment_location(comment, take_snapshot(repo)) == (
        TextStatus.HERE,
        "retries.md",
        "backoff-strategy",
    )
    repo.commit({"retries.md": GUIDE.replace("exponential", "linear")})
    assert find_comment_location(comment, take_snapshot(repo)) == (
        TextStatus.OUTDATED,
        "retries.md",
        "backoff-strategy",
    )


def test_text_edited_then_moved_is_tracked_by_commits(repo: Repo) -> None:
    comment = make_comment(repo, "errors", "RateLimitError")
    sentence = "A RateLimitError tells all that one has to know."
    new_guide = GUIDE.replace("A RateLimitError says when to retry.", sentence)
    repo.commit({"retries.md": new_guide})
    repo.commit(
        {
            "retries.md": GUIDE[: GUIDE.index("## Errors")],
            "limits.md": f"{OTHER_TEXT}\n## Errors\n\n{sentence}\n",
        }
    )
    assert find_comment_location(comment, take_snapshot(repo)) == (TextStatus.MOVED, "limits.md", "errors")


def test_comment_on_removed_section_or_document_has_no_location(repo: Repo) -> None:
    section_comment, document_comment = (
        make_comment(repo, "errors"),
        make_comment(repo, None, path="limits.md"),
    )
    repo.commit({"retries.md": GUIDE[: GUIDE.index("## Errors")]})
    assert find_comment_location(section_comment, take_snapshot(repo)) == (
        TextStatus.GONE,
        "retries.md",
        "errors",
    )
    assert find_comment_location(document_comment, take_snapshot(repo)) == (
        TextStatus.HERE,
        "limits.md",
        None,
    )
    repo.git("rm", "-q", "limits.md")
    repo.commit({})
    assert find_comment_location(document_comment, take_snapshot(repo)) == (
        TextStatus.GONE,
        "limits.md",
        None,
    )


@pytest.mark.parametrize("commit", [None, "1" * 40])
def test_comment_without_its_commit_is_found_by_address_and_text(repo: Repo, commit: str | None) -> None:
    comment = make_comment(repo, "errors")._replace(commit=commit)
    assert find_comment_location(comment, take_snapshot(repo)) == (TextStatus.HERE, "retries.md", "errors")
    repo.commit({"retries.md": GUIDE.replace("says when", "tells when")})
    assert find_comment_location(comment, take_snapshot(repo)) == (
        TextStatus.OUTDATED,
        "retries.md",
        "errors",
    )
    repo.commit({"retries.md": "# Retries\n"})
    assert find_comment_location(comment, take_snapshot(repo)) == (TextStatus.GONE, "retries.md", "errors")


def test_comment_on_unknown_address_has_no_location(repo: Repo) -> None:
    commit = repo.head()
    blob = repo.git("rev-parse", "HEAD:limits.md").strip()
    for path, slug in (("../../etc/passwd", None), ("", ""), ("nothing.md", "x"), ("retries.md", "_nothing")):
        comment = Comment("0" * 16, GIT_AUTHOR, NOON, "Why?", CommentTarget(path, slug, "a" * 64), commit)
        assert find_comment_location(comment, take_snapshot(repo)) == CommentLocation(
            TextStatus.GONE, path, slug
        )
        assert find_comment_location(comment._replace(commit=blob), take_snapshot(repo)) == CommentLocation(
            TextStatus.GONE, path, slug
        )


def test_comment_on_whole_proposal_has_no_location(repo: Repo) -> None:
    assert (
        find_comment_location(Comment("0" * 16, GIT_AUTHOR, NOON, "Why?", None, None), take_snapshot(repo))
        is None
    )


def test_comment_on_missing_text_is_refused(repo: Repo) -> None:
    document = take_snapshot(repo).document("retries.md")
    with pytest.raises(SectionNotFound):
        build_comment_target(document, "nothing")
    with pytest.raises(InvalidEventText, match="not in the text"):
        build_comment_target(document, "errors", "exponential")
    with pytest.raises(InvalidEventText, match="too long"):
        build_comment_target(document, "errors", "a" * (MAX_QUOTE_CHARACTERS + 1))
    assert build_comment_target(document, "jitter").slug == "backoff-strategy/jitter"


def test_comment_with_version_0_1_0_address_is_at_section(repo: Repo) -> None:
    text = GUIDE.replace("## Errors", "## Errors { #faults }").replace(
        "## Backoff Strategy", "## Wait {: #b }"
    )
    repo.commit({"retries.md": text})
    comments = []
    for old_slug, new_slug in (("errors--faults-", "faults"), ("wait--b-/jitter", "b/jitter")):
        new_comment = make_comment(repo, new_slug)
        assert new_comment.target is not None
        # A server of version 0.1.0 writes this slug.
        comments.append(new_comment._replace(target=replace(new_comment.target, slug=old_slug)))
        assert find_comment_location(comments[-1], take_snapshot(repo)) == (
            TextStatus.HERE,
            "retries.md",
            new_slug,
        )
    repo.commit({"retries.md": text.replace("## Errors {", "## Failures {").replace("applied", "there")})
    assert find_comment_location(comments[0], take_snapshot(repo)) == (
        TextStatus.MOVED,
        "retries.md",
        "faults",
    )
    assert find_comment_location(comments[1], take_snapshot(repo)) == (
        TextStatus.OUTDATED,
        "retries.md",
        "b/jitter",
    )


def test_comment_with_attribute_list_below_heading_is_unchanged(repo: Repo) -> None:
    text = GUIDE.replace("## Errors\n", "## Errors\n{: #faults .no_toc }\n")
    repo.commit({"retries.md": text})
    comment = make_comment(repo, "faults")
    assert comment.target is not None
    source = text.partition("## Errors\n")[2].strip()
    earlier_target = replace(
        comment.target, slug="errors", digest=hashlib.sha256(source.encode()).hexdigest()
    )
    for comment_target in (comment.target, earlier_target):
        assert find_comment_location(comment._replace(target=comment_target), take_snapshot(repo)) == (
            TextStatus.HERE,
            "retries.md",
            "faults",
        )
    repo.commit({"retries.md": text.replace("when to retry", "nothing")})
    assert find_comment_location(comment._replace(target=earlier_target), take_snapshot(repo)) == (
        TextStatus.OUTDATED,
        "retries.md",
        "faults",
    )


RENDERED_TEXT = b"""## Waits {#waits}

When an answer *carries* `Retry-After`, the [client](../a.md "x") waits
**that** long, see ![chart](c.png).

| Answer | Wait |
|---|---|
| `429` | What it says |

- [ ] Say *why*
"""


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("answer carries Retry-After, the client", "answer *carries* `Retry-After`, the [client"),
        ("the client waits that long", 'the [client](../a.md "x") waits\n**that** long'),
        ("Waits\nWhen an answer", "Waits {#waits}\n\nWhen an answer"),
        ("Wait\n429", "Wait |\n|---|---|\n| `429"),
        ("429\nWhat it says\nSay why", "429` | What it says |\n\n- [ ] Say *why"),
        ("answer *carries*", "answer *carries*"),
        ("answer carries nothing", None),
        ("client ../a.md", None),
        ("answers", None),
        ("...", None),
    ],
)
def test_quote_of_rendered_text_becomes_its_source(quote: str, source: str | None) -> None:
    assert find_quote(RENDERED_TEXT, quote) == source


def test_quote_search_takes_little_time_for_adversarial_texts() -> None:
    start = time.process_time()
    for text in (b"a](" * 20_000, b"a" + b"*" * 60_000, b"a " * 30_000, b"a [" * 20_000, b"a<b" * 20_000):
        assert find_quote(text, "a " * 200 + "z") is None
    assert time.process_time() - start < 5
