"""The search for documents that may link to a path misses no document, and returns few other documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.repositories import Repo, create_repository
from tests.workspace.links.spellings import (
    PATHS,
    SOURCE_PATHS,
    PathTree,
    documents_with_path,
    read_targets,
    rules,
)
from workspace.config.tables import LinkRules
from workspace.document.document import Document
from workspace.links.inbound_links import InboundLinkScanner, LinkPattern, may_link
from workspace.workspace import Workspace


@given(rules, documents_with_path)
@example(LinkRules(), ("a/b/from.md", b"[t](..#part)"))
@example(LinkRules(), ("B/from.md", b"[t](../a/b/..#part)"))
@example(LinkRules(wiki=True), ("top.md", "[[STRASSE]] [[STRAßE]]".encode()))
@example(LinkRules(root="a"), ("top.md", b'<a href="/#x">'))
@example(LinkRules(), ("a/from.md", b'<a href="rate-\nlimits.md">'))
@settings(max_examples=scale_examples(150))
def test_no_link_is_missed(link_rules: LinkRules, document: tuple[str, bytes]) -> None:
    path, data = document
    file_tree = PathTree((*PATHS, *SOURCE_PATHS), link_rules)
    for _, destination, target in read_targets(file_tree, Document.parse(data, path)):
        pattern = LinkPattern.of(target, link_rules.root)
        assert may_link(path, data, [pattern], wiki=link_rules.wiki), (destination, target)


DOCUMENTS = {
    "a/limits.md": "# Limits\n",
    "a/README.md": "# A\n",
    "a/inside.md": "[up](.) and [there](../c/)\n",
    "b/plain.md": "Limits are limits, see `limits.md`, limits.\n",
    "b/inline.md": "[x](../a/limits.md)\n",
    "b/encoded.md": "[x](../a/%6Cimits.md)\n",
    "b/other.md": "[x](../a/limits-of-all.md) [y](unlimits.md) [z](https://example.org/a-limits-b)\n",
    "b/folder.md": "[x](../a/)\n",
    "c/word.md": "[x](y.md) a word and a/b\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", DOCUMENTS)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/limits.md", ["a/limits.md", "b/encoded.md", "b/inline.md"]),
        ("a/README.md", ["a/README.md", "a/inside.md", "b/encoded.md", "b/folder.md"]),
        ("c", ["a/inside.md", "b/encoded.md"]),
        ("c/word.md", ["b/encoded.md", "c/word.md"]),
    ],
)
def test_scan_returns_documents_that_contain_the_name(repo: Repo, path: str, expected: list[str]) -> None:
    snapshot = Workspace.open(repo.path).snapshot()
    assert list(InboundLinkScanner().find_linking_documents(snapshot, [path])) == expected


def test_workspace_scans_all_documents_by_default(repo: Repo) -> None:
    workspace = Workspace.open(repo.path)
    assert "b/inline.md" in workspace.inbound_links.find_linking_documents(
        workspace.snapshot(), ["a/limits.md"]
    )


def test_document_above_the_limit_is_returned_without_a_scan(repo: Repo) -> None:
    repo.commit({"docyard.toml": "[limits]\ndocument_bytes = 1000\n", "big.md": "x" * 1001})
    snapshot = Workspace.open(repo.path).snapshot()
    assert "big.md" in InboundLinkScanner().find_linking_documents(snapshot, ["a/limits.md"])


@settings(max_examples=scale_examples(30))
@given(st.sampled_from([b"(" * 50_000, b"[ " * 50_000, b"&a" * 50_000, b"%2e/" * 40_000, b"='\n>" * 40_000]))
def test_adversarial_document_is_scanned_in_linear_time(data: bytes) -> None:
    """Each text takes milliseconds; a pattern that restarts at every byte would take minutes."""
    patterns = [LinkPattern.of(path) for path in ("a/x&-&y.md", "README.md", "a/index.md")]
    assert may_link("a/from.md", data, patterns, wiki=True) in (True, False)
