"""A URI reads the exact text, also of moved documents; an invalid URI is refused with the nearest URI."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.tools.conftest import API_TEXT
from tests.tools.resources.test_list import open_context
from tools.dispatcher import ToolDispatcher
from tools.resources.contents import format_uri, read_resource
from workspace.config.config import Limits
from workspace.errors import WorkspaceError
from workspace.texts.tokens import count_tokens


def test_document_resource_has_exact_text(dispatcher: ToolDispatcher, repo: Repo) -> None:
    source = read_resource(dispatcher.context(), "doc:///api.md")
    assert source.text == API_TEXT
    assert source.location.address == "api.md"
    assert source.location.snapshot.commit == repo.head()
    assert (source.is_cut, source.next_uris, source.location.moved_to) == (False, (), None)


def test_section_resource_includes_subsections(dispatcher: ToolDispatcher) -> None:
    context = dispatcher.context()
    document = context.snapshot().document("api.md")
    for section in document.sections:
        source = read_resource(context, format_uri("api.md", section.key))
        end = section.end if section.is_preamble else section.tree_end
        assert source.text.encode() == document.data[section.start : end]
        assert source.location.address == f"api.md#{section.key}"
    assert read_resource(context, "doc:///api.md#endpoints").text.endswith("Finds things.\n\n")
    assert read_resource(context, "doc:///api.md#_preamble").text.endswith("Introduction.\n\n")


def test_resource_at_ref_has_text_of_that_commit(dispatcher: ToolDispatcher, repo: Repo) -> None:
    first_commit = repo.head()
    repo.commit({"api.md": "# Other\n"})
    context = dispatcher.context()
    assert read_resource(context, "doc:///api.md").text == "# Other\n"
    for ref in (first_commit, first_commit[:10], "main~1"):
        source = read_resource(context, format_uri("api.md", "endpoints/search", ref))
        assert source.text == "### Search\n\nFinds things.\n\n"
        assert source.location.snapshot.commit == first_commit


def test_moved_resource_is_read_at_new_address(dispatcher: ToolDispatcher, repo: Repo) -> None:
    repo.git("mv", "api.md", "interface.md")
    commit = repo.commit({})
    source = read_resource(dispatcher.context(), "doc:///api.md#endpoints")
    assert source.location.address == "interface.md#endpoints"
    assert source.location.moved_to == {"file": "interface.md", "slug": "endpoints", "commit": commit}
    assert read_resource(dispatcher.context(), "doc:///api.md").location.address == "interface.md"


@pytest.mark.parametrize(
    ("uri", "code", "nearest"),
    [
        ("doc:///ap.md", "DOCUMENT_NOT_FOUND", ["doc:///api.md"]),
        ("doc:///ap.md#endpoints", "DOCUMENT_NOT_FOUND", ["doc:///api.md"]),
        ("doc:///notes", "DOCUMENT_NOT_FOUND", ["doc:///notes/plain.md"]),
        ("doc:///api.md#endpoint", "SECTION_NOT_FOUND", ["doc:///api.md#endpoints"]),
        ("doc:///api.md?ref=main#endpoint", "SECTION_NOT_FOUND", ["doc:///api.md?ref=main#endpoints"]),
        ("doc:///api.md#tasks[0]", "INVALID_ADDRESS", ["doc:///api.md#tasks"]),
        ("doc:///twice.md#same", "AMBIGUOUS_ADDRESS", ["doc:///twice.md#a/same", "doc:///twice.md#b/same"]),
        ("doc:///new.md", "NOT_COMMITTED", None),
        ("doc:///pointer.md", "NOT_A_DOCUMENT", None),
        ("doc:///logo.png", "DOCUMENT_NOT_FOUND", None),
        ("doc:///link.md", "DOCUMENT_NOT_FOUND", None),
        ("doc:///api.md?ref=nope", "REF_NOT_FOUND", None),
        ("doc:///api.md?ref=@{1999-01-01}", "BEFORE_HISTORY", None),
        ("doc:////etc/passwd", "INVALID_PATH", None),
        ("doc:///..%2F..%2Fetc/passwd", "INVALID_PATH", None),
        ("doc:///.git/config", "INVALID_PATH", None),
        ("doc:///a%00.md", "INVALID_PATH", None),
        ("doc:///C:/a.md", "INVALID_PATH", None),
        ("doc:///a%5Cb.md", "INVALID_PATH", None),
        ("doc:///\ud800.md", "INVALID_PATH", None),
        ("doc:///" + "a/" * 5000, "INVALID_PATH", None),
    ],
)
def test_unreadable_resource_is_refused(
    dispatcher: ToolDispatcher, repo: Repo, uri: str, code: str, nearest: list[str] | None
) -> None:
    (repo.path / "link.md").symlink_to("api.md")
    repo.commit(
        {
            "twice.md": "# Twice\n\n## A\n\n### Same\n\n## B\n\n### Same\n",
            "pointer.md": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
            "logo.png": b"\x89PNG\r\n\x1a\n\x00",
        }
    )
    repo.write({"new.md": "# New\n"})
    with pytest.raises(WorkspaceError) as error_info:
        read_resource(dispatcher.context(), uri)
    assert error_info.value.code == code
    assert error_info.value.fix
    assert str(repo.path) not in error_info.value.message + error_info.value.fix
    if nearest:
        assert error_info.value.details["nearest"][: len(nearest)] == nearest  # type: ignore[index]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=scale_examples(60),
    deadline=None,
)
@given(st.text(max_size=60))
def test_random_uris_never_raise_unexpected_errors(dispatcher: ToolDispatcher, random_text: str) -> None:
    context = dispatcher.context()
    fixes: list[str] = []
    for uri in (
        random_text,
        f"doc:///{random_text}",
        f"doc:///api.md#{random_text}",
        f"doc:///api.md?ref={random_text}",
    ):
        try:
            assert read_resource(context, uri).text in API_TEXT
        except WorkspaceError as error:
            fixes.append(error.fix)
    assert all(fixes)


@loop_over(
    ("text", "end"),
    [
        ("# A\n\n" + "word " * 30_000 + "\n", None),
        ("# A\n\n" + "a line\n" * 30_000, "a line\n"),
        ("# A\n\n" + "a block\n\n" * 30_000, "a block\n\n"),
        ("# A\n\n" + "ü€𝄞" * 40_000, None),
        ("# A\n\n" + "".join(f"## Part {number}\n\n{'word ' * 3000}\n\n" for number in range(12)), "\n\n"),
    ],
    ids=["one line", "lines", "blocks", "no break", "sections"],
)
def test_too_long_resource_is_cut(tmp_path: Path, text: str, end: str | None) -> None:
    context = open_context(create_repository(tmp_path / "docs", {"long.md": text}))
    source = read_resource(context, "doc:///long.md")
    assert source.is_cut
    assert text.startswith(source.text)
    limit = Limits().text_tokens
    assert limit // 2 < count_tokens(source.text) <= limit
    if end is not None:
        assert source.text.endswith(end)
    for uri in source.next_uris:
        part = read_resource(context, uri)
        assert not part.is_cut
        assert text.index(part.text) >= len(source.text)
    if "Part" in text:
        assert text[len(source.text) :].startswith(read_resource(context, source.next_uris[0]).text)
