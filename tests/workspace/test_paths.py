"""Valid and invalid paths; a refused path changes no file."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from templates import builtin_types
from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.workspace.documents import EDIT_CONTEXT
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent
from workspace.errors import WorkspaceError
from workspace.git.reader import GitReader
from workspace.paths import InvalidPath, check_new_path, check_path, fold_name
from workspace.snapshot.overlay import Overlay, PathExists
from workspace.snapshot.snapshot import LfsTextMissing, Snapshot
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode, StepStatus

VALID_PATHS = [
    "a.md", "a/b/c.md", "C#.md", ".docyard/templates/x.md", ".github/x.md", "größe/文.md", "a b.md",
    "git.md", "gitignore", ".gitignore", "console.md", "nullable/x.md", "comet1.md", "~draft.md", "a~1.md",
    "👩\u200d💻.md", "-a.md", "what?.md",
]  # fmt: skip
INVALID_PATHS = [
    "", "/a.md", "//host/a.md", "\\a.md", "~/a.md", "a\\b.md", "C:/a.md", "c:a.md", "a.md:stream",
    "..", ".", "../a.md", "a/../b.md", "a/./b.md", "a//b.md", "a/", "./", "././a.md",
    "a.", "a /b.md", "a./b.md", "a\n.md", "a\0.md", "a\x7f.md", "a\u0085.md", "a\u2028.md",
    ".git", ".git/config", ".GIT/config", "a/.Git/hooks/x", "git~1/x", "GIT~2", ".g\u200cit/x",
    "\ufeff.git/x", ".git\u200d", ".git./x", ".git /x", ".git::$INDEX_ALLOCATION/x",
    ".GiT/x", ".g\u0131t/x", ".g\u200ci\u200dt/x", "a/.git", "a/.git ./x", ".git\t/x", ".git/", "git~1",
    "GIT~12/x", "x:y/z.md", "a.md:$DATA", "a.md::$DATA", "\u202e.git/x",
    "CON", "con.md", "a/NUL.tar.md", "aux/x.md", "COM1.md", "lpt9", "com¹.md", "CONIN$", "con .md",
    "PRN.txt", "a/prn .md", "com1.tar.gz", "LPT³.md", "CONOUT$.md", "a\x1b[31m.md", "a\x80.md", "a\u2029.md",
    "\ud800.md", "a\udfff/b.md", "a/" + "x" * 256, "é" * 128, "/".join(["abcdefgh"] * 500),
]  # fmt: skip


@loop_over("path", VALID_PATHS)
def test_valid_paths_are_unchanged(path: str) -> None:
    assert check_path(path) == path
    assert check_path("./" + path) == path


@loop_over("path", INVALID_PATHS, ids=ascii)
def test_invalid_paths_are_refused_with_a_reason(path: str) -> None:
    with pytest.raises(InvalidPath) as error_info:
        check_path(path)
    assert error_info.value.code == "INVALID_PATH"
    assert error_info.value.reason
    error_info.value.message.encode()
    str(error_info.value.details).encode()
    if len(path) > 3:
        assert path not in error_info.value.message


@given(st.text(alphabet="abgit.GIT~1/\\: \u200c\ud800\0", max_size=12))
def test_valid_path_stays_inside_workspace(path: str) -> None:
    try:
        checked_path = check_path(path)
    except InvalidPath:
        return
    assert check_path(checked_path) == checked_path
    parts = checked_path.split("/")
    assert "" not in parts
    assert not {".", ".."} & set(parts)
    assert all(part.replace("\u200c", "").lower() not in (".git", "git~1") for part in parts)


@given(
    st.text(
        alphabet=st.sampled_from([*"./\\ ~:git1GITCONcon", "\u200c", "\ufeff", "\0", "é", "\u0301"]),
        max_size=20,
    )
)
def test_valid_path_joins_to_file_below_workspace(path: str) -> None:
    try:
        checked_path = check_path(path)
    except InvalidPath as error:
        str(error.details).encode()
        return
    # The names that Windows reads: both kinds of separators, no spaces or dots at the end, no streams.
    names = [name.rstrip(". ").partition(":")[0] for name in checked_path.replace("\\", "/").split("/")]
    assert all(names)
    assert "con" not in {name.split(".")[0].strip().lower() for name in names}
    visible_names = [
        "".join(character for character in name if unicodedata.category(character) != "Cf").lower()
        for name in names
    ]
    assert not {".git", "git~1"} & set(visible_names)
    assert Path("/w").joinpath(checked_path).as_posix() == f"/w/{checked_path}"


@loop_over("name", ["a?.md", "a<b>.md", 'a"b.md', "a|b.md", "a*.md", "a\u202eb.md", "a\u200b.md"])
def test_legacy_name_is_readable_but_not_creatable(name: str) -> None:
    assert check_path(name) == name
    with pytest.raises(InvalidPath):
        check_new_path(name)


@given(st.text(alphabet="aAéÉß\u017fİ\u0131Σ\u03c3ς\uff4b\u212aÅk\u0301\u030a\u200c", max_size=8))
def test_folded_name_is_equal_in_composed_decomposed_and_lower_case_form(name: str) -> None:
    for form in ("NFC", "NFD"):
        assert fold_name(unicodedata.normalize(form, name)) == fold_name(name)
    assert fold_name(name.lower()) == fold_name(name) or "İ" in name
    assert fold_name(fold_name(name)) == fold_name(name)


FILES = {"Guides/Größe.md": "# A\n", "guides.md": "# B\n", "Straße/a.md": "# C\n", "deep/down/x.md": "# D\n"}


@pytest.fixture
def overlay(tmp_path: Path) -> Overlay:
    repo = create_repository(tmp_path / "folding", FILES)
    return Overlay(Snapshot(GitReader(repo.path), repo.head()))


def build_create(title: str, folder: str = "") -> CreateDocument:
    return CreateDocument(type=next(iter(builtin_types().values())), title=title, folder=folder)


@loop_over(
    ("folder", "title"),
    [
        ("guides", "x"), ("GUIDES", "x"), ("Guides/größe.md", "x"), ("Guides/Gro\u0308ße.md", "x"),
        ("Gui\u200cdes", "x"), ("strasse", "x"), ("STRASSE", "x"), ("Deep", "x"), ("deep/DOWN", "x"),
        ("", "Guides"), ("guides.md", "x"), ("deep/down/x.md", "x"), ("deep/down", "X"),
        ("DEEP/DOWN/X.MD", "x"),
    ],
)  # fmt: skip
def test_path_that_exists_exactly_or_after_folding_is_refused(
    overlay: Overlay, folder: str, title: str
) -> None:
    with pytest.raises(PathExists):
        build_create(title, folder).apply(overlay, EDIT_CONTEXT)
    assert overlay.changes() == {}


@pytest.mark.parametrize(
    ("first_path", "second_path"),
    [
        (("x", "new"), ("x", "NEW")),
        (("x", "ne\u0301w"), ("x", "n\u00e9w")),
        (("x", "made.md"), ("made", "")),
        (("made", ""), ("x", "made.md")),
        (("made", "a/b"), ("other", "A")),
    ],
)
def test_path_in_conflict_with_a_path_of_the_batch_is_refused(
    overlay: Overlay, first_path: tuple[str, str], second_path: tuple[str, str]
) -> None:
    build_create(*first_path).apply(overlay, EDIT_CONTEXT)
    old_changes = dict(overlay.changes())
    with pytest.raises(PathExists):
        build_create(*second_path).apply(overlay, EDIT_CONTEXT)
    assert overlay.changes() == old_changes


LFS_POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)


@pytest.fixture
def mixed_repo(tmp_path: Path) -> Repo:
    """Return a repository with links to a file and a folder, a submodule and a Git LFS pointer."""
    inner_repo = create_repository(tmp_path / "inner")
    repo = create_repository(tmp_path / "mixed", {"real/a.md": "# A\n", "large.md": LFS_POINTER})
    (repo.path / "link.md").symlink_to("real/a.md")
    (repo.path / "folder").symlink_to("real")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{inner_repo.head()},module.md")
    repo.git("add", "-A", "link.md", "folder")
    repo.git("commit", "-q", "-m", "Add entries that are not documents")
    (repo.path / "module.md").mkdir()
    return repo


def read_all_files(repo: Repo) -> dict[str, bytes]:
    """Return the bytes of objects, refs, index and files by path, without Docyard's own folder."""
    return {
        path.relative_to(repo.path).as_posix(): path.read_bytes()
        for path in sorted(repo.path.rglob("*"))
        if path.is_file() and ".git/docyard" not in path.as_posix()
    }


def collect_errors(repo: Repo, *operations: Operation) -> list[WorkspaceError]:
    """Return the errors of operations; none of them may succeed or change a file."""
    files_before = read_all_files(repo)
    workspace = Workspace.open(repo.path, durable=False)
    result = workspace.write(operations, mode=BatchMode.EACH, tool="edit_document", client="tester")
    assert [step.status for step in result.steps] == [StepStatus.FAILED] * len(operations)
    assert read_all_files(repo) == files_before
    return [step.error for step in result.steps if step.error]


OPERATION_BUILDERS: list[Callable[[str], Operation]] = [
    lambda path: AppendContent(file=path, slug="_preamble", content="x"),
    lambda path: RemoveDocument(path=path),
]


def test_non_document_is_neither_read_nor_written(mixed_repo: Repo) -> None:
    paths = ("link.md", "folder/a.md", "module.md", "large.md")
    snapshot = Snapshot(GitReader(mixed_repo.path), mixed_repo.head())
    for path in paths:
        with pytest.raises(WorkspaceError) as error_info:
            snapshot.document(path)
        assert error_info.value.code in ("DOCUMENT_NOT_FOUND", "NOT_A_DOCUMENT")
        assert error_info.value.fix
    assert "link.md" not in snapshot.documents
    assert "module.md" not in snapshot.documents
    with pytest.raises(LfsTextMissing):
        snapshot.document("large.md")
    errors = collect_errors(
        mixed_repo, *(build_operation(path) for build_operation in OPERATION_BUILDERS for path in paths)
    )
    assert {error.code for error in errors} <= {"DOCUMENT_NOT_FOUND", "NOT_A_DOCUMENT"}
    creations_below = [build_create("x", folder) for folder in ("folder", "module.md", "link.md", "large.md")]
    creations_above = [build_create(title) for title in ("link", "module", "large")]
    assert {error.code for error in collect_errors(mixed_repo, *creations_below, *creations_above)} == {
        "PATH_EXISTS"
    }


def test_invalid_path_changes_no_file(mixed_repo: Repo) -> None:
    operations = [build_operation(path) for build_operation in OPERATION_BUILDERS for path in INVALID_PATHS]
    # As a folder, an empty text is the workspace's root, and a slash at the end is ignored.
    folders = [build_create("x", path) for path in INVALID_PATHS if path not in ("", ".", "./", "a/")]
    assert {error.code for error in collect_errors(mixed_repo, *operations)} == {"INVALID_PATH"}
    assert {error.code for error in collect_errors(mixed_repo, *folders)} == {"INVALID_PATH"}


@settings(
    max_examples=scale_examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    st.lists(
        st.text(alphabet="./\\gGiItT~1: \u200c\0\ud800\n", min_size=1, max_size=10), min_size=1, max_size=20
    )
)
def test_hostile_path_changes_no_file(mixed_repo: Repo, paths: list[str]) -> None:
    collect_errors(
        mixed_repo, *(build_operation(path) for build_operation in OPERATION_BUILDERS for path in paths)
    )
