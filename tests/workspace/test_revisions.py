"""Refs: all forms that name a commit, and the errors for refs that do not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import repositories
from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.repositories import Repo
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.git.reader import AmbiguousId
from workspace.revisions import (
    MAX_REF_LENGTH,
    BeforeHistory,
    NotACommit,
    RefNotFound,
    list_ref_names,
    resolve_branch_ref,
)
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

# The ids of two blobs with these texts begin with the same four characters.
COLLIDING_TEXTS = ("142", "784")


def commit_at(repo: Repo, commit_time: str, text: str) -> str:
    """Commit `a.md` at a given time, and return the commit's id."""
    repo.write({"a.md": text})
    repo.git("add", "-A")
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z",  # ignored: the committer's time is used
        "GIT_COMMITTER_DATE": commit_time,
    }
    subprocess.run(["git", "commit", "-q", "-m", text], cwd=repo.path, env=env, check=True)
    return repo.head()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return repositories.create_empty_repository(tmp_path / "docs")


@pytest.fixture
def daily_commits(repo: Repo) -> list[str]:
    """Return three commits, made at noon of the 10th, the 20th and the 30th of January 2026."""
    return [commit_at(repo, f"2026-01-{day}T12:00:00Z", f"# Day {day}\n") for day in (10, 20, 30)]


def resolve_ref(repo: Repo, ref: str, branch: str | None = None) -> str:
    return resolve_branch_ref(Workspace.open(repo.path, branch=branch), ref)


def test_every_form_of_ref_resolves_to_its_commit(repo: Repo, daily_commits: list[str]) -> None:
    first_commit, second_commit, third_commit = daily_commits
    repo.git("tag", "v1", first_commit)
    repo.git("tag", "-a", "v2", "-m", "Two", second_commit)
    repo.git("tag", "-a", "v2-again", "-m", "Again", "v2")
    repo.git("branch", "feature/x", first_commit)
    repo.git("update-ref", "refs/remotes/origin/main", second_commit)
    for ref in (
        "v1",
        "feature/x",
        "refs/heads/feature/x",
        first_commit,
        first_commit[:7],
        "HEAD~2",
        "main^^",
        "v2^",
        "v1^0",
    ):
        assert resolve_ref(repo, ref) == first_commit, ref
    for ref in (
        "v2",
        "v2-again",
        "origin/main",
        "refs/remotes/origin/main",
        "HEAD~",
        "@~1",
        "v2^{}",
        "v2^{commit}",
    ):
        assert resolve_ref(repo, ref) == second_commit, ref
    for ref in ("main", "HEAD", "@", "main~0", "HEAD^0"):
        assert resolve_ref(repo, ref) == third_commit, ref


def test_merge_parents_are_resolved_by_number(repo: Repo, daily_commits: list[str]) -> None:
    repo.git("checkout", "-q", "-b", "side", daily_commits[0])
    side_commit = repo.commit({"side.md": "# Side\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    assert resolve_ref(repo, "HEAD^1") == resolve_ref(repo, "main^") == daily_commits[2]
    assert resolve_ref(repo, "HEAD^2") == side_commit
    assert resolve_ref(repo, "HEAD^2~1") == daily_commits[0]
    with pytest.raises(RefNotFound, match="no parent 3"):
        resolve_ref(repo, "HEAD^3")


@loop_over(
    ("ref", "index"),
    [
        ("@{2026-01-10}", 0),  # the end of a day includes it
        ("@{2026-01-19}", 0),
        ("@{2026-01-20T11:59}", 0),
        ("@{2026-01-20T12:00}", 1),
        ("@{2026-01-20T12:00:00Z}", 1),
        ("@{2026-01-30 11:59:59}", 1),
        ("main@{2026-01-25}", 1),
        ("HEAD@{2026-01-30}~1", 1),
        ("@{2026-01-30}", 2),
        ("@{2099-12-31}", 2),
        ("@{9999-12-31T23:59:59Z}", 2),
    ],
)
def test_date_resolves_to_newest_earlier_commit(
    repo: Repo, daily_commits: list[str], ref: str, index: int
) -> None:
    assert resolve_ref(repo, ref) == daily_commits[index]


def test_date_without_name_refers_to_served_branch(repo: Repo, daily_commits: list[str]) -> None:
    repo.git("checkout", "-q", "-b", "other", daily_commits[0])
    later_commit = commit_at(repo, "2026-01-15T12:00:00Z", "# Other\n")
    assert resolve_ref(repo, "@{2026-01-25}", branch="main") == daily_commits[1]
    assert (
        resolve_ref(repo, "@{2026-01-25}", branch="other")
        == resolve_ref(repo, "other@{2026-01-25}", branch="main")
        == later_commit
    )


def test_date_is_resolved_again_after_branch_moves(repo: Repo, daily_commits: list[str]) -> None:
    workspace = Workspace.open(repo.path)
    for _ in range(2):
        assert resolve_branch_ref(workspace, "@{2026-02-10}") == daily_commits[2]
    later_commit = commit_at(repo, "2026-02-05T12:00:00Z", "# Later\n")
    assert resolve_branch_ref(workspace, "@{2026-02-10}") == later_commit
    for day in range(1, 29):
        for hour in range(10, 15):
            assert resolve_branch_ref(workspace, f"@{{2026-02-{day:02}T{hour}:00}}") == (
                later_commit if (day, hour) >= (5, 12) else daily_commits[2]
            )
    assert len(workspace.commits_by_date) <= 100


def test_date_is_resolved_along_first_parents(repo: Repo, daily_commits: list[str]) -> None:
    repo.git("checkout", "-q", "-b", "side", daily_commits[0])
    repo.git("rm", "-q", "a.md")
    commit_at(repo, "2026-01-21T12:00:00Z", "# Side\n")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "-s", "ours", "-m", "Merge", "side")
    assert resolve_ref(repo, "@{2026-01-25}") == daily_commits[1]


def test_date_before_first_commit_is_refused(repo: Repo, daily_commits: list[str]) -> None:
    with pytest.raises(BeforeHistory) as error_info:
        resolve_ref(repo, "@{2026-01-09}")
    assert error_info.value.details["first"] == "2026-01-10T12:00:00Z"
    assert "@{2026-01-10T12:00:00Z}" in error_info.value.fix
    assert resolve_ref(repo, "@{2026-01-10T12:00:00Z}") == daily_commits[0]


@pytest.mark.parametrize("ref", ["@{2026-02-31}", "@{2026-13-01}", "@{0000-01-01}", "@{2026-01-31T24:01}"])
def test_invalid_calendar_date_is_refused(repo: Repo, daily_commits: list[str], ref: str) -> None:
    with pytest.raises(RefNotFound, match="not a calendar date"):
        resolve_ref(repo, ref)


@loop_over(
    "ref",
    [
        "@{1}",
        "@{-1}",
        "main@{0}",
        "@{yesterday}",
        "@{upstream}",
        "@{u}",
        "@{push}",
        "@{}",
        "@{2026-1-1}",
        "@{2026-01-31",
        "@{2026-01-31}x",
        "@{٢٠٢٦-01-31}",
        "@{2026-01-31T12}",
        "@{2026-01-31}@{2026-01-31}",
    ],
)
def test_reflog_and_unknown_date_forms_are_refused(repo: Repo, daily_commits: list[str], ref: str) -> None:
    with pytest.raises(RefNotFound, match="is not a valid date") as error_info:
        resolve_ref(repo, ref)
    assert "@{2026-01-31T12:00}" in error_info.value.fix


def test_unknown_name_error_lists_nearest_names(repo: Repo, daily_commits: list[str]) -> None:
    repo.git("tag", "release-1.2")
    with pytest.raises(RefNotFound, match=r"'release-1\.1' names no") as error_info:
        resolve_ref(repo, "release-1.1")
    assert error_info.value.details["refs"] == ["release-1.2"]
    assert "Did you mean 'release-1.2'?" in error_info.value.fix
    with pytest.raises(RefNotFound) as error_info:
        resolve_ref(repo, "2026-01-31")
    assert "@{2026-01-31}" in error_info.value.fix


@loop_over(
    "ref",
    [
        "~",
        "^",
        "~1",
        "HEAD~x",
        "HEAD^-",
        "HEAD~9",
        "HEAD~999999999",
        "--upload-pack=x",
        "..",
        "main..HEAD",
        "*",
    ],
)
def test_invalid_ref_is_refused(repo: Repo, daily_commits: list[str], ref: str) -> None:
    with pytest.raises(RefNotFound):
        resolve_ref(repo, ref)


@loop_over(
    "ref",
    [
        "x" * 10_000,
        "HEAD" + "~" * 10_000,
        "a\0b",
        "main\0",
        "main\0b",
        "HEAD\0",
        "HEAD~1\0",
        "\0",
        "a\nb",
        "\x1b[31m",
        "\ud800",
        "a\u202eb",
    ],
)
def test_error_for_hostile_ref_is_short_and_printable(repo: Repo, daily_commits: list[str], ref: str) -> None:
    with pytest.raises(RefNotFound) as error_info:
        resolve_ref(repo, ref)
    assert error_info.value.message.isprintable()
    assert len(error_info.value.message) < 300


def test_ref_of_blob_or_tree_is_refused(repo: Repo, daily_commits: list[str]) -> None:
    blob = repo.git("rev-parse", "HEAD:a.md").strip()
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    repo.git("tag", "of-a-blob", blob)
    repo.git("tag", "-a", "annotated-blob", "-m", "A tag of a blob", blob)
    repo.git("tag", "of-a-tree", tree)
    for ref, kind in ((blob, "blob"), (blob[:8], "blob"), ("of-a-blob", "blob"), ("annotated-blob", "blob")):
        with pytest.raises(NotACommit, match="blob") as error_info:
            resolve_ref(repo, ref)
        assert error_info.value.details["kind"] == kind
    for ref in (tree, "of-a-tree", "of-a-tree~1"):
        with pytest.raises(NotACommit, match="tree"):
            resolve_ref(repo, ref)
    for ref in ("HEAD:a.md", ":/Day", "HEAD^{tree}", "HEAD^{/Day}"):
        with pytest.raises(NotACommit, match="names a file or folder of a commit"):
            resolve_ref(repo, ref)


def test_ambiguous_id_prefix_is_refused(repo: Repo, daily_commits: list[str]) -> None:
    blob_ids = []
    for text in COLLIDING_TEXTS:
        (repo.path / "blob").write_text(text, encoding="ascii")
        blob_ids.append(repo.git("hash-object", "-w", "blob").strip())
    assert blob_ids[0][:4] == blob_ids[1][:4]
    with pytest.raises(AmbiguousId, match="several") as error_info:
        resolve_ref(repo, blob_ids[0][:4])
    assert "more characters" in error_info.value.fix


def test_branch_precedes_id_prefix_but_not_full_id(repo: Repo, daily_commits: list[str]) -> None:
    repo.git("branch", daily_commits[0][:7], daily_commits[1])
    assert resolve_ref(repo, daily_commits[0][:7]) == daily_commits[1]
    # Git does not create a branch with such a name. An id from an earlier response must keep its meaning.
    (repo.path / ".git" / "refs" / "heads" / daily_commits[0]).write_text(
        daily_commits[1] + "\n", encoding="ascii"
    )
    assert resolve_ref(repo, daily_commits[0]) == daily_commits[0]
    assert resolve_ref(repo, f"refs/heads/{daily_commits[0]}") == daily_commits[1]


def test_ref_in_unborn_repository_is_refused(repo: Repo) -> None:
    workspace = Workspace.open(repo.path)
    assert workspace.at(None).commit is None
    for ref in ("HEAD", "@", "@{2026-01-31}", "HEAD~1"):
        with pytest.raises(RefNotFound, match="nothing is committed yet"):
            workspace.at(ref)
    with pytest.raises(RefNotFound, match="'main' names no"):
        workspace.at("main")


def test_detached_head_is_resolved(tmp_path: Path) -> None:
    repo = repositories.create_detached_repository(tmp_path / "docs")
    later_commit = repo.commit({"new.md": "# New\n"})
    assert resolve_ref(repo, "HEAD") == resolve_ref(repo, "@{2099-01-01}") == later_commit
    assert resolve_ref(repo, "main") == resolve_ref(repo, "HEAD~1") != later_commit


def test_ref_beyond_shallow_boundary_is_refused(repo: Repo, daily_commits: list[str], tmp_path: Path) -> None:
    repo.git("clone", "-q", "--depth", "2", f"file://{repo.path}", str(tmp_path / "shallow"))
    shallow_repo = Repo(tmp_path / "shallow")
    assert (
        resolve_ref(shallow_repo, "HEAD~1") == resolve_ref(shallow_repo, "@{2026-01-25}") == daily_commits[1]
    )
    with pytest.raises(RefNotFound, match="shallow") as error_info:
        resolve_ref(shallow_repo, "HEAD~2")
    assert "--unshallow" in error_info.value.fix
    with pytest.raises(BeforeHistory, match="shallow") as date_error:
        resolve_ref(shallow_repo, "@{2026-01-19}")
    assert date_error.value.details["first"] == "2026-01-20T12:00:00Z"
    with pytest.raises(RefNotFound) as error_info:
        resolve_ref(shallow_repo, daily_commits[0])
    assert "--unshallow" in error_info.value.fix


def test_linked_work_tree_resolves_its_own_head(repo: Repo, daily_commits: list[str], tmp_path: Path) -> None:
    linked_repo = repositories.add_work_tree(repo, tmp_path / "linked", "topic")
    topic_commit = linked_repo.commit({"topic.md": "# Topic\n"})
    assert resolve_ref(linked_repo, "HEAD") == resolve_ref(repo, "topic") == topic_commit
    assert resolve_ref(repo, "HEAD") == daily_commits[2]


def test_snapshot_is_at_given_ref(repo: Repo, daily_commits: list[str]) -> None:
    workspace = Workspace.open(repo.path)
    assert workspace.at("HEAD~2").document("a.md").title == "Day 10"
    for ref in (None, "", "  ", "main", daily_commits[2]):
        assert workspace.at(ref).commit == daily_commits[2], ref
    assert workspace.at(" HEAD~1 ").commit == daily_commits[1]
    assert isinstance(workspace.at(None), Snapshot)
    assert workspace.at(None) is workspace.at("main")


def test_ref_with_broken_settings_is_refused(repo: Repo, daily_commits: list[str]) -> None:
    broken_commit = repo.commit({"docyard.toml": "colour = 1\n"})
    repo.commit({"docyard.toml": ""})
    workspace = Workspace.open(repo.path)
    assert workspace.at("main").documents
    with pytest.raises(InvalidConfig, match=r"at this ref, docyard\.toml: there is no setting") as error_info:
        workspace.at(broken_commit)
    assert "another ref" in error_info.value.fix


def test_ref_names_list_head_branches_and_tags(repo: Repo, daily_commits: list[str]) -> None:
    repo.git("tag", "v1")
    repo.git("update-ref", "refs/remotes/origin/topic", daily_commits[0])
    repo.git("update-ref", "refs/notes/commits", daily_commits[0])
    assert list_ref_names(Workspace.open(repo.path).git) == ("HEAD", "main", "origin/topic", "v1")


@settings(
    max_examples=scale_examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(
                ["HEAD", "main", "@", "@{", "}", "2026-01-20", "~", "^", "2", "T12:00", ":", "^{"]
            )
        ).map("".join),
    )
)
def test_any_text_resolves_or_raises_error_with_fix(repo: Repo, ref: str) -> None:
    if not repo.git("rev-parse", "-q", "--verify", "HEAD", check=False):
        commit_at(repo, "2026-01-10T12:00:00Z", "# One\n")
        commit_at(repo, "2026-01-30T12:00:00Z", "# Two\n")
    result: str | WorkspaceError
    try:
        result = resolve_ref(repo, ref)
    except WorkspaceError as error:
        result = error
    if isinstance(result, str):
        assert result in repo.git("rev-list", "HEAD").split()
    else:
        assert result.fix
        assert len(result.message) < MAX_REF_LENGTH
