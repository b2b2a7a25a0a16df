"""Searches: their hits, order, pages, cursors and hints."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.cursors import InvalidCursor, StaleCursor, compute_search_digest, sign_token, write_cursor
from index.query import EmptyQuery
from index.search import UnknownFilter, UnknownFilterValue
from index.service import SearchIndex, SearchPage
from index.storage.keys import _load_user_key, load_user_key
from index.storage.location import SCHEMA_VERSION
from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.repositories import Repo


def get_ids(page: SearchPage) -> list[str]:
    return [hit.chunk_id for hit in page.hits]


def test_hit_has_its_address_breadcrumb_lines_and_snippet(index: SearchIndex, repo: Repo) -> None:
    page = index.search("exponential backoff")
    hit = page.hits[0]
    assert page.commit == repo.head()
    assert not page.is_stale
    assert hit.chunk_id == hit.address == "guides/retries.md#backoff"
    assert hit.heading == "Backoff Strategy"
    assert hit.breadcrumb == "Retries > Backoff Strategy"
    assert hit.filepath == "guides/retries.md"
    assert hit.metadata == {"type": "runbook", "tags": "network, sdk"}
    assert hit.snippet == "The SDK uses an exponential backoff, see [limits](limits.md#zanzibar)."
    assert hit.blob == repo.git("rev-parse", "HEAD:guides/retries.md").strip()
    assert (hit.start_line, hit.end_line) == (9, 12)
    assert hit.score > 0


def test_subsection_is_found_by_its_breadcrumb(index: SearchIndex) -> None:
    page = index.search("backoff herds")
    assert page.hits[0].chunk_id == "guides/retries.md#backoff/jitter"
    assert page.hits[0].breadcrumb == "Retries > Backoff Strategy > Jitter"


@pytest.mark.parametrize(
    ("query", "chunk_id"),
    [
        ("RateLimitError", "guides/limits.md#errors"),
        ("rate limit error", "guides/limits.md#errors"),
        ("retry_after", "guides/retries.md#errors"),
        ("configuring the retry", "guides/retries.md#_preamble"),
        ("why not", "notes/plain.md#_preamble"),
    ],
)
def test_words_in_any_form_find_their_section(index: SearchIndex, query: str, chunk_id: str) -> None:
    assert chunk_id in get_ids(index.search(query))


@loop_over("query", ["zanzibar", "runbook", "*", "nowhere:backof~", "\0", "\ud800", "😀"])
def test_link_targets_front_matter_and_signs_match_nothing(index: SearchIndex, query: str) -> None:
    page = index.search(query)
    assert get_ids(page) == []
    assert page.hint is not None


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_empty_query_is_refused(index: SearchIndex, query: str) -> None:
    with pytest.raises(EmptyQuery):
        index.search(query)


@settings(
    max_examples=scale_examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(query=st.text(min_size=1).filter(str.strip))
def test_any_query_returns_hits_or_a_hint(index: SearchIndex, query: str) -> None:
    page = index.search(query)
    assert bool(page.hits) != bool(page.hint)


def test_text_above_title_is_searched_and_in_the_snippet(index: SearchIndex, repo: Repo) -> None:
    repo.commit({"notes/above.md": "The café delta is *here*.\n\n# Title\n\nBelow.\n"})
    [hit] = index.search('"café delta"').hits
    assert hit.chunk_id == "notes/above.md#_preamble"
    assert hit.snippet.startswith("The café delta is *here*.")


def test_invalid_utf8_is_shown_as_replacement_character(index: SearchIndex, repo: Repo) -> None:
    repo.commit({"notes/bytes.md": b"A wombat \xff here.\n"})
    assert [hit.snippet for hit in index.search("wombat").hits] == ["A wombat \ufffd here."]


def test_filters_are_applied_before_limit(index: SearchIndex) -> None:
    assert get_ids(index.search("errors", filters={"type": "api_spec"}, limit=1)) == [
        "guides/limits.md#errors"
    ]
    assert get_ids(index.search("errors", filters={"tags": "sdk"}, limit=1)) == ["guides/retries.md#errors"]
    assert (
        get_ids(index.search("errors", filters={"tags": "network", "type": "runbook"}))[0]
        == "guides/retries.md#errors"
    )


@pytest.mark.parametrize("path", ["guides", "guides/", "guides/l*", "guides/limits.md"])
def test_path_filter_accepts_folder_glob_and_file(index: SearchIndex, path: str) -> None:
    assert "guides/limits.md#errors" in get_ids(index.search("errors", path=path))
    assert get_ids(index.search("errors", path="notes")) == []


def test_unknown_filter_error_lists_nearest_and_known_filters(index: SearchIndex) -> None:
    with pytest.raises(UnknownFilter) as key_error:
        index.search("errors", filters={"tag": "sdk"})
    assert key_error.value.details == {"nearest": ["tags"], "known": ["type", "tags"]}
    with pytest.raises(UnknownFilterValue) as value_error:
        index.search("errors", filters={"tags": "Netwrk\ud800"})
    assert value_error.value.details["nearest"] == ["network"]
    assert value_error.value.details["known"] == ["network", "sdk"]
    value_error.value.message.encode()


def test_hint_names_the_filter_without_hits(index: SearchIndex) -> None:
    hint = index.search("jitter", filters={"type": "api_spec"}).hint
    assert hint is not None
    assert hint.message.startswith("0 results found for type 'api_spec'.")
    assert hint.suggested_filters == {"type": ("runbook",)}
    for value in hint.suggested_filters["type"]:
        assert index.search("jitter", filters={"type": value}).hits


def test_hint_for_absent_word_suggests_no_filters(index: SearchIndex) -> None:
    hint = index.search("quagga", filters={"type": "api_spec"}).hint
    assert hint is not None
    assert hint.suggested_filters == {}
    assert "no section contains" in hint.message


def test_pages_of_results_neither_skip_nor_repeat_hits(index: SearchIndex) -> None:
    full_page = index.search("errors retry limit guide", limit=50)
    paged_ids: list[str] = []
    cursor = None
    for size in (1, 2, 1, 3, 50):
        page = index.search("errors retry limit guide", limit=size, cursor=cursor)
        paged_ids += get_ids(page)
        if (cursor := page.next_cursor) is None:
            break
    assert paged_ids == get_ids(full_page)
    assert full_page.next_cursor is None


def test_changed_or_foreign_cursor_is_invalid(index: SearchIndex) -> None:
    cursor = index.search("errors", limit=1).next_cursor
    assert cursor is not None
    with pytest.raises(InvalidCursor, match="another query"):
        index.search("jitter", cursor=cursor)
    with pytest.raises(InvalidCursor, match="other filters"):
        index.search("errors", cursor=cursor, filters={"type": "api_spec"})
    for position in range(len(cursor)):
        changed_cursor = (
            cursor[:position] + ("A" if cursor[position] != "A" else "B") + cursor[position + 1 :]
        )
        with pytest.raises(InvalidCursor):
            index.search("errors", cursor=changed_cursor)
    for invalid_cursor in ("", "x", "é" * 40, cursor + "=", cursor[:-1], "A" * 10_000):
        with pytest.raises(InvalidCursor):
            index.search("errors", cursor=invalid_cursor)


def test_cursor_of_another_tool_or_ranking_is_refused(index: SearchIndex, repo: Repo) -> None:
    search_digest, commit = compute_search_digest("errors", {}, None), repo.head()
    cursor_of_search = write_cursor(
        load_user_key(), generation=f"{SCHEMA_VERSION}:{commit}", search_digest=search_digest, offset=1
    )
    assert cursor_of_search == index.search("errors", limit=1).next_cursor
    for values in (
        ["list", f"{SCHEMA_VERSION}:{commit}", search_digest, 1],
        [f"{SCHEMA_VERSION}:{commit}", search_digest, 1],
    ):
        with pytest.raises(InvalidCursor, match="another tool"):
            index.search("errors", cursor=sign_token(load_user_key(), values))
    for generation in (
        f"{SCHEMA_VERSION - 1}:{commit}",
        f"{SCHEMA_VERSION}:{commit}:{'a' * 16}",
        f"{SCHEMA_VERSION}:",
    ):
        cursor = write_cursor(load_user_key(), generation=generation, search_digest=search_digest, offset=1)
        with pytest.raises(StaleCursor) as error_info:
            index.search("errors", cursor=cursor)
        cursor_commit = None if generation.endswith(":") else commit
        assert error_info.value.details == {"cursor_commit": cursor_commit, "commit": commit}


def test_cursor_of_the_old_key_is_valid_until_the_key_is_removed(
    index: SearchIndex, temporary_key_file: Path
) -> None:
    cursor = index.search("errors retry", limit=1).next_cursor
    old_key_file = temporary_key_file.rename(temporary_key_file.with_name("old-key"))
    _load_user_key.cache_clear()  # the next process
    page = index.search("errors retry", limit=1, cursor=cursor)
    assert page.hits
    old_key_file.unlink()
    with pytest.raises(InvalidCursor):
        index.search("errors retry", limit=1, cursor=cursor)


def test_mixed_cursors_and_cursors_of_another_key_are_invalid(
    index: SearchIndex, temporary_key_file: Path
) -> None:
    query = "errors retry limit guide"
    first_cursor = index.search(query, limit=1).next_cursor
    second_cursor = index.search(query, limit=2).next_cursor
    assert first_cursor is not None
    assert second_cursor is not None
    assert first_cursor != second_cursor
    mac_length = 20  # characters
    for mixed_cursor in (
        first_cursor[:mac_length] + second_cursor[mac_length:],
        second_cursor[:mac_length] + first_cursor[mac_length:],
        first_cursor + second_cursor,
    ):
        with pytest.raises(InvalidCursor):
            index.search(query, cursor=mixed_cursor)
    temporary_key_file.unlink()
    _load_user_key.cache_clear()
    assert index.search(query, limit=1).next_cursor != first_cursor
    with pytest.raises(InvalidCursor, match="not issued by this server") as error_info:
        index.search(query, cursor=first_cursor)
    assert error_info.value.details == {}


def test_cursor_of_another_commit_is_stale(index: SearchIndex, repo: Repo) -> None:
    cursor = index.search("errors", limit=1).next_cursor
    repo.commit({"notes/new.md": "# New\n"})
    with pytest.raises(StaleCursor):
        index.search("errors", cursor=cursor)


def test_equal_scores_are_ordered_by_address(index: SearchIndex, repo: Repo) -> None:
    repo.commit({f"same/{name}.md": "# Same\n\nwombat\n" for name in "dbca"})
    repo.commit({"same/aa.md": "# Same\n\nwombat\n"})
    names = [f"same/{name}.md#_preamble" for name in ("a", "aa", "b", "c", "d")]
    assert get_ids(index.search("wombat")) == names
    assert get_ids(index.search("wombat", limit=2)) == names[:2]
