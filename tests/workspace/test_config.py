"""Settings, and which files they make documents."""

from __future__ import annotations

import pytest

from workspace.anchors import AnchorForm
from workspace.config import InvalidConfig, LimitExceeded, WorkspaceConfig

pytestmark = pytest.mark.smoke


def test_defaults() -> None:
    assert WorkspaceConfig.read(None) == WorkspaceConfig.read(b"") == WorkspaceConfig()
    assert WorkspaceConfig().anchors is AnchorForm.BRACES


def test_settings() -> None:
    config = WorkspaceConfig.read(
        b'root = "./docs/"\nexclude = ["drafts"]\nanchors = "html"\nsigning = "off"\nfsync = false\n'
        b'[corpus]\ndescription = "All of it"\n[limits]\ndocument_bytes = 5000\n'
    )
    assert (config.root, config.anchors, config.limits.document_bytes) == ("docs", AnchorForm.HTML, 5000)
    config.limits.check_document("a.md", 5000)
    with pytest.raises(LimitExceeded):
        config.limits.check_document("a.md", 5001)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"\xff", None),
        (b"a = ", None),
        (b"# a\n" * 20_000, None),
        (b"a." * 20_000 + b"a = 1", None),
        (b"a" * 60_000, None),
        (b"a = " + b"{a = " * 5000, None),
        (b"[limits]\nheadings = 1", "limits.headings"),
        (b"[limits]\nnesting = 50", "limits.nesting"),
        (b"[limits]\ncall_bytes = 1", "limits.call_bytes"),
        (b"a = " + b"[" * 5000, None),
        (b"unknown = 1", "unknown"),
        (b'root = "../up"', "root"),
        (b'root = "/etc"', "root"),
        (b"root = 1", "root"),
        (b'anchors = "curly"', "anchors"),
        (b'exclude = "drafts"', "exclude"),
        (b"[limits]\ndocument_bytes = 1", "limits.document_bytes"),
        (b"[limits]\noperations = 100000", "limits.operations"),
        (b"[limits]\nmore = 1", "limits.more"),
        (b'[corpus]\ndescription = "' + b"x" * 501 + b'"', "corpus.description"),
    ],
)
def test_what_is_no_setting(data: bytes, field: str | None) -> None:
    with pytest.raises(InvalidConfig) as caught:
        WorkspaceConfig.read(data)
    assert caught.value.details.get("field") == field
    assert caught.value.fix
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("path", "is_document"),
    [
        ("a.md", True),
        ("a.markdown", True),
        ("docs/a.md", True),
        (".md", True),
        ("a.MD", False),
        ("a.txt", False),
        ("md", False),
        (".github/a.md", False),
        ("docs/.hidden/a.md", False),
        ("docs/.hidden.md", True),
        ("drafts/a.md", False),
        ("drafts.md", True),
        ("docs/a.tmp.md", False),
        ("node_modules/x/README.md", False),
        ("docs/node_modules/x/README.md", True),
    ],
)
def test_documents(path: str, is_document: bool) -> None:
    config = WorkspaceConfig(exclude=("drafts/", "*.tmp.md", "node_modules"))
    assert config.is_document(path) is is_document


def test_documents_under_a_root() -> None:
    config = WorkspaceConfig(root="docs", exclude=("old", "docs/older"))
    paths = ["a.md", "docs.md", "docsx/a.md", "docs/a.md", "docs/old/a.md", "docs/older/a.md", "docs/.x/a.md"]
    assert [path for path in paths if config.is_document(path)] == ["docs/a.md"]
    assert WorkspaceConfig(root=".hidden").is_document(".hidden/a.md")
