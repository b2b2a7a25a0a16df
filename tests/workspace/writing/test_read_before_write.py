"""Read before write: a client may remove only text that it has read or written."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates import builtin_types
from tests.loops import loop_over
from tests.repositories import Repo, normal
from tests.workspace.documents import EDIT_CONTEXT, documents
from workspace.document.document import Document
from workspace.document.section_text import compute_digest
from workspace.edits import (
    AddSection,
    AddTask,
    AppendContent,
    CompleteTask,
    CreateDocument,
    DocumentOperation,
    RemoveDocument,
    RemoveSection,
    RenameSection,
    UpdateContent,
)
from workspace.edits.operation import Operation
from workspace.errors import ConcurrentChange, WorkspaceError
from workspace.git.reader import GitReader
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import Snapshot
from workspace.writing.plan import Mode, Plan, StepStatus, plan
from workspace.writing.read_before_write import (
    OverwriteCheck,
    Precondition,
    ReadFirst,
    SeenTexts,
    UnknownCommit,
    resolve_base_commit,
)

pytestmark = pytest.mark.smoke

PAGE = "page.md"
TEXT = "# Page\n\nw0\n\n## One\n\nw1\n\n### Deep\n\nw2\n\n## Two\n\n## Tasks\n\n- [ ] w3\n- [ ] w4\n"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return normal(tmp_path_factory.mktemp("seen_texts") / "repo", {PAGE: TEXT, "other.md": "# Other\n\nw9\n"})


def at(repo: Repo, commit: str | None = None) -> Snapshot:
    return Snapshot(GitReader(repo.path), commit or repo.head())


def run(
    snapshot: Snapshot,
    *operations: Operation,
    seen_texts: SeenTexts | None = None,
    base: Snapshot | None = None,
) -> Plan:
    return plan(snapshot, operations, Mode.EACH, EDIT_CONTEXT, Precondition(base, seen_texts))


def read_sections(snapshot: Snapshot, *slugs: str, path: str = PAGE) -> SeenTexts:
    """Return the seen texts of a client that has read these sections."""
    seen_texts, document = SeenTexts(), snapshot.document(path)
    seen_texts.add(compute_digest(document, item) for item in document.sections if item.key in slugs)
    return seen_texts


def codes(planned: Plan) -> list[str]:
    return [step.error.code if step.error else step.status.value for step in planned.steps]


UPDATE = UpdateContent(file=PAGE, slug="one", content="New.")
DEEP = UpdateContent(file=PAGE, slug="one", content="New.", include_subsections=True)
REMOVE = RemoveSection(file=PAGE, slug="one")


@loop_over(
    ("operation", "needed"),
    [
        (UPDATE, ["one"]),
        (DEEP, ["one", "one/deep"]),
        (REMOVE, ["one", "one/deep"]),
        (UpdateContent(file=PAGE, slug="_preamble", content="New."), ["_preamble"]),
        (UpdateContent(file=PAGE, slug="two", content="New."), []),
        (UpdateContent(file=PAGE, slug="one", content="w1"), []),
        (RemoveSection(file=PAGE, slug="two"), []),
        (RemoveDocument(path=PAGE), ["_preamble", "one", "one/deep", "tasks"]),
        (AppendContent(file=PAGE, slug="one", content="More."), []),
        (AddSection(file=PAGE, title="New", content="Text."), []),
        (AddSection(file=PAGE, title="Two", content="Text."), []),
        (RenameSection(file=PAGE, slug="one", new_title="Uno"), []),
        (CompleteTask(file=PAGE, slug="tasks[0]", note="Done"), []),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_operation_that_removes_text_requires_reading_it(
    page: Repo, operation: Operation, needed: list[str]
) -> None:
    snapshot = at(page)
    step = run(snapshot, operation).steps[0]
    assert (step.status is StepStatus.FAILED) == bool(needed)
    if needed:
        assert isinstance(step.error, ReadFirst)
        assert step.error.details["slugs"] == needed
        assert [item.slug for item in step.error.details["current"]] == needed
        assert "w1" not in step.error.message + step.error.fix
        for missing in needed:
            rest = read_sections(snapshot, *(name for name in needed if name != missing))
            error = run(snapshot, operation, seen_texts=rest).steps[0].error
            assert isinstance(error, ReadFirst)
            assert error.details["slugs"] == [missing]
    assert codes(run(snapshot, operation, seen_texts=read_sections(snapshot, *needed))) == ["done"]
    assert codes(run(snapshot, operation, base=snapshot)) == ["done"]


def test_refused_operation_leaves_the_batch_unchanged(page: Repo) -> None:
    result = run(at(page), UPDATE, AppendContent(file=PAGE, slug="two", content="x"))
    assert codes(result) == ["READ_FIRST", "done"]
    changed = result.changes[PAGE]
    assert changed is not None
    assert b"w1" in changed


def test_batch_may_overwrite_its_own_text(page: Repo) -> None:
    snapshot = at(page)
    fill = UpdateContent(file=PAGE, slug="two", content="Draft.")
    again = UpdateContent(file=PAGE, slug="two", content="Final.")
    result = run(snapshot, fill, again, RemoveSection(file=PAGE, slug="two"))
    assert codes(result) == ["done"] * 3
    made = CreateDocument(type=builtin_types()["document"], title="New", content="Text.\n\n## Part\n\nText.")
    assert codes(run(snapshot, made, RemoveDocument(path="new.md"))) == ["done", "done"]


def test_appending_to_unread_text_does_not_permit_overwriting_it(page: Repo) -> None:
    snapshot = at(page)
    append = AppendContent(file=PAGE, slug="one", content="Mine.")
    result = run(snapshot, append, UPDATE)
    assert codes(result) == ["done", "READ_FIRST"]
    assert not result.written_digests
    tick = CompleteTask(file=PAGE, slug="tasks[0]")
    assert codes(run(snapshot, tick, RemoveSection(file=PAGE, slug="tasks"))) == ["done", "READ_FIRST"]
    for known in (read_sections(snapshot, "one"), None):
        result = run(snapshot, append, UPDATE, seen_texts=known, base=None if known else snapshot)
        assert codes(result) == ["done", "done"]


def test_unread_duplicate_of_an_unchanged_text_is_not_overwritten(tmp_path: Path) -> None:
    snapshot = at(normal(tmp_path / "repo", {PAGE: "## A\n\nSame.\n\n## B\n\nSame.\n"}))
    append = AppendContent(file=PAGE, slug="a", content="Mine.")
    assert codes(run(snapshot, append, RemoveSection(file=PAGE, slug="a"))) == ["done", "READ_FIRST"]


def test_text_changed_since_the_base_is_a_conflict(page: Repo, tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo", {PAGE: TEXT})
    base = at(repo)
    repo.commit({PAGE: TEXT.replace("w1", "theirs")})
    tip = at(repo)
    error = run(tip, DEEP, base=base).steps[0].error
    assert isinstance(error, ConcurrentChange)
    shown = {name: [item.source for item in error.details[name]] for name in ("base", "theirs", "ours")}
    assert shown == {
        "base": ["## One\n\nw1\n\n"],
        "theirs": ["## One\n\ntheirs\n\n"],
        "ours": ["## One\n\nNew.\n\n"],
    }
    assert error.details["slugs"] == ["one"]
    deep = UpdateContent(file=PAGE, slug="one/deep", content="New.")
    assert codes(run(tip, deep, RemoveDocument(path=PAGE), base=base)) == ["done", "CONFLICT"]
    assert codes(run(tip, DEEP, base=base, seen_texts=read_sections(tip, "one"))) == ["done"]


def test_document_missing_in_the_base_is_a_conflict(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo", {"other.md": "# Other\n"})
    base = at(repo)
    repo.commit({PAGE: TEXT})
    error = run(at(repo), UPDATE, base=base).steps[0].error
    assert isinstance(error, ConcurrentChange)
    assert error.details["base"] == ()


def test_too_large_document_is_removed_with_its_base_commit(tmp_path: Path) -> None:
    config = "[limits]\ndocument_bytes = 1000\n"
    snapshot = at(normal(tmp_path / "repo", {PAGE: "x" * 2000, "docyard.toml": config}))
    remove = RemoveDocument(path=PAGE)
    error = run(snapshot, remove, seen_texts=SeenTexts()).steps[0].error
    assert isinstance(error, ReadFirst)
    assert "base_commit" in error.fix
    result = run(snapshot, remove, base=snapshot)
    assert codes(result) == ["done"]
    assert result.changes == {PAGE: None}


def test_overwrite_any_requires_no_read(tmp_path: Path) -> None:
    snapshot = at(normal(tmp_path / "repo", {PAGE: TEXT, "docyard.toml": 'overwrite = "any"\n'}))
    assert codes(run(snapshot, UPDATE, RemoveDocument(path=PAGE))) == ["done", "done"]


def test_addresses_refer_to_the_base(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo", {PAGE: TEXT})
    base = at(repo)
    repo.commit({PAGE: TEXT.replace("- [ ] w3\n- [ ] w4", "- [ ] w5\n- [ ] w4\n- [ ] w3")})
    tip = at(repo)
    tick = CompleteTask(file=PAGE, slug="tasks[0]")
    assert codes(run(tip, tick, base=base)) == ["done"]
    assert [b"[x] w3" in _bytes(run(tip, tick, base=known)) for known in (base, None)] == [True, False]
    # A task added by the batch is counted in the base.
    add = _task("w6", before="tasks[0]")
    second = CompleteTask(file=PAGE, slug="tasks[1]")
    result = run(tip, add, second, CompleteTask(file=PAGE, slug="tasks[0]"), base=base)
    assert codes(result) == ["done"] * 3
    assert b"- [ ] w5\n- [ ] w4\n- [x] w6" in _bytes(result).replace(b"\n  - Completed: 2000-01-02", b"")
    assert b"[x] w3" in _bytes(result)
    replay_result = plan(tip, [second], Mode.EACH, EDIT_CONTEXT, Precondition(first=base))
    assert b"[x] w4" in _bytes(replay_result)


@loop_over(
    ("operation", "code"),
    [
        (CompleteTask(file=PAGE, slug="tasks[2]"), "TASK_NOT_FOUND"),
        (AddTask(file=PAGE, slug="tasks", title="w6", before="tasks[2]"), "TASK_NOT_FOUND"),
        (CompleteTask(file=PAGE, slug="newer[0]"), "TASK_NOT_FOUND"),
        (AppendContent(file=PAGE, slug="newer", content="w6"), "SECTION_NOT_FOUND"),
        (AppendContent(file=PAGE, slug="twice", content="w6"), "SECTION_NOT_FOUND"),
        (AddSection(file=PAGE, title="Part", parent_slug="newer"), "SECTION_NOT_FOUND"),
        (RemoveSection(file=PAGE, slug="newer"), "SECTION_NOT_FOUND"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_address_of_a_section_newer_than_the_base_is_refused(
    tmp_path: Path, operation: DocumentOperation, code: str
) -> None:
    repo = normal(tmp_path / "repo", {PAGE: TEXT})
    base = at(repo)
    newer = "- [ ] w5\n\n## Newer\n\n- [ ] w7\n\n## Up\n\n### Twice\n\n## Down\n\n### Twice\n"
    repo.commit({PAGE: TEXT + newer, "new.md": "## Newer\n"})
    result = run(at(repo), operation, base=base)
    error = result.steps[0].error
    assert error is not None
    assert (error.code, result.changes) == (code, {})
    assert "not in base_commit" in error.message
    assert "base_commit" in error.fix
    # The same applies with the tip at the call. Addresses in a newer document refer to the tip.
    replay_result = plan(at(repo), [operation], Mode.EACH, EDIT_CONTEXT, Precondition(base, None, at(repo)))
    assert codes(replay_result) == [code]
    assert codes(run(at(repo), AppendContent(file="new.md", slug="newer", content="w6"), base=base)) == [
        "done"
    ]


def test_address_missing_in_base_and_tip_has_the_normal_error(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo", {PAGE: TEXT})
    base = at(repo)
    repo.commit({PAGE: TEXT + "\n## Newer\n"})
    error = run(at(repo), CompleteTask(file=PAGE, slug="tasks[7]"), base=base).steps[0].error
    assert error is not None
    assert "the last task is tasks[1]" in error.message


def test_sections_created_by_the_batch_may_be_missing_in_base(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo", {PAGE: "w0\n", "gone.md": "# Gone\n"})
    base = at(repo)
    repo.git("rm", "-q", "gone.md")
    repo.commit({PAGE: "# Page\n\nw0\n\n## Other\n"})
    document = builtin_types()["document"]
    result = run(
        at(repo),
        AddSection(file=PAGE, title="Ours"),
        AppendContent(file=PAGE, slug="ours", content="w1"),
        AddTask(file=PAGE, slug="ours", title="w2"),
        CompleteTask(file=PAGE, slug="ours[0]"),
        CreateDocument(type=document, title="Gone", content="w3"),
        AddSection(file="gone.md", title="Ours"),
        AppendContent(file="gone.md", slug="ours", content="w4"),
        AppendContent(file=PAGE, slug="_preamble", content="w5"),
        base=base,
    )
    assert codes(result) == ["done"] * 8
    assert b"# Page\n\nw0\n\nw5\n" in (result.changes[PAGE] or b"")


def test_addresses_refer_to_the_base_and_then_the_first_tip(tmp_path: Path) -> None:
    """The caller read the first state, called at the second, and the third is the tip.

    Addresses that the first state does not have refer to the second.
    """
    states = ["- [ ] a\n- [ ] b", "- [ ] c\n- [ ] a\n- [ ] b\n- [ ] d", "- [ ] d\n- [ ] c\n- [ ] b\n- [ ] a"]
    texts = [f"## Tasks\n\n{state}\n" for state in states]
    repo = normal(tmp_path / "repo", {PAGE: texts[0]})
    base = at(repo)
    first = at(repo, repo.commit({PAGE: texts[1], "new.md": texts[1]}))
    tip = at(repo, repo.commit({PAGE: texts[2], "new.md": texts[2]}))
    ticks = [
        CompleteTask(file=file, slug=f"tasks[{index}]")
        for file, index in ((PAGE, 0), (PAGE, 3), ("new.md", 3))
    ]
    result = plan(tip, ticks, Mode.EACH, EDIT_CONTEXT, Precondition(base, None, first))
    assert codes(result) == ["done", "TASK_NOT_FOUND", "done"]
    for file, ticked in ((PAGE, b"a"), ("new.md", b"d")):
        data = result.changes[file] or b""
        assert [name for name in (b"a", b"b", b"c", b"d") if b"[x] " + name in data] == [ticked]


def test_base_commit_must_be_a_full_existing_id(page: Repo) -> None:
    git, head = GitReader(page.path), page.head()
    assert resolve_base_commit(git, head) == resolve_base_commit(git, f" {head.upper()} ") == head
    tree = page.git("rev-parse", "HEAD^{tree}").strip()
    for wrong in ("", "HEAD", head[:12], "0" * 40, tree, head + "0", "main"):
        with pytest.raises(UnknownCommit):
            resolve_base_commit(git, wrong)


def test_seen_texts_are_bounded_and_evict_the_least_used() -> None:
    seen_texts = SeenTexts(3)
    seen_texts.add([b"a", b"b", None, b"c"])
    assert b"a" in seen_texts
    seen_texts.add([b"d"])
    assert [name in seen_texts for name in (b"a", b"b", b"c", b"d")] == [True, False, True, True]
    assert len(seen_texts) == 3


def test_seen_texts_are_thread_safe() -> None:
    seen_texts = SeenTexts(100)

    def work(number: int) -> None:
        for count in range(500):
            name = b"%d-%d" % (number, count)
            seen_texts.add([name])
            assert len(seen_texts) <= 100
            assert (name in seen_texts) in (True, False)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen_texts) == 100


@given(documents)
def test_rename_preserves_the_digest_of_a_text(document: Document) -> None:
    for section in document.sections:
        rename = RenameSection(file="doc.md", slug=section.key, new_title="Quite another")
        try:
            changed, _ = rename.revise(document, EDIT_CONTEXT)
        except WorkspaceError:
            continue
        if len(changed.sections) == len(document.sections):
            renamed = changed.sections[section.position]
            assert compute_digest(changed, renamed) == compute_digest(document, section)


SLUGS = ("_preamble", "one", "one/deep", "two", "tasks", "new")
operations = st.one_of(
    st.tuples(st.just("read"), st.sampled_from(SLUGS), st.just(False)),
    st.tuples(st.just("update"), st.sampled_from(SLUGS), st.booleans()),
    st.tuples(st.just("append"), st.sampled_from(SLUGS), st.booleans()),
    st.tuples(st.just("remove"), st.sampled_from(SLUGS), st.just(False)),
    st.tuples(st.just("rename"), st.sampled_from(SLUGS), st.just(False)),
    st.tuples(st.just("add"), st.just("new"), st.booleans()),
    st.tuples(st.just("other"), st.sampled_from(SLUGS), st.just(False)),
    st.tuples(st.just("commit"), st.just(""), st.booleans()),
)


@given(st.lists(operations, max_size=12))
def test_no_word_is_removed_without_being_read_or_written(
    page: Repo, story: list[tuple[str, str, bool]]
) -> None:
    """Let a client and another writer edit one document, in which each word is unique."""
    snapshot = at(page)
    seen_texts, overlay = SeenTexts(), Overlay(snapshot)
    overwrite_check = OverwriteCheck(Precondition(seen_texts=seen_texts), snapshot)
    known: set[str] = set()
    pending: set[str] = set()
    for number, (verb, slug, flag) in enumerate(story):
        document = overlay.document(PAGE)
        section = document.section_by_key(slug)
        word = f"x{number}"
        if verb == "commit":
            if flag:  # uncommitted text is discarded, as after a dry run
                seen_texts.add(overwrite_check.written_digests)
                known |= pending
                pending = set()
                overwrite_check = OverwriteCheck(Precondition(seen_texts=seen_texts), snapshot)
            continue
        if verb == "read":
            if section:
                seen_texts.add([compute_digest(document, section)])
                known |= _words(document.source(section))
            continue
        operation = _operation(verb, slug, word, flag)
        draft = overlay.copy()
        try:
            outcome = operation.apply(draft, EDIT_CONTEXT)
            if outcome.is_change and verb != "other":
                overwrite_check.check(operation, overlay, draft)
        except ReadFirst as refused:
            # The error contains the unread text, so the client has read it now.
            shown = refused.details["current"]
            seen_texts.add(item.digest for item in shown)
            known |= {word for item in shown for word in _words(item.source.encode())}
            overwrite_check.check(operation, overlay, draft)
        except WorkspaceError:
            continue
        removed = _words(document.data) - _words(draft.document(PAGE).data)
        if verb != "other":
            assert removed <= known | pending
            pending |= {word}
        overlay = draft


def _operation(verb: str, slug: str, word: str, flag: bool) -> DocumentOperation:
    match verb:
        case "update" | "other":
            return UpdateContent(file=PAGE, slug=slug, content=word, include_subsections=flag)
        case "append":
            content = f"{word}\n\n#### Sub {word}\n\nAnd {word}" if flag else word
            return AppendContent(file=PAGE, slug=slug, content=content)
        case "remove":
            return RemoveSection(file=PAGE, slug=slug)
        case "rename":
            return RenameSection(file=PAGE, slug=slug, new_title=f"Renamed {word}")
    return AddSection(file=PAGE, title="New", content=word if flag else None)


def _words(data: bytes) -> set[str]:
    """Return the words of texts; words of headings may be removed."""
    lines = [line for line in data.decode().splitlines() if not line.startswith("#")]
    return {word for line in lines for word in line.split() if word[0] in "wx" and word[1:].isdigit()}


def _bytes(planned: Plan) -> bytes:
    assert codes(planned) == ["done"] * len(planned.steps)
    data = planned.changes[PAGE]
    assert data is not None
    return data


def _task(title: str, before: str | None = None) -> DocumentOperation:
    return AddTask(file=PAGE, slug="tasks", title=title, before=before)
