"""Drift: the commits that changed the covered files after the text itself."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.repositories import Repo, create_repository
from workspace.git.reader import GitReader
from workspace.globs import Glob
from workspace.history.drift import DriftFinder, DriftReport
from workspace.snapshot.snapshot import Snapshot

GUIDE = """# Guide

Intro.

## Login {#login}

- Covers: `src/login/**`, `src/cookies.py`

The form.

### Errors {#errors}

None.

## Other {#other}

See [the list](list.md).
"""
FILES = {"docs/guide.md": GUIDE, "src/login/form.py": "1\n", "src/cookies.py": "1\n", "src/other.py": "1\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repo", FILES)


def find_drifts(repo: Repo, ref: str = "HEAD") -> DriftReport:
    snapshot = read_snapshot(repo, ref)
    return DriftFinder(snapshot.git).find(snapshot)


def read_snapshot(repo: Repo, ref: str) -> Snapshot:
    git = GitReader(repo.path)
    return Snapshot(git, repo.git("rev-parse", ref).strip())


def list_drifts(repo: Repo, ref: str = "HEAD") -> dict[str, list[str]]:
    """Return the changing commits of each address, newest first."""
    return {
        drift.address: [change.commit for change in drift.changes] for drift in find_drifts(repo, ref).drifts
    }


def test_text_and_files_of_one_commit_are_no_drift(repo: Repo) -> None:
    assert list_drifts(repo) == {}
    repo.commit({"docs/guide.md": GUIDE.replace("The form.", "The new form."), "src/cookies.py": "2\n"})
    report = find_drifts(repo)
    assert (report.drifts, report.covered_count, report.is_complete) == ((), 1, True)


def test_later_commits_of_covered_files_are_listed_newest_first(repo: Repo) -> None:
    text_commit = repo.head()
    first = repo.commit({"src/login/form.py": "2\n"})
    repo.commit({"src/other.py": "2\n"})
    second = repo.commit({"src/login/new/deep.py": "1\n", "src/cookies.py": "2\n", "src/other.py": "3\n"})
    [drift] = find_drifts(repo).drifts
    assert [change.commit for change in drift.changes] == [second, first]
    assert (drift.address, drift.title, drift.text_commit) == ("docs/guide.md#login", "Login", text_commit)
    finder = DriftFinder(GitReader(repo.path))
    assert list(finder.list_changed_files(drift, drift.changes[0])) == [
        "src/cookies.py",
        "src/login/new/deep.py",
    ]


def test_restored_files_are_no_drift(repo: Repo) -> None:
    repo.commit({"src/cookies.py": "2\n", "src/login/new.py": "1\n"})
    (repo.path / "src/login/new.py").unlink()
    restoring_commit = repo.commit({"src/cookies.py": "1\n"})
    assert list_drifts(repo) == {}
    change = repo.commit({"src/cookies.py": "3\n"})
    assert list_drifts(repo)["docs/guide.md#login"][:2] == [change, restoring_commit]


def test_change_of_another_section_does_not_end_the_search(repo: Repo) -> None:
    change = repo.commit({"src/cookies.py": "2\n"})
    repo.commit({"docs/guide.md": GUIDE.replace("Intro.", "Introduction.").replace("See", "Read")})
    assert list_drifts(repo) == {"docs/guide.md#login": [change]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The form.", "The form, corrected."),
        ("None.", "None yet."),  # in a subsection
        ("The form.\n", "The form.\n\n- Checked: 2026-11-28\n"),
        ("## Login {#login}", "## Sign in {#login}"),
        ("### Errors {#errors}\n\nNone.\n\n", ""),  # the end of the section was removed
    ],
)
def test_change_of_the_section_ends_its_drift(repo: Repo, old: str, new: str) -> None:
    repo.commit({"src/cookies.py": "2\n"})
    assert old in GUIDE
    repo.commit({"docs/guide.md": GUIDE.replace(old, new)})
    assert list_drifts(repo) == {}


def test_removal_at_the_end_of_the_document_ends_the_drift(repo: Repo) -> None:
    text = GUIDE.partition("## Other")[0]
    repo.commit({"docs/guide.md": text})
    repo.commit({"docs/guide.md": text + "\nMore.\n", "src/other.py": "2\n"})
    repo.commit({"src/cookies.py": "2\n"})
    repo.commit({"docs/guide.md": text})
    assert list_drifts(repo) == {}


def test_new_destinations_of_links_are_no_change_of_the_text(repo: Repo) -> None:
    text = GUIDE.replace("The form.", "The [form](form.md).")
    repo.commit({"docs/guide.md": text})
    change = repo.commit({"src/cookies.py": "2\n"})
    repo.commit({"docs/guide.md": text.replace("form.md", "../other/form.md")})
    assert list_drifts(repo) == {"docs/guide.md#login": [change]}


TASKS = """## Login {#login}

- Covers: `src/cookies.py`

Text.

- [ ] Plan it
  - Criteria: All forms
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n", "\r\n"),
        ("## Login {#login}", "### Login {#login}"),
        ("## Login {#login}", "Login {#login}\n---"),
        ("## Login {#login}", "## Login"),
        ("## Login {#login}", '<a id="login"></a>\n\n## Login'),
        ("## Login {#login}", "## Login { #login .big }"),
        ("[ ] Plan it", "[x] Plan it {#plan}"),
        ("forms\n", "forms\n  - Depends on: other.md#a,\n    other.md#b\n  - Blocked: by law\n"),
        ("  - Criteria", "  - Claimed by: ada until 2026-11-28T10:00Z\n  - Criteria"),
        ("forms\n", "forms\n  - Completed: 2026-11-28\n  - Note: Done\n"),
    ],
)
def test_mechanical_edit_does_not_end_the_drift(repo: Repo, old: str, new: str) -> None:
    """Moves, fixes and the tools for tasks write these."""
    text = f"# Guide\n\n{TASKS}\n## Other\n\nEnd.\n"
    repo.commit({"docs/guide.md": text})
    change = repo.commit({"src/cookies.py": "2\n"})
    assert old in text
    (repo.path / "docs/guide.md").write_bytes(text.replace(old, new).encode())
    repo.commit({})
    assert list_drifts(repo) == {"docs/guide.md#login": [change]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Text.", "Text.\n\n- Checked: 2026-11-28"),
        ("Text.", "Text.\n\n- Note: checked"),
        ("All forms", "Some forms"),
        ("Plan it", "Plan all"),
        ("Text.", "- Text."),
    ],
)
def test_edit_of_words_of_tasks_ends_the_drift(repo: Repo, old: str, new: str) -> None:
    repo.commit({"docs/guide.md": f"# Guide\n\n{TASKS}"})
    repo.commit({"src/cookies.py": "2\n"})
    assert old in TASKS
    repo.commit({"docs/guide.md": f"# Guide\n\n{TASKS.replace(old, new)}"})
    assert list_drifts(repo) == {}


def test_move_into_a_deeper_section_of_a_crlf_document_does_not_end_the_drift(repo: Repo) -> None:
    repo.commit({"docs/guide.md": f"# Guide\n\n{TASKS}"})
    (repo.path / "b.md").write_bytes(b"# B\r\n\r\n## Parent\r\n\r\nText.\r\n")
    change = repo.commit({"src/cookies.py": "2\n"})
    moved_text = "\n#" + TASKS
    (repo.path / "b.md").write_bytes(
        (b"# B\n\n## Parent\n\nText.\n" + moved_text.encode()).replace(b"\n", b"\r\n")
    )
    repo.commit({"docs/guide.md": "# Guide\n"})
    assert list_drifts(repo) == {"b.md#login": [change]}


def test_front_matter_except_covers_does_not_end_the_drift(repo: Repo) -> None:
    text = "---\ntags: [a]\ncovers: [src/other.py]\n---\n# Notes\n"
    repo.commit({"notes.md": text})
    change = repo.commit({"src/other.py": "2\n"})
    repo.commit({"notes.md": text.replace("[a]", "[a, b]\nowner: ada")})
    assert list_drifts(repo) == {"notes.md": [change]}
    repo.commit({"notes.md": text.replace("[src/other.py]", "\n  - src/other.py\n  - src/cookies.py")})
    assert list_drifts(repo) == {}


def test_text_is_followed_to_another_document_and_across_renames(repo: Repo) -> None:
    change = repo.commit({"src/cookies.py": "2\n"})
    section = GUIDE[GUIDE.index("## Login") : GUIDE.index("## Other")]
    repo.commit({"docs/guide.md": GUIDE.replace(section, ""), "docs/login.md": f"# Login\n\n{section}"})
    repo.git("mv", "docs/login.md", "sign-in.md")
    repo.commit({})
    later_change = repo.commit({"src/login/form.py": "2\n"})
    assert list_drifts(repo) == {"sign-in.md#login": [later_change, change]}


def test_front_matter_covers_the_whole_document(repo: Repo) -> None:
    text = "---\ncovers: [src/other.py, '*.toml']\n---\n# Notes\n"
    text_commit = repo.commit({"notes.md": text})
    change = repo.commit({"src/other.py": "2\n"})
    [drift] = find_drifts(repo).drifts
    assert (drift.address, drift.section, drift.text_commit) == ("notes.md", None, text_commit)
    assert [item.commit for item in drift.changes] == [change]
    repo.commit({"notes.md": text + "\nEnd.\n"})
    assert list_drifts(repo) == {}


def test_glob_of_every_file_does_not_include_the_document_itself(repo: Repo) -> None:
    text = "# All\n\n## Everything {#everything}\n\n- Covers: `**`\n\n## Else {#else}\n\nText.\n"
    repo.commit({"all.md": text})
    repo.commit({"all.md": text.replace("Text.", "Other text.")})
    change = repo.commit({"src/other.py": "2\n"})
    assert list_drifts(repo)["all.md#everything"] == [change]


def test_merge_counts_as_one_commit_of_the_branch(repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "topic")
    repo.commit({"src/cookies.py": "2\n"})
    repo.commit({"src/login/form.py": "2\n"})
    repo.git("switch", "-q", "main")
    repo.commit({"docs/guide.md": GUIDE.replace("The form.", "The new form.")})
    repo.git("merge", "-q", "--no-edit", "topic")
    assert list_drifts(repo) == {"docs/guide.md#login": [repo.head()]}


def test_earlier_commit_and_other_branch_have_their_own_drifts(repo: Repo) -> None:
    change = repo.commit({"src/cookies.py": "2\n"})
    repo.git("branch", "topic")
    repo.commit({"docs/guide.md": GUIDE.replace("The form.", "The new form.")})
    assert list_drifts(repo) == {}
    assert list_drifts(repo, "topic") == {"docs/guide.md#login": [change]}
    assert list_drifts(repo, "HEAD~2") == {}


def test_shallow_clone_reports_an_incomplete_history(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/cookies.py": "2\n"})
    repo.commit({"src/cookies.py": "3\n"})
    repo.git("clone", "-q", "--bare", "--depth", "2", f"file://{repo.path}", str(tmp_path / "shallow"))
    report = find_drifts(Repo(tmp_path / "shallow"))
    assert not report.is_complete
    assert [(drift.text_commit, len(drift.changes)) for drift in report.drifts] == [(None, 1)]


def test_difference_of_two_commits_lists_unchanged_texts_of_changed_files(repo: Repo) -> None:
    base = repo.head()
    repo.commit({"src/cookies.py": "2\n"})
    repo.commit({"src/login/form.py": "2\n"})
    base_snapshot, snapshot = read_snapshot(repo, base), read_snapshot(repo, "HEAD")
    git = snapshot.git
    report = DriftFinder(git).find_between(base_snapshot, snapshot)
    assert [drift.address for drift in report.drifts] == ["docs/guide.md#login"]
    [change] = report.drifts[0].changes
    files = list(DriftFinder(git).list_changed_files(report.drifts[0], change))
    assert files == ["src/cookies.py", "src/login/form.py"]
    repo.commit({"docs/guide.md": GUIDE.replace("The form.", "The new form.")})
    report = DriftFinder(git).find_between(base_snapshot, read_snapshot(repo, "HEAD"))
    assert report.drifts == ()


def test_invalid_globs_cover_nothing(repo: Repo) -> None:
    repo.commit({"bad.md": "# Bad\n\n- Covers: `/src`, `../x`, `[`, ``, `src\\x`\n"})
    repo.commit({"src/other.py": "2\n"})
    report = find_drifts(repo)
    assert "bad.md#_preamble" not in [drift.address for drift in report.drifts]
    assert report.covered_count == 1


WILDCARDS = st.lists(st.sampled_from(("*", "**", "?", "a", "*.py")), min_size=1, max_size=3).map("/".join)
GLOBS = st.builds("".join, st.tuples(st.sampled_from(("", "a/", "a/b/")), WILDCARDS))
CODE_FILES = ("a.py", "a/x.py", "b/x.py", "a/a/x.py", "a/b/x.py", "b/a/a/x.py", "a/b/a/b", "a/b/a/c/x.py")


@settings(max_examples=60, deadline=None)
@given(st.lists(GLOBS, min_size=1, max_size=2), st.sets(st.sampled_from(CODE_FILES), min_size=1, max_size=2))
def test_drift_of_any_glob_equals_that_of_all_files(globs: list[str], changed_files: set[str]) -> None:
    text = "".join(f"## G{number}\n\n- Covers: `{glob}`\n\n" for number, glob in enumerate(globs))
    with TemporaryDirectory() as folder:
        repo = create_repository(
            Path(folder) / "repo", {"guide.md": f"# Guide\n\n{text}", **dict.fromkeys(CODE_FILES, "1\n")}
        )
        base = read_snapshot(repo, "HEAD")
        repo.commit(dict.fromkeys(changed_files, "2\n"))
        expected = {
            f"guide.md#g{number}"
            for number, glob in enumerate(globs)
            if any(map(Glob.compile(glob).matches, changed_files))
        }
        assert set(list_drifts(repo)) == expected
        snapshot = read_snapshot(repo, "HEAD")
        report = DriftFinder(snapshot.git).find_between(base, snapshot)
        assert {drift.address for drift in report.drifts} == expected
        for drift in report.drifts:
            files = DriftFinder(snapshot.git).list_changed_files(drift, drift.changes[0])
            assert set(files) == set(filter(drift.coverage.matches, changed_files))


@pytest.mark.parametrize("glob", ["src/*/*", "*/*/*", "src/**/*/*", "**/*/*/*"])
def test_glob_of_several_folders_drifts(tmp_path: Path, glob: str) -> None:
    files = {"a.md": f"# A\n\n## B {{#b}}\n\n- Covers: `{glob}`\n", "src/login/forms/form.py": "1\n"}
    repo = create_repository(tmp_path / "repo", files)
    change = repo.commit({"src/login/forms/form.py": "2\n"})
    assert list_drifts(repo) == {"a.md#b": [change]}


ACTIONS = ("login", "other", "covered", "cookies", "uncovered", "rename", "move")


@settings(max_examples=30)
@given(st.lists(st.sets(st.sampled_from(ACTIONS)), min_size=1, max_size=8))
def test_drift_equals_that_of_a_model(commits: list[set[str]]) -> None:
    """Each commit does some actions; the model knows which of them change the text or its files."""
    with TemporaryDirectory() as folder:
        path, counts = "docs/guide.md", dict.fromkeys(ACTIONS, 0)
        repo = create_repository(Path(folder) / "repo", build_files(path, counts))
        text_commit, changes = repo.head(), list[str]()
        for actions in commits:
            for action in actions:
                counts[action] += 1
            if "rename" in actions:
                new_path = f"docs/guide-{counts['rename']}.md"
                repo.git("mv", path, new_path)
                path = new_path
            commit = repo.commit(build_files(path, counts))
            if "login" in actions:
                text_commit, changes = commit, []
            elif actions & {"covered", "cookies"}:
                changes.insert(0, commit)
        report = find_drifts(repo)
        expected = [(f"{path}#login", text_commit, changes)] if changes else []
        assert [
            (drift.address, drift.text_commit, [change.commit for change in drift.changes])
            for drift in report.drifts
        ] == expected


def build_files(path: str, counts: dict[str, int]) -> dict[str, str]:
    """Return the files after a number of actions of each kind."""
    text = GUIDE.replace("The form.", f"The form {counts['login']}.")
    text = text.replace("Intro.", f"Intro {counts['other']}.")
    if counts["move"] % 2:
        start, end = text.index("## Login"), text.index("## Other")
        text = f"{text[:start]}{text[end:]}\n{text[start:end].rstrip()}\n"
    return {
        path: text,
        "src/login/form.py": f"{counts['covered'] // 2}\n",
        "src/login/fields/name.py": f"{(counts['covered'] + 1) // 2}\n",
        "src/cookies.py": f"{counts['cookies']}\n",
        "src/other.py": f"{counts['uncovered']}\n",
    }
