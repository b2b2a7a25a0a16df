"""Limits: an operation over a limit is refused with its size, and larger existing documents stay readable."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.workspace.documents import EDIT_CONTEXT
from workspace.config import config
from workspace.document.document import Document
from workspace.edits.operation import Operation
from workspace.edits.sections import AddSection, RemoveSection
from workspace.edits.tasks import CompleteTask
from workspace.edits.text import AppendContent
from workspace.errors import LimitExceeded
from workspace.frontmatter.editor import set_keys
from workspace.frontmatter.reader import InvalidFrontMatter, parse_front_matter
from workspace.git.reader import GitReader
from workspace.markdown import parser
from workspace.markdown.parser import MAX_LINES
from workspace.snapshot.snapshot import Snapshot
from workspace.writing.plan import BatchMode, build_plan

pytestmark = pytest.mark.smoke

SETTINGS = "[limits]\ndocument_bytes = 2000\nheadings = 10\nnesting = 3\noperations = 3\ncall_bytes = 3000\n"
FILES = {
    "docyard.toml": SETTINGS,
    "small.md": "# Small\n\n- [ ] task\n",
    "full.md": "# Full\n" + "## A\n" * 9,
    "fuller.md": "# Fuller\n" + "## A\n" * 20,
    "deeper.md": "# Deeper\n\n" + "> " * 8 + "a\n\n## After\n\n- [ ] task\n",
}


@pytest.fixture
def snapshot(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.commit(FILES))


def find_limit_error(snapshot: Snapshot, operation: Operation) -> LimitExceeded | None:
    """Return the error of an operation that exceeds a limit; None if the operation succeeds."""
    [step] = build_plan(snapshot, [operation], BatchMode.EACH, EDIT_CONTEXT).steps
    assert step.error is None or isinstance(step.error, LimitExceeded)
    return step.error


def build_append(file: str, content: str) -> AppendContent:
    return AppendContent(file=file, slug="_preamble", content=content)


@loop_over(
    ("operation", "limit", "actual", "setting"),
    [
        (build_append("small.md", "x" * 2000), 2000, 2022, "document_bytes"),
        (build_append("small.md", "## A\n" * 10), 10, 11, "headings"),
        (AddSection(file="full.md", title="More"), 10, 11, "headings"),
        (AddSection(file="fuller.md", title="More"), 10, 22, "headings"),
        (build_append("small.md", "> - > - a"), 3, 4, "nesting"),
        (build_append("deeper.md", "> " * 9 + "b"), 3, 9, "nesting"),
    ],
)
def test_operation_over_a_limit_is_refused(
    snapshot: Snapshot, operation: Operation, limit: int, actual: int, setting: str
) -> None:
    limit_error = find_limit_error(snapshot, operation)
    assert limit_error is not None
    assert (limit_error.details["limit"], limit_error.details["actual"]) == (limit, actual)
    assert f"limits.{setting}" in limit_error.fix


@loop_over(
    "operation",
    [
        build_append("small.md", "> - > a"),
        build_append("full.md", "Text."),
        build_append("fuller.md", "Text."),
        RemoveSection(file="fuller.md", slug="a-3"),
        build_append("deeper.md", "> > > > > > > > as deep"),
        CompleteTask(file="deeper.md", slug="after[0]"),
    ],
)
def test_operation_that_does_not_grow_beyond_limit_succeeds(snapshot: Snapshot, operation: Operation) -> None:
    assert find_limit_error(snapshot, operation) is None


def test_call_over_a_limit_is_refused_as_a_whole(snapshot: Snapshot) -> None:
    for operations, limit in (
        ([build_append("small.md", "a")] * 4, 3),
        ([build_append("small.md", "a" * 1600)] * 2, 3000),
    ):
        with pytest.raises(LimitExceeded) as error_info:
            build_plan(snapshot, operations, BatchMode.EACH, EDIT_CONTEXT)
        assert error_info.value.details["limit"] == limit


@loop_over("ending", ["\n", "\r", "\r\n"])
def test_text_of_too_many_lines_is_refused(ending: str) -> None:
    Document.parse((ending * (MAX_LINES // 10)).encode())
    with pytest.raises(LimitExceeded) as error_info:
        Document.parse((ending * (MAX_LINES + 1)).encode(), "large.md")
    assert error_info.value.details["limit"] == MAX_LINES


def test_text_of_too_many_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_TOKENS", 300)
    assert len(Document.parse(b"# A\n" * 100).sections) == 100
    for text in (b"# A\n" * 101, b"- " * 40 + b"a\n" + (b"- " * 40 + b"a\n") * 3, b"-\n\n" * 200):
        with pytest.raises(LimitExceeded):
            Document.parse(text)


NESTED_ALIASES = "a: &a0 [x, x]\n" + "".join(f"b{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
NESTED_MERGES = "a: &a0 {k: v}\n" + "".join(
    f"b{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60)
)


@loop_over(
    "source",
    [NESTED_ALIASES, NESTED_MERGES, "a: &a [*a]\n", "a: &a {b: *a}\n", "a: *b\n",
     "a: " + "[" * 60 + "]" * 60 + "\n", "a: " + "x" * 70_000 + "\n"],
    ids=["nested aliases", "nested merges", "alias in itself", "alias in its mapping", "undefined alias",
         "brackets", "long"],
)  # fmt: skip
def test_front_matter_with_invalid_aliases_or_over_a_limit_is_refused(source: str) -> None:
    with pytest.raises(InvalidFrontMatter) as error_info:
        parse_front_matter(source)
    assert error_info.value.fix
    document = Document.parse(f"---\n{source}---\n\n# T\n".encode(), "recursive.md")
    assert document.title == "T"
    assert document.front_matter_error
    with pytest.raises(InvalidFrontMatter):
        set_keys(source, {"tags": ["a"]}, "\n")


@loop_over("value", ["0x" + "f" * 5000, "1" + ":10" * 3000, "0b" + "1" * 20_000, "1" * 5000, "1e999999"])
def test_front_matter_number_out_of_range_does_not_fail(value: str) -> None:
    document = Document.parse(
        f"---\ntitle: {value}\ntags: [{value}, b]\ntype: {value}\n---\n".encode(), "x.md"
    )
    assert document.title
    assert len(document.title) < 100
    assert document.type is None or document.front_matter_error or value == "1e999999"


def test_finite_yaml_aliases_are_read() -> None:
    assert parse_front_matter("a: &a [x]\nb: *a\nc: {<<: {d: 1}}\n") == {
        "a": ["x"],
        "b": ["x"],
        "c": {"d": 1},
    }


def test_call_that_parses_too_much_is_refused(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation parses its document again, so many operations on a large one would take minutes."""
    monkeypatch.setattr(config, "MAX_CALL_READ_BYTES", 1_500)
    operations = [build_append("small.md", "word " * 80 + str(number)) for number in range(3)]
    assert build_plan(snapshot, operations[:2], BatchMode.EACH, EDIT_CONTEXT).changes
    with pytest.raises(LimitExceeded, match="one after the other"):
        build_plan(snapshot, operations, BatchMode.EACH, EDIT_CONTEXT)
