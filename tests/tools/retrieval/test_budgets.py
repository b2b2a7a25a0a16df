"""No answer of a server of sources has more tokens than its call allows, and all of its texts can be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.documentation_sources import open_test_sources, write_sources_file
from tests.repositories import create_repository
from tests.tools.test_budgets import DOCUMENTS, PATHS, WORDS, render_answer
from tools.retrieval.dispatcher import SourcesDispatcher
from tools.tool import Answer
from workspace.texts.token_bound import count_tokens_at_most

pytestmark = pytest.mark.property

STEPS = {
    "First needle": "請求 needle " * 3_000,
    "Second 🚀": "👩‍👩‍👧‍👦 " * 2_000,
    "T" * 2_000: "A needle.",
    "Links": "".join(f"See [entry {number}](list/{number:03d}.md).\n" for number in range(60)),
}
WALKTHROUGH = "---\ntype: walkthrough\ntechnology: [Python]\n---\n# Tour\n\n" + "".join(
    f"## {title}\n\n{text}\n\n" for title, text in STEPS.items()
)
SOURCES = "".join(
    f'[sources.{name}]\nrepo = "{repo}"\ndescription = "{description}"\n'
    for name, repo, description in (
        ("main", "main", "Needles"),
        ("other", "other", "数据" * 200),
        ("missing", "missing", "x"),
    )
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SourcesDispatcher]:
    folder = tmp_path_factory.mktemp("sources")
    create_repository(folder / "main", {**DOCUMENTS, "tour.md": WALKTHROUGH})
    create_repository(folder / "other", {"a.md": "# A\n\nneedle retry\n"})
    text = f"{SOURCES}[features]\ncontextual_search = true\n[limits]\nmax_tokens = 20000\n"
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        sources = open_test_sources(write_sources_file(folder, text))
        yield SourcesDispatcher(sources, ["retrieval", "documents", "reading"])
        sources.close()


def call_within(server: SourcesDispatcher, tool: str, max_tokens: int, **fields: Any) -> Answer:
    answer = server.call(tool, {**fields, "max_tokens": max_tokens}, client="tester")
    for text in render_answer(answer):
        assert count_tokens_at_most(text) <= max_tokens, (tool, fields, text[:2_000])
    return answer


namespaces = st.sampled_from(("main", "other", "missing", "*", "nothing"))
questions = st.fixed_dictionaries(
    {"query": st.sampled_from((*WORDS, "nothing-like-this " * 30)), "namespace": namespaces},
    optional={"max_results": st.integers(1, 20), "include_content": st.booleans()},
)
contexts = st.fixed_dictionaries(
    {},
    optional={
        "current_file": st.sampled_from(("main.py", "x" * 5_000)),
        "error_message": st.sampled_from(("NeedleError: retry", "数据" * 1_000)),
    },
)
calls = st.one_of(
    st.tuples(st.just("search_documentation"), questions),
    st.tuples(
        st.just("search_documentation"),
        st.fixed_dictionaries({"operations": st.lists(questions, min_size=1, max_size=10)}),
    ),
    st.tuples(
        st.just("search_documentation_contextual"),
        st.fixed_dictionaries(
            {"query": st.sampled_from(WORDS), "namespace": namespaces, "context": contexts}
        ),
    ),
    st.tuples(st.just("list_documentation_sources"), st.fixed_dictionaries({"include_stats": st.booleans()})),
    st.tuples(st.just("list_walkthroughs"), st.fixed_dictionaries({"namespace": namespaces})),
    st.tuples(
        st.just("start_walkthrough"), st.sampled_from(({"walkthrough": "?"}, {"walkthrough": "x" * 5_000}))
    ),
    st.tuples(st.just("get_next_step"), st.just({"handle": "y" * 3_000})),
    st.tuples(
        st.just("get_doc"),
        st.fixed_dictionaries({"chunk_id": st.sampled_from(PATHS), "namespace": namespaces}),
    ),
    st.tuples(
        st.just("list_documents"),
        st.fixed_dictionaries({"paths_only": st.booleans(), "namespace": namespaces}),
    ),
    st.tuples(
        st.just("smart_read"),
        st.fixed_dictionaries({"file_path": st.sampled_from(PATHS), "namespace": st.just("main")}),
    ),
)
budgets = st.one_of(st.integers(200, 400), st.integers(200, 6_000), st.just(20_000))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(call=calls, max_tokens=budgets, with_handle=st.booleans())
def test_no_answer_exceeds_its_budget(
    server: SourcesDispatcher, call: tuple[str, dict[str, Any]], max_tokens: int, with_handle: bool
) -> None:
    tool, fields = call
    if with_handle and tool.startswith("search_"):
        [walkthrough] = call_within(server, "list_walkthroughs", 5_000, namespace="main").data["walkthroughs"]
        start = call_within(server, "start_walkthrough", max_tokens, walkthrough=walkthrough["id"])
        fields = {**fields, "handle": start.data["handle"]}
    call_within(server, tool, max_tokens, **fields)


@settings(max_examples=4, deadline=None)
@given(max_tokens=st.integers(500, 8_000))
def test_every_part_of_a_walkthrough_is_reached(server: SourcesDispatcher, max_tokens: int) -> None:
    [walkthrough] = call_within(server, "list_walkthroughs", max_tokens, namespace="main").data[
        "walkthroughs"
    ]
    answer = call_within(server, "start_walkthrough", max_tokens, walkthrough=walkthrough["id"])
    texts = [""]
    while not answer.data.get("done"):
        step = answer.data["step"]
        texts[-1] += step["content"]
        offset_field = {"offset": step["offset"]} if step.get("truncated") else {}
        if not offset_field:
            texts.append("")
        answer = call_within(
            server, "get_next_step", max_tokens, handle=answer.data["handle"], **offset_field
        )
    texts.pop()
    assert len(texts) == len(STEPS)
    for text, (title, body) in zip(texts, STEPS.items(), strict=True):
        assert text.strip() == f"## {title}\n\n{body}".strip()


@settings(max_examples=4, deadline=None)
@given(max_tokens=st.integers(300, 8_000))
def test_pages_of_a_search_have_each_hit(server: SourcesDispatcher, max_tokens: int) -> None:
    addresses: list[str] = []
    position: dict[str, Any] = {}
    while True:
        answer = call_within(
            server, "search_documentation", max_tokens, query="entry", namespace="main", **position
        )
        assert answer.data["sources"]
        addresses += [source["address"] for source in answer.data["sources"]]
        if "next_cursor" not in answer.data:
            break
        position = {"cursor": answer.data["next_cursor"]}
    assert len(addresses) == len(set(addresses))
    assert {f"list/{number:03d}.md#_preamble" for number in range(60)} <= set(addresses)
