"""Which paths Docyard writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.paths import InvalidPath, check_path

GOOD = [
    "a.md", "a/b/c.md", "C#.md", ".docyard/templates/x.md", ".github/x.md", "größe/文.md", "a b.md",
    "git.md", "gitignore", ".gitignore", "console.md", "nullable/x.md", "comet1.md", "~draft.md", "a~1.md",
    "👩\u200d💻.md", "-a.md", "what?.md",
]  # fmt: skip
BAD = [
    "", "/a.md", "//host/a.md", "\\a.md", "~/a.md", "a\\b.md", "C:/a.md", "c:a.md", "a.md:stream",
    "..", ".", "../a.md", "a/../b.md", "a/./b.md", "a//b.md", "a/", "./", "././a.md",
    "a.", "a /b.md", "a./b.md", "a\n.md", "a\0.md", "a\x7f.md", "a\u0085.md", "a\u2028.md",
    ".git", ".git/config", ".GIT/config", "a/.Git/hooks/x", "git~1/x", "GIT~2", ".g\u200cit/x",
    "\ufeff.git/x", ".git\u200d", ".git./x", ".git /x", ".git::$INDEX_ALLOCATION/x",
    "CON", "con.md", "a/NUL.tar.md", "aux/x.md", "COM1.md", "lpt9", "com¹.md", "CONIN$", "con .md",
    "\ud800.md", "a/" + "x" * 256, "é" * 128, "/".join(["abcdefgh"] * 500),
]  # fmt: skip


@pytest.mark.parametrize("path", GOOD)
def test_good_paths_stay_as_they_are(path: str) -> None:
    assert check_path(path) == path
    assert check_path("./" + path) == path


@pytest.mark.parametrize("path", BAD, ids=ascii)
def test_bad_paths_are_refused_with_a_reason(path: str) -> None:
    with pytest.raises(InvalidPath) as error:
        check_path(path)
    assert error.value.code == "INVALID_PATH"
    assert error.value.reason
    error.value.message.encode()
    str(error.value.details).encode()
    if len(path) > 3:
        assert path not in error.value.message


@given(st.text(alphabet="abgit.GIT~1/\\: \u200c\ud800\0", max_size=12))
def test_nothing_that_passes_can_leave_the_workspace(path: str) -> None:
    try:
        checked = check_path(path)
    except InvalidPath:
        return
    assert check_path(checked) == checked
    parts = checked.split("/")
    assert "" not in parts
    assert not {".", ".."} & set(parts)
    assert all(part.replace("\u200c", "").lower() not in (".git", "git~1") for part in parts)
