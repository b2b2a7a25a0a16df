"""Handles of walkthroughs: only issued ones are accepted, and they follow the document and its steps."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path

import pytest

from index.cursors import sign_token, verify_token, write_cursor
from index.storage.keys import USER_KEYS, _load_user_key, load_user_key
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tools.pages import write_list_cursor
from tools.retrieval.handles import (
    Handle,
    InvalidHandle,
    WalkthroughPosition,
    WalkthroughRemoved,
    estimate_number,
    read_handle,
    resolve_handle,
    write_handle,
)
from workspace.document.document import Document
from workspace.document.walkthrough import build_walkthrough
from workspace.snapshot.walkthroughs import read_walkthrough
from workspace.workspace import Workspace

ID = "guides/getting-started/first-request.md"
STEPS = {
    "Install the client": "Run `pip install client`, and check the version with `client --version`.",
    "Create a token": "Open the settings page and create a token with the scope read-only.",
    "Send the first request": "Call `client get /v1/things` and look for the status 200 in the output.",
    "Read the answer": "The answer is JSON: print its field `things` with the tool jq.",
}


def format_walkthrough(steps: dict[str, str] = STEPS, type: str = "walkthrough") -> str:
    text = "".join(f"\n## {title}\n\n{content}\n" for title, content in steps.items())
    return f"---\ntype: {type}\n---\n\n# First request\n\nFrom nothing to an answer.\n{text}"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", {ID: format_walkthrough(), "notes.md": "# Notes\n\nText.\n"})


@pytest.fixture
def workspace(repo: Repo) -> Workspace:
    return Workspace.open(repo.path, read_only=True)


def issue_handle(workspace: Workspace, number: int) -> str:
    snapshot = workspace.snapshot()
    return write_handle(
        USER_KEYS,
        namespace="tutorials",
        walkthrough=read_walkthrough(snapshot, ID),
        commit=snapshot.commit,
        number=number,
    )


def resolve(workspace: Workspace, handle: str) -> WalkthroughPosition:
    return resolve_handle(workspace, read_handle(USER_KEYS, handle))


def describe(position: WalkthroughPosition) -> tuple[int, str | None, str | None]:
    """Return the number, the title of the current step, and that of the next step."""
    step, next_step = position.step, position.next_step
    return position.number, step.title if step else None, next_step.title if next_step else None


def test_handle_contains_walkthrough_commit_and_step(repo: Repo, workspace: Workspace) -> None:
    text = issue_handle(workspace, 3)
    assert read_handle(USER_KEYS, f" {text}\n") == Handle(
        "tutorials", ID, repo.head(), 3, "send-the-first-request"
    )
    assert len(text) <= 250
    assert read_handle(USER_KEYS, issue_handle(workspace, 0)).key is None


def test_handle_is_valid_after_a_restart(workspace: Workspace) -> None:
    text = issue_handle(workspace, 1)
    _load_user_key.cache_clear()
    assert read_handle(USER_KEYS, text).number == 1


def test_handle_of_the_old_key_is_valid_until_the_key_is_removed(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    _load_user_key.cache_clear()
    text = issue_handle(workspace, 1)
    folder = tmp_path / "state/docyard"
    (folder / "key").rename(folder / "old-key")
    _load_user_key.cache_clear()  # the next process
    assert read_handle(USER_KEYS, text).number == 1
    (folder / "old-key").unlink()
    with pytest.raises(InvalidHandle):
        read_handle(USER_KEYS, text)
    _load_user_key.cache_clear()


def test_handle_of_very_long_path_and_key_is_valid(workspace: Workspace) -> None:
    path = "/".join(["é" * 120] * 16) + ".md"
    title = "é" * 1_000
    document = format_walkthrough({title: "Text."})
    walkthrough = build_walkthrough(Document.parse(document.encode(), path))
    text = write_handle(USER_KEYS, namespace="x", walkthrough=walkthrough, commit="0" * 40, number=1)
    assert read_handle(USER_KEYS, text) == Handle("x", path, "0" * 40, 1, None)


def change_number(text: str) -> str:
    """Return a handle with another step number and the same MAC."""
    key = load_user_key()
    values = verify_token([key], text, 7)
    values[4] = 2
    changed_text = sign_token(key, values)
    changed_data = urlsafe_b64decode(changed_text + "=" * (-len(changed_text) % 4))
    mac = urlsafe_b64decode(text + "=" * (-len(text) % 4))[:16]
    return urlsafe_b64encode(mac + changed_data[16:]).decode().rstrip("=")


def test_malformed_changed_and_foreign_handles_are_refused(workspace: Workspace) -> None:
    text = issue_handle(workspace, 1)
    key = load_user_key()
    handles = [
        "",
        "handle",
        "é" * 40,
        "x" * 100_000,
        text[:-1],
        text + "A",
        text.swapcase(),
        change_number(text),
        sign_token(b"another key", ["walkthrough", "tutorials", ID, None, 1, None, ""]),
        sign_token(key, ["another kind", "tutorials", ID, None, 1, None, ""]),
        write_cursor(key, generation="1:0", search_digest="0", offset=10),
        write_list_cursor(USER_KEYS, "a.md", None, []),
    ]
    for handle in handles:
        with pytest.raises(InvalidHandle) as error_info:
            read_handle(USER_KEYS, handle)
        assert error_info.value.code == "INVALID_HANDLE", handle
        assert "start_walkthrough" in error_info.value.fix


def test_position_in_unchanged_walkthrough(workspace: Workspace) -> None:
    titles = list(STEPS)
    assert describe(resolve(workspace, issue_handle(workspace, 0))) == (0, None, titles[0])
    assert describe(resolve(workspace, issue_handle(workspace, 2))) == (2, titles[1], titles[2])
    last_position = resolve(workspace, issue_handle(workspace, 4))
    assert describe(last_position) == (4, titles[3], None)
    assert last_position.is_done


def replace_steps(changes: dict[str, tuple[str, str] | None]) -> str:
    """Return the walkthrough with some steps replaced, or removed if their value is None."""
    steps = [changes.get(title, (title, content)) for title, content in STEPS.items()]
    return format_walkthrough(dict(step for step in steps if step is not None))


INSTALL, TOKEN, SEND, READ = STEPS


@loop_over(
    ("case", "text", "number", "expected"),
    [
        ("step added before", format_walkthrough({"Prepare": "Text.", **STEPS}), 2, (3, TOKEN, SEND)),
        ("step removed before", replace_steps({INSTALL: None}), 2, (1, TOKEN, SEND)),
        ("steps reversed", format_walkthrough(dict(reversed(STEPS.items()))), 2, (3, TOKEN, INSTALL)),
        ("step removed", replace_steps({TOKEN: None}), 2, (1, None, SEND)),
        ("first step removed", replace_steps({INSTALL: None}), 1, (0, None, TOKEN)),
        ("last step removed", replace_steps({READ: None}), 4, (3, None, None)),
        ("renamed step", replace_steps({TOKEN: ("Get a key", STEPS[TOKEN])}), 2, (2, "Get a key", SEND)),
        ("rewritten step", replace_steps({TOKEN: ("Log in", "New.")}), 2, (2, "Log in", SEND)),
        ("only one step left", format_walkthrough({INSTALL: STEPS[INSTALL]}), 3, (1, None, None)),
        ("all steps rewritten", format_walkthrough({"A": "a", "B": "b"}), 1, (1, "A", "B")),
        ("all steps rewritten and fewer", format_walkthrough({"A": "a", "B": "b"}), 3, (2, None, None)),
        ("no steps left", format_walkthrough({}), 1, (0, None, None)),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 50 else "",
)
def test_position_follows_the_steps(
    case: str, text: str, number: int, expected: tuple[int, str | None, str | None], tmp_path: Path
) -> None:
    repo = create_repository(tmp_path / case.replace(" ", "-"), {ID: format_walkthrough()})
    workspace = Workspace.open(repo.path, read_only=True)
    handle = issue_handle(workspace, number)
    repo.commit({ID: text})
    position = resolve(workspace, handle)
    assert describe(position) == expected, case
    assert position.snapshot.commit == repo.head()


@loop_over(
    ("old_keys", "number", "keys", "expected"),
    [
        ("abcd", 2, "acd", (1, False)),
        ("abcd", 2, "axcd", (2, True)),
        ("abcd", 2, "axycd", (1, False)),
        ("abcd", 3, "abxd", (3, True)),
        ("abcd", 4, "abcx", (4, True)),
        ("abcd", 1, "bcd", (0, False)),
        ("abcd", 2, "dxca", (4, False)),
        ("", 2, "abc", (2, True)),
        ("", 4, "abc", (3, False)),
        ("ab", 1, "", (0, False)),
    ],
)
def test_number_of_missing_step_is_estimated(
    old_keys: str, number: int, keys: str, expected: tuple[int, bool]
) -> None:
    assert estimate_number(old_keys, number, keys) == expected


def move_document(repo: Repo, new_path: str, text: str | None = None) -> None:
    (repo.path / new_path).parent.mkdir(parents=True, exist_ok=True)
    repo.git("mv", ID, new_path)
    repo.commit({} if text is None else {new_path: text})


def test_handle_follows_a_renamed_document(repo: Repo, workspace: Workspace) -> None:
    handle = issue_handle(workspace, 2)
    move_document(repo, "tutorials/request.md")
    position = resolve(workspace, handle)
    assert position.walkthrough.id == "tutorials/request.md"
    assert describe(position) == (2, TOKEN, SEND)
    renamed_step = replace_steps({TOKEN: ("Get a key", STEPS[TOKEN]), INSTALL: None})
    repo.commit({"tutorials/request.md": renamed_step})
    assert describe(resolve(workspace, handle)) == (1, "Get a key", SEND)


def test_step_that_moved_to_another_document_counts_as_removed(repo: Repo, workspace: Workspace) -> None:
    handle = issue_handle(workspace, 2)
    repo.commit(
        {ID: replace_steps({TOKEN: None}), "notes.md": f"# Notes\n\nText.\n\n## {TOKEN}\n\n{STEPS[TOKEN]}\n"}
    )
    assert describe(resolve(workspace, handle)) == (1, None, SEND)


def test_handle_of_unknown_commit_is_resolved_by_number(workspace: Workspace) -> None:
    handle = Handle("tutorials", ID, "0" * 40, 2, "unknown-key")
    assert describe(resolve_handle(workspace, handle)) == (2, TOKEN, SEND)
    assert resolve_handle(workspace, Handle("tutorials", ID, None, 9, None)).is_done


def test_removed_walkthrough_is_an_error_with_a_fix(repo: Repo, workspace: Workspace) -> None:
    handle = issue_handle(workspace, 1)
    repo.git("rm", "-q", ID)
    repo.commit({"guides/other-request.md": format_walkthrough({"One": "1"})})
    with pytest.raises(WalkthroughRemoved) as error_info:
        resolve(workspace, handle)
    error = error_info.value
    assert error.code == "WALKTHROUGH_GONE"
    assert error.message == f"the walkthrough '{ID}' was removed"
    assert error.fix == (
        "Search without a handle, or call start_walkthrough with another id: 'guides/other-request.md'."
    )


def test_document_of_another_type_is_no_longer_a_walkthrough(repo: Repo, workspace: Workspace) -> None:
    handle = issue_handle(workspace, 1)
    repo.commit({ID: format_walkthrough(type="document")})
    with pytest.raises(WalkthroughRemoved, match="is no longer a walkthrough") as error_info:
        resolve(workspace, handle)
    assert error_info.value.fix == "Search without a handle: there are no walkthroughs now."


def test_handles_write_nothing(repo: Repo, workspace: Workspace) -> None:
    handle = issue_handle(workspace, 1)
    files = sorted(repo.path.rglob("*"))
    resolve(workspace, handle)
    assert sorted(repo.path.rglob("*")) == files
