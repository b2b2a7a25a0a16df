"""Read before write: a client may remove only text that it has read or written."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates import builtin_types
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.workspace.documents import EDIT_CONTEXT, documents
from workspace.document.document import Document
from workspace.document.section_text import compute_digest
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.operation import DocumentOperation, Operation
from workspace.edits.sections import AddSection, RemoveSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.errors import ConcurrentChange, WorkspaceError
from workspace.git.reader import GitReader
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import Snapshot
from workspace.writing.plan import BatchMode, Plan, StepStatus, build_plan
from workspace.writing.read_before_write import (
    OverwriteCheck,
    Precondition,
    ReadFirst,
    SeenTexts,
    UnknownCommit,
    resolve_base_commit,
)

pytestmark = pytest.mark.smoke

PAGE_PATH = "page.md"
PAGE_TEXT = "# Page\n\nw0\n\n## One\n\nw1\n\n### Deep\n\nw2\n\n## Two\n\n## Tasks\n\n- [ ] w3\n- [ ] w4\n"


@pytest.fixture(scope="module")
def page_repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(
        tmp_path_factory.mktemp("seen_texts") / "repo", {PAGE_PATH: PAGE_TEXT, "other.md": "# Other\n\nw9\n"}
    )


def take_snapshot(repo: Repo, commit: str | None = None) -> Snapshot:
    return Snapshot(GitReader(repo.path), commit or repo.head())


def plan_operations(
    snapshot: Snapshot,
    *operations: Operation,
    seen_texts: SeenTexts | None = None,
    base: Snapshot | None = None,
) -> Plan:
    return build_plan(snapshot, operations, BatchMode.EACH, EDIT_CONTEXT, Precondition(base, seen_texts))


def read_sections(snapshot: Snapshot, *slugs: str, path: str = PAGE_PATH) -> SeenTexts:
    """Return the seen texts of a client that has read these sections."""
    seen_texts, document = SeenTexts(), snapshot.document(path)
    seen_texts.add(compute_digest(document, section) for section in document.sections if section.key in slugs)
    return seen_texts


def list_codes(plan_result: Plan) -> list[str]:
    return [step.error.code if step.error else step.status.value for step in plan_result.steps]


UPDATE_OPERATION = UpdateContent(file=PAGE_PATH, slug="one", content="New.")
DEEP_UPDATE = UpdateContent(file=PAGE_PATH, slug="one", content="New.", include_subsections=True)
REMOVE_OPERATION = RemoveSection(file=PAGE_PATH, slug="one")


@loop_over(
    ("operation", "required_slugs"),
    [
        (UPDATE_OPERATION, ["one"]),
        (DEEP_UPDATE, ["one", "one/deep"]),
        (REMOVE_OPERATION, ["one", "one/deep"]),
        (UpdateContent(file=PAGE_PATH, slug="_preamble", content="New."), ["_preamble"]),
        (UpdateContent(file=PAGE_PATH, slug="two", content="New."), []),
        (UpdateContent(file=PAGE_PATH, slug="one", content="w1"), []),
        (RemoveSection(file=PAGE_PATH, slug="two"), []),
        (RemoveDocument(path=PAGE_PATH), ["_preamble", "one", "one/deep", "tasks"]),
        (AppendContent(file=PAGE_PATH, slug="one", content="More."), []),
        (AddSection(file=PAGE_PATH, title="New", content="Text."), []),
        (AddSection(file=PAGE_PATH, title="Two", content="Text."), []),
        (RenameSection(file=PAGE_PATH, slug="one", new_title="Uno"), []),
        (CompleteTask(file=PAGE_PATH, slug="tasks[0]", note="Done"), []),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_only_removed_text_must_have_been_read(
    page_repo: Repo, operation: Operation, required_slugs: list[str]
) -> None:
    snapshot = take_snapshot(page_repo)
    step = plan_operations(snapshot, operation).steps[0]
    assert (step.status is StepStatus.FAILED) == bool(required_slugs)
    if required_slugs:
        assert isinstance(step.error, ReadFirst)
        assert step.error.details["slugs"] == required_slugs
        assert [entry.slug for entry in step.error.details["current"]] == required_slugs
        assert "w1" not in step.error.message + step.error.fix
        for missing_slug in required_slugs:
            partial_texts = read_sections(
                snapshot, *(name for name in required_slugs if name != missing_slug)
            )
            error = plan_operations(snapshot, operation, seen_texts=partial_texts).steps[0].error
            assert isinstance(error, ReadFirst)
            assert error.details["slugs"] == [missing_slug]
    assert list_codes(
        plan_operations(snapshot, operation, seen_texts=read_sections(snapshot, *required_slugs))
    ) == ["done"]
    assert list_codes(plan_operations(snapshot, operation, base=snapshot)) == ["done"]


def test_refused_operation_leaves_the_batch_unchanged(page_repo: Repo) -> None:
    result = plan_operations(
        take_snapshot(page_repo), UPDATE_OPERATION, AppendContent(file=PAGE_PATH, slug="two", content="x")
    )
    assert list_codes(result) == ["READ_FIRST", "done"]
    new_data = result.changes[PAGE_PATH]
    assert new_data is not None
    assert b"w1" in new_data


def test_batch_may_overwrite_its_own_text(page_repo: Repo) -> None:
    snapshot = take_snapshot(page_repo)
    first_update = UpdateContent(file=PAGE_PATH, slug="two", content="Draft.")
    second_update = UpdateContent(file=PAGE_PATH, slug="two", content="Final.")
    result = plan_operations(snapshot, first_update, second_update, RemoveSection(file=PAGE_PATH, slug="two"))
    assert list_codes(result) == ["done"] * 3
    create = CreateDocument(
        type=builtin_types()["document"], title="New", content="Text.\n\n## Part\n\nText."
    )
    assert list_codes(plan_operations(snapshot, create, RemoveDocument(path="new.md"))) == ["done", "done"]


def test_appending_to_unread_text_does_not_permit_overwriting_it(page_repo: Repo) -> None:
    snapshot = take_snapshot(page_repo)
    append = AppendContent(file=PAGE_PATH, slug="one", content="Mine.")
    result = plan_operations(snapshot, append, UPDATE_OPERATION)
    assert list_codes(result) == ["done", "READ_FIRST"]
    assert not result.written_digests
    complete = CompleteTask(file=PAGE_PATH, slug="tasks[0]")
    assert list_codes(plan_operations(snapshot, complete, RemoveSection(file=PAGE_PATH, slug="tasks"))) == [
        "done",
        "READ_FIRST",
    ]
    for read_texts in (read_sections(snapshot, "one"), None):
        result = plan_operations(
            snapshot, append, UPDATE_OPERATION, seen_texts=read_texts, base=None if read_texts else snapshot
        )
        assert list_codes(result) == ["done", "done"]


def test_unread_duplicate_of_an_unchanged_text_is_not_overwritten(tmp_path: Path) -> None:
    snapshot = take_snapshot(
        create_repository(tmp_path / "repo", {PAGE_PATH: "## A\n\nSame.\n\n## B\n\nSame.\n"})
    )
    append = AppendContent(file=PAGE_PATH, slug="a", content="Mine.")
    assert list_codes(plan_operations(snapshot, append, RemoveSection(file=PAGE_PATH, slug="a"))) == [
        "done",
        "READ_FIRST",
    ]


def test_text_changed_since_the_base_is_a_conflict(page_repo: Repo, tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {PAGE_PATH: PAGE_TEXT})
    base = take_snapshot(repo)
    repo.commit({PAGE_PATH: PAGE_TEXT.replace("w1", "theirs")})
    tip = take_snapshot(repo)
    error = plan_operations(tip, DEEP_UPDATE, base=base).steps[0].error
    assert isinstance(error, ConcurrentChange)
    sources = {name: [item.source for item in error.details[name]] for name in ("base", "theirs", "ours")}
    assert sources == {
        "base": ["## One\n\nw1\n\n"],
        "theirs": ["## One\n\ntheirs\n\n"],
        "ours": ["## One\n\nNew.\n\n"],
    }
    assert error.details["slugs"] == ["one"]
    deep_update = UpdateContent(file=PAGE_PATH, slug="one/deep", content="New.")
    assert list_codes(plan_operations(tip, deep_update, RemoveDocument(path=PAGE_PATH), base=base)) == [
        "done",
        "CONFLICT",
    ]
    assert list_codes(plan_operations(tip, DEEP_UPDATE, base=base, seen_texts=read_sections(tip, "one"))) == [
        "done"
    ]


def test_document_missing_in_the_base_is_a_conflict(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"other.md": "# Other\n"})
    base = take_snapshot(repo)
    repo.commit({PAGE_PATH: PAGE_TEXT})
    error = plan_operations(take_snapshot(repo), UPDATE_OPERATION, base=base).steps[0].error
    assert isinstance(error, ConcurrentChange)
    assert error.details["base"] == ()


def test_too_large_document_is_removed_with_its_base_commit(tmp_path: Path) -> None:
    config = "[limits]\ndocument_bytes = 1000\n"
    snapshot = take_snapshot(
        create_repository(tmp_path / "repo", {PAGE_PATH: "x" * 2000, "docyard.toml": config})
    )
    remove = RemoveDocument(path=PAGE_PATH)
    error = plan_operations(snapshot, remove, seen_texts=SeenTexts()).steps[0].error
    assert isinstance(error, ReadFirst)
    assert "base_commit" in error.fix
    result = plan_operations(snapshot, remove, base=snapshot)
    assert list_codes(result) == ["done"]
    assert result.changes == {PAGE_PATH: None}


def test_overwrite_any_requires_no_read(tmp_path: Path) -> None:
    snapshot = take_snapshot(
        create_repository(tmp_path / "repo", {PAGE_PATH: PAGE_TEXT, "docyard.toml": 'overwrite = "any"\n'})
    )
    assert list_codes(plan_operations(snapshot, UPDATE_OPERATION, RemoveDocument(path=PAGE_PATH))) == [
        "done",
        "done",
    ]


def test_addresses_refer_to_the_base(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {PAGE_PATH: PAGE_TEXT})
    base = take_snapshot(repo)
    repo.commit({PAGE_PATH: PAGE_TEXT.replace("- [ ] w3\n- [ ] w4", "- [ ] w5\n- [ ] w4\n- [ ] w3")})
    tip = take_snapshot(repo)
    complete = CompleteTask(file=PAGE_PATH, slug="tasks[0]")
    assert list_codes(plan_operations(tip, complete, base=base)) == ["done"]
    assert [
        b"[x] w3" in _read_planned_page(plan_operations(tip, complete, base=base_snapshot))
        for base_snapshot in (base, None)
    ] == [True, False]
    # The indexes of tasks count a task that the batch added before.
    add = _build_add_task("w6", before="tasks[0]")
    second_complete = CompleteTask(file=PAGE_PATH, slug="tasks[1]")
    result = plan_operations(
        tip, add, second_complete, CompleteTask(file=PAGE_PATH, slug="tasks[0]"), base=base
    )
    assert list_codes(result) == ["done"] * 3
    assert b"- [ ] w5\n- [ ] w4\n- [x] w6" in _read_planned_page(result).replace(
        b"\n  - Completed: 2000-01-02", b""
    )
    assert b"[x] w3" in _read_planned_page(result)
    replay_result = build_plan(
        tip, [second_complete], BatchMode.EACH, EDIT_CONTEXT, Precondition(first_snapshot=base)
    )
    assert b"[x] w4" in _read_planned_page(replay_result)


@loop_over(
    ("operation", "code"),
    [
        (CompleteTask(file=PAGE_PATH, slug="tasks[2]"), "TASK_NOT_FOUND"),
        (AddTask(file=PAGE_PATH, slug="tasks", title="w6", before="tasks[2]"), "TASK_NOT_FOUND"),
        (CompleteTask(file=PAGE_PATH, slug="newer[0]"), "TASK_NOT_FOUND"),
        (AppendContent(file=PAGE_PATH, slug="newer", content="w6"), "SECTION_NOT_FOUND"),
        (AppendContent(file=PAGE_PATH, slug="twice", content="w6"), "SECTION_NOT_FOUND"),
        (AddSection(file=PAGE_PATH, title="Part", parent_slug="newer"), "SECTION_NOT_FOUND"),
        (RemoveSection(file=PAGE_PATH, slug="newer"), "SECTION_NOT_FOUND"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_address_newer_than_the_base_is_refused(
    tmp_path: Path, operation: DocumentOperation, code: str
) -> None:
    repo = create_repository(tmp_path / "repo", {PAGE_PATH: PAGE_TEXT})
    base = take_snapshot(repo)
    new_text = "- [ ] w5\n\n## Newer\n\n- [ ] w7\n\n## Up\n\n### Twice\n\n## Down\n\n### Twice\n"
    repo.commit({PAGE_PATH: PAGE_TEXT + new_text, "new.md": "## Newer\n"})
    result = plan_operations(take_snapshot(repo), operation, base=base)
    error = result.steps[0].error
    assert error is not None
    assert (error.code, result.changes) == (code, {})
    assert "not in base_commit" in error.message
    assert "base_commit" in error.fix
    # A replay is refused as well. Addresses in a document that is newer than the base refer to the tip.
    replay_result = build_plan(
        take_snapshot(repo),
        [operation],
        BatchMode.EACH,
        EDIT_CONTEXT,
        Precondition(base, None, take_snapshot(repo)),
    )
    assert list_codes(replay_result) == [code]
    assert list_codes(
        plan_operations(
            take_snapshot(repo), AppendContent(file="new.md", slug="newer", content="w6"), base=base
        )
    ) == ["done"]


def test_address_missing_in_base_and_tip_has_the_normal_error(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {PAGE_PATH: PAGE_TEXT})
    base = take_snapshot(repo)
    repo.commit({PAGE_PATH: PAGE_TEXT + "\n## Newer\n"})
    error = (
        plan_operations(take_snapshot(repo), CompleteTask(file=PAGE_PATH, slug="tasks[7]"), base=base)
        .steps[0]
        .error
    )
    assert error is not None
    assert "the last task is tasks[1]" in error.message


def test_sections_created_by_the_batch_may_be_missing_in_base(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {PAGE_PATH: "w0\n", "gone.md": "# Gone\n"})
    base = take_snapshot(repo)
    repo.git("rm", "-q", "gone.md")
    repo.commit({PAGE_PATH: "# Page\n\nw0\n\n## Other\n"})
    document = builtin_types()["document"]
    result = plan_operations(
        take_snapshot(repo),
        AddSection(file=PAGE_PATH, title="Ours"),
        AppendContent(file=PAGE_PATH, slug="ours", content="w1"),
        AddTask(file=PAGE_PATH, slug="ours", title="w2"),
        CompleteTask(file=PAGE_PATH, slug="ours[0]"),
        CreateDocument(type=document, title="Gone", content="w3"),
        AddSection(file="gone.md", title="Ours"),
        AppendContent(file="gone.md", slug="ours", content="w4"),
        AppendContent(file=PAGE_PATH, slug="_preamble", content="w5"),
        base=base,
    )
    assert list_codes(result) == ["done"] * 8
    assert b"# Page\n\nw0\n\nw5\n" in (result.changes[PAGE_PATH] or b"")


def test_addresses_refer_to_the_base_and_then_the_first_tip(tmp_path: Path) -> None:
    """The caller read the first commit and called at the second; the third is the tip.

    Addresses that the first commit does not have refer to the second.
    """
    task_lists = [
        "- [ ] a\n- [ ] b",
        "- [ ] c\n- [ ] a\n- [ ] b\n- [ ] d",
        "- [ ] d\n- [ ] c\n- [ ] b\n- [ ] a",
    ]
    texts = [f"## Tasks\n\n{task_list}\n" for task_list in task_lists]
    repo = create_repository(tmp_path / "repo", {PAGE_PATH: texts[0]})
    base = take_snapshot(repo)
    first_snapshot = take_snapshot(repo, repo.commit({PAGE_PATH: texts[1], "new.md": texts[1]}))
    tip = take_snapshot(repo, repo.commit({PAGE_PATH: texts[2], "new.md": texts[2]}))
    operations = [
        CompleteTask(file=file, slug=f"tasks[{index}]")
        for file, index in ((PAGE_PATH, 0), (PAGE_PATH, 3), ("new.md", 3))
    ]
    result = build_plan(
        tip, operations, BatchMode.EACH, EDIT_CONTEXT, Precondition(base, None, first_snapshot)
    )
    assert list_codes(result) == ["done", "TASK_NOT_FOUND", "done"]
    for file, completed_name in ((PAGE_PATH, b"a"), ("new.md", b"d")):
        data = result.changes[file] or b""
        assert [name for name in (b"a", b"b", b"c", b"d") if b"[x] " + name in data] == [completed_name]


def test_base_commit_must_be_a_full_existing_id(page_repo: Repo) -> None:
    git, head = GitReader(page_repo.path), page_repo.head()
    assert resolve_base_commit(git, head) == resolve_base_commit(git, f" {head.upper()} ") == head
    tree = page_repo.git("rev-parse", "HEAD^{tree}").strip()
    for invalid_id in ("", "HEAD", head[:12], "0" * 40, tree, head + "0", "main"):
        with pytest.raises(UnknownCommit):
            resolve_base_commit(git, invalid_id)


def test_seen_texts_are_bounded_and_evict_the_least_used() -> None:
    seen_texts = SeenTexts(3)
    seen_texts.add([b"a", b"b", None, b"c"])
    assert b"a" in seen_texts
    seen_texts.add([b"d"])
    assert [name in seen_texts for name in (b"a", b"b", b"c", b"d")] == [True, False, True, True]
    assert len(seen_texts) == 3


def test_seen_texts_are_thread_safe() -> None:
    seen_texts = SeenTexts(100)

    def add_texts(number: int) -> None:
        for count in range(500):
            name = b"%d-%d" % (number, count)
            seen_texts.add([name])
            assert len(seen_texts) <= 100
            assert (name in seen_texts) in (True, False)

    threads = [threading.Thread(target=add_texts, args=(number,)) for number in range(4)]
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
            new_document, _ = rename.revise(document, EDIT_CONTEXT)
        except WorkspaceError:
            continue
        if len(new_document.sections) == len(document.sections):
            new_section = new_document.sections[section.position]
            assert compute_digest(new_document, new_section) == compute_digest(document, section)


SLUGS = ("_preamble", "one", "one/deep", "two", "tasks", "new")
# An action, a section's address, and an option whose meaning depends on the action.
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
    page_repo: Repo, actions: list[tuple[str, str, bool]]
) -> None:
    """A client and another writer edit one document, in which each word is unique."""
    snapshot = take_snapshot(page_repo)
    seen_texts, overlay = SeenTexts(), Overlay(snapshot)
    overwrite_check = OverwriteCheck(Precondition(seen_texts=seen_texts), snapshot)
    known_words: set[str] = set()
    pending_words: set[str] = set()
    for number, (action, slug, option) in enumerate(actions):
        document = overlay.document(PAGE_PATH)
        section = document.section_by_key(slug)
        word = f"x{number}"
        if action == "commit":
            if option:  # uncommitted text is discarded, as after a dry run
                seen_texts.add(overwrite_check.written_digests)
                known_words |= pending_words
                pending_words = set()
                overwrite_check = OverwriteCheck(Precondition(seen_texts=seen_texts), snapshot)
            continue
        if action == "read":
            if section:
                seen_texts.add([compute_digest(document, section)])
                known_words |= _read_words(document.source(section))
            continue
        operation = _build_operation(action, slug, word, option)
        draft = overlay.copy()
        try:
            outcome = operation.apply(draft, EDIT_CONTEXT)
            if outcome.is_change and action != "other":
                overwrite_check.check(operation, overlay, draft)
        except ReadFirst as error:
            # The error contains the unread text, so the client has read it now.
            unread_sections = error.details["current"]
            seen_texts.add(unread_section.digest for unread_section in unread_sections)
            known_words |= {
                word
                for unread_section in unread_sections
                for word in _read_words(unread_section.source.encode())
            }
            overwrite_check.check(operation, overlay, draft)
        except WorkspaceError:
            continue
        removed_words = _read_words(document.data) - _read_words(draft.document(PAGE_PATH).data)
        if action != "other":
            assert removed_words <= known_words | pending_words
            pending_words |= {word}
        overlay = draft


def _build_operation(action: str, slug: str, word: str, option: bool) -> DocumentOperation:
    match action:
        case "update" | "other":
            return UpdateContent(file=PAGE_PATH, slug=slug, content=word, include_subsections=option)
        case "append":
            content = f"{word}\n\n#### Sub {word}\n\nAnd {word}" if option else word
            return AppendContent(file=PAGE_PATH, slug=slug, content=content)
        case "remove":
            return RemoveSection(file=PAGE_PATH, slug=slug)
        case "rename":
            return RenameSection(file=PAGE_PATH, slug=slug, new_title=f"Renamed {word}")
    return AddSection(file=PAGE_PATH, title="New", content=word if option else None)


def _read_words(data: bytes) -> set[str]:
    """Return the words of texts; words of headings may be removed."""
    lines = [line for line in data.decode().splitlines() if not line.startswith("#")]
    return {word for line in lines for word in line.split() if word[0] in "wx" and word[1:].isdigit()}


def _read_planned_page(plan_result: Plan) -> bytes:
    assert list_codes(plan_result) == ["done"] * len(plan_result.steps)
    data = plan_result.changes[PAGE_PATH]
    assert data is not None
    return data


def _build_add_task(title: str, before: str | None = None) -> DocumentOperation:
    return AddTask(file=PAGE_PATH, slug="tasks", title=title, before=before)
