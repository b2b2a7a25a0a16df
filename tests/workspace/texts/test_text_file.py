"""Text files: the readable files, and the errors of all other files."""

from __future__ import annotations

import gzip
import random
import zlib
from pathlib import Path

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.reader import GitReader
from workspace.paths import InvalidPath
from workspace.snapshot.snapshot import DocumentNotFound, LfsTextMissing, NotCommitted, Snapshot
from workspace.texts.text_file import (
    NotAFile,
    NotText,
    TextFile,
    TextKind,
    detect_kind,
    is_binary,
    list_readable_paths,
    read_text,
)

LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"


def take_snapshot(repo: Repo, commit: str | None = None) -> Snapshot:
    return Snapshot(GitReader(repo.path), commit or repo.head())


def find_read_error(repo: Repo, path: str) -> WorkspaceError:
    with pytest.raises(WorkspaceError) as error_info:
        read_text(take_snapshot(repo), path)
    assert str(repo.path) not in error_info.value.message + error_info.value.fix + str(
        error_info.value.details
    )
    return error_info.value


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.md", TextKind.MARKDOWN),
        ("a.MDX", TextKind.MARKDOWN),
        ("a/b.rst", TextKind.RESTRUCTUREDTEXT),
        ("a.adoc", TextKind.ASCIIDOC),
        ("a.test.ts", TextKind.SOURCE),
        ("var/app.log", TextKind.LOG),
        ("LICENSE", TextKind.PLAIN),
        (".gitignore", TextKind.PLAIN),
    ],
)
def test_kind_of_text_is_detected_by_the_file_name(path: str, kind: TextKind) -> None:
    assert detect_kind(path) is kind


def test_any_text_is_read_with_its_blob_and_bytes(repo: Repo) -> None:
    repo.commit({"src/a.py": b"def f():\r\n    pass", "notes": "plain", ".hidden/x.txt": "no"})
    snapshot = take_snapshot(repo)
    text = read_text(snapshot, "./src/a.py")
    assert text == TextFile(
        "src/a.py", repo.git("rev-parse", "HEAD:src/a.py").strip(), b"def f():\r\n    pass", TextKind.SOURCE
    )
    assert text.document is None
    assert read_text(snapshot, "notes").text() == "plain"
    assert ".hidden/x.txt" not in list(list_readable_paths(snapshot))


def test_markdown_outside_of_documents_is_parsed(repo: Repo) -> None:
    repo.commit({"page.mdx": "# One\n"})
    snapshot = take_snapshot(repo)
    assert read_text(snapshot, "README.md").document is snapshot.document("README.md")
    mdx_document = read_text(snapshot, "page.mdx").document
    assert mdx_document is not None
    assert mdx_document.title == "One"


def test_bytes_that_are_not_utf_8_are_shown_as_replacements() -> None:
    text = TextFile("a.txt", "", b"caf\xe9 au lait", TextKind.PLAIN)
    assert (text.text(), text.text(0, 4), text.data) == ("caf� au lait", "caf�", b"caf\xe9 au lait")


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        gzip.compress(b"text", mtime=0),
        "text".encode("utf-16"),
        "text".encode("utf-32"),
        b"\0\1\2\3some bytes",
        bytes(range(1, 32)) * 4,
        b"%PDF-1.7\n" + zlib.compress(random.Random(1).randbytes(9_000)),
    ],
)
def test_binary_files_are_detected_by_their_first_bytes(data: bytes) -> None:
    assert is_binary(data)


@loop_over(
    "data",
    [
        b"",
        b"\xef\xbb\xbf# With a mark",
        b"\x1b[31mred\x1b[0m\n",
        b"BMW and MZ are letters; so are GIF89a and RIFF",
        b"GIF89a is a format",
        b"form\ffeed\n\x0cand one \x01 control in a long enough text, which a person may well have typed",
        "Grüße aus Köln".encode("latin-1"),
        "数据".encode("gb18030"),
    ],
)
def test_texts_are_not_binary(data: bytes) -> None:
    assert not is_binary(data)


def test_binary_file_of_any_name_is_refused(repo: Repo) -> None:
    repo.commit({"image.md": b"\x89PNG\r\n\x1a\n\0", "notes.txt": "text".encode("utf-16")})
    error = find_read_error(repo, "image.md")
    assert isinstance(error, NotText)
    assert (error.message, error.details["is"]) == ("'image.md' is not text but binary", "binary")
    assert "UTF-8" in find_read_error(repo, "notes.txt").fix


def test_nul_is_permitted_in_documents_only(repo: Repo) -> None:
    data = b"# Title\n\n" + b"Words of a text. " * 9 + b"a\0b\n"
    repo.commit({"zero.md": data, "zero.txt": data})
    assert read_text(take_snapshot(repo), "zero.md").data == data
    error = find_read_error(repo, "zero.txt")
    assert isinstance(error, NotText)
    assert error.details["is"] == "binary"


def test_file_over_the_limit_is_refused(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit({"large.log": b"line\n" * 10_000_000})
    snapshot = take_snapshot(repo)
    monkeypatch.setattr(snapshot.git, "blob", lambda id: pytest.fail("the blob was read"))
    with pytest.raises(LimitExceeded) as error_info:
        read_text(snapshot, "large.log")
    assert error_info.value.details["actual"] == 50_000_000


def test_error_names_symbolic_links_submodules_and_folders(repo: Repo) -> None:
    (repo.path / "link.md").symlink_to("README.md")
    (repo.path / "out.md").symlink_to("/etc/passwd")
    repo.commit({"guides/a.txt": "x"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},vendor/lib")
    repo.git("commit", "-q", "-m", "A submodule")
    for path, kind in (
        ("link.md", "a symbolic link"),
        ("out.md", "a symbolic link"),
        ("vendor/lib", "a submodule"),
        ("guides", "a folder"),
        ("guides/", "a folder"),
    ):
        error = find_read_error(repo, path)
        assert isinstance(error, NotAFile), path
        assert error.details["is"] == kind
    assert find_read_error(repo, "guides").details["candidates"][0] == "guides/a.txt"  # type: ignore[index]
    assert isinstance(find_read_error(repo, "vendor/lib/a.md"), DocumentNotFound)


def test_git_lfs_pointer_is_refused(repo: Repo) -> None:
    repo.commit({"data.csv": LFS_POINTER, "page.md": LFS_POINTER})
    assert isinstance(find_read_error(repo, "data.csv"), LfsTextMissing)
    assert isinstance(find_read_error(repo, "page.md"), LfsTextMissing)


def test_absolute_paths_are_accepted_in_the_work_tree_only(repo: Repo, tmp_path: Path) -> None:
    absolute_path = repo.path / "guides" / "setup.md"
    assert read_text(take_snapshot(repo), str(absolute_path)).path == "guides/setup.md"
    link = tmp_path / "elsewhere"
    link.symlink_to(repo.path)
    link_snapshot = Snapshot(GitReader(link), repo.head())
    assert read_text(link_snapshot, str(absolute_path)).path == "guides/setup.md"
    for path in (
        "/etc/passwd",
        f"{repo.path}/../secret.md",
        "~/notes.md",
        "C:\\notes.md",
        "",
        "a\0.md",
        "a\n.md",
        "a\udcff.md",
    ):
        error = find_read_error(repo, path)
        assert isinstance(error, InvalidPath), path
        assert "passwd" not in str(error.details)


def test_uncommitted_file_is_reported(repo: Repo) -> None:
    repo.write({"draft.txt": "x", "guides/draft.md": "x", "guides/.secret/x.txt": "x"})
    assert isinstance(find_read_error(repo, "draft.txt"), NotCommitted)
    assert isinstance(find_read_error(repo, "guides/draft.md"), NotCommitted)
    assert not isinstance(find_read_error(repo, "guides/.secret/x.txt"), NotCommitted)
    first_commit = repo.head()
    repo.commit({})
    with pytest.raises(DocumentNotFound) as error_info:
        read_text(take_snapshot(repo, first_commit), "draft.txt")
    assert not isinstance(error_info.value, NotCommitted)


def test_error_suggests_the_nearest_readable_files(repo: Repo) -> None:
    repo.commit({"src/server.py": "x", "notes.rst": "x"})
    error = find_read_error(repo, "src/servr.py")
    assert error.details["candidates"] == ["src/server.py"]
    assert error.fix == "Did you mean 'src/server.py'?"
    assert find_read_error(repo, "zzzzzz").details["candidates"]


def test_excluded_files_are_not_read(repo: Repo) -> None:
    repo.commit({"docyard.toml": 'root = "guides"\nexclude = ["deep/**"]\n', "guides/a.txt": "x"})
    assert read_text(take_snapshot(repo), "guides/a.txt").text() == "x"
    for path in ("README.md", "guides/deep/only.md"):
        assert "docyard.toml" in find_read_error(repo, path).fix
