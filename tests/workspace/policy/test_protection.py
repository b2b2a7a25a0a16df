"""Rules govern changes by path and by old or new type; all rules govern changes of settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import repositories
from tests.loops import loop_over
from tests.repositories import Repo
from workspace.config.config import WorkspaceConfig
from workspace.git.reader import GitReader
from workspace.git.trees import WholeEntry, find_in_tree
from workspace.globs import Glob, find_problem
from workspace.policy.protection import (
    GlobMatcher,
    Protected,
    TouchedPath,
    check_direct_write,
    find_governing_rules,
    find_touched_paths,
    format_paths,
)
from workspace.snapshot.snapshot import Snapshot

API_TEXT = "---\ntype: api_spec\n---\n\n# Api\n"
FILES = {
    "docyard.toml": '[[protect]]\npaths = ["specs/**"]\n\n'
    '[[protect]]\ntypes = ["api_spec"]\n\n'
    '[[protect]]\npaths = ["runs/*.md"]\ntypes = ["runbook", "api_spec"]\n',
    "specs/a.md": "# A\n",
    "guides/api.md": API_TEXT,
    "guides/plain.md": "# Plain\n",
    "runs/.taxonomy.toml": '[metadata]\ntype = "runbook"\n',
    "runs/deploy.md": "# Deploy\n",
    "runs/note.md": "---\ntype: note\n---\n\n# Note\n",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return repositories.create_repository(tmp_path_factory.mktemp("rules") / "repo", FILES)


@pytest.fixture(scope="module")
def tip(repo: Repo) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head())


def find_governed_paths(
    tip: Snapshot, changes: Mapping[str, bytes | WholeEntry | None]
) -> dict[int, tuple[str, ...]]:
    return {
        rule.number: rule.paths for rule in find_governing_rules(tip.config, find_touched_paths(tip, changes))
    }


@loop_over(
    ("changes", "rules"),
    [
        ({"guides/plain.md": b"# Other\n"}, []),
        ({"new.md": b"# New\n"}, []),
        ({"specs/a.md": b"# B\n"}, [1]),
        ({"specs/a.md": None}, [1]),
        ({"specs/deep/er/new.md": b""}, [1]),
        ({"specs-of-old/a.md": b""}, []),
        ({"guides/plain.md": b"# P\n", "specs/b.md": b""}, [1]),
        ({"specs/a.md": None, "free/a.md": b"# A\n"}, [1]),  # moved away
        ({"guides/plain.md": None, "specs/plain.md": b"# Plain\n"}, [1]),  # moved here
        ({"guides/api.md": b"# Api\n"}, [2]),  # the document has the type before the change
        ({"guides/plain.md": API_TEXT.encode()}, [2]),  # the document has the type after the change
        ({"guides/api.md": None}, [2]),
        ({"new.md": API_TEXT.encode()}, [2]),
        ({"new.md": b"---\ntype: [x, api_spec]\n---\n"}, [2]),
        ({"new.md": b"---\ntype: 'api_spec'\n---\n"}, [2]),
        ({"new.md": b"---\ntype: {{ api_spec\n---\n"}, []),
        ({"new.txt": API_TEXT.encode()}, []),
        ({"runs/deploy.md": b"# D\n"}, [3]),  # by its manifest
        ({"runs/new.md": b"# N\n"}, [3]),
        ({"runs/note.md": b"---\ntype: note\n---\n\nMore.\n"}, []),  # front matter takes precedence
        ({"runs/note.md": b"# N\n"}, [3]),
        ({"runs/new.md": API_TEXT.encode()}, [2, 3]),
        ({"docyard.toml": b""}, [1, 2, 3]),
        ({"docyard.toml": None}, [1, 2, 3]),
        ({".docyard/templates/x/type.toml": b""}, [1, 2, 3]),
        ({"guides/.taxonomy.toml": b""}, [1, 2, 3]),
        ({".taxonomy.toml": None}, [1, 2, 3]),
        ({"guides/docyard.toml": b""}, []),
        ({"Docyard.toml": b""}, [1, 2, 3]),
        ({".DOCYARD/templates/x/type.toml": b""}, [1, 2, 3]),
        ({"guides/.Taxonomy.toml": b""}, [1, 2, 3]),
    ],
)
def test_change_is_governed_by_expected_rules(
    tip: Snapshot, changes: Mapping[str, bytes | None], rules: list[int]
) -> None:
    assert [*find_governed_paths(tip, changes)] == rules
    if not rules:
        check_direct_write(tip, changes)
        return
    with pytest.raises(Protected) as error_info:
        check_direct_write(tip, changes)
    assert set(error_info.value.paths) <= changes.keys()


def test_whole_entries_are_governed(tip: Snapshot) -> None:
    assert tip.tree is not None
    entry = find_in_tree(tip.git, tip.tree, "guides/api.md")
    assert [*find_governed_paths(tip, {"copy.md": WholeEntry(entry)})] == [2]
    assert [*find_governed_paths(tip, {"guides/api.md": WholeEntry(None)})] == [2]
    assert [*find_governed_paths(tip, {"specs": WholeEntry(find_in_tree(tip.git, tip.tree, "specs"))})] == []
    assert [
        *find_governed_paths(
            tip, {"specs/link.md": WholeEntry(entry._replace(mode=0o120000) if entry else None)}
        )
    ] == [1]


def test_protected_error_lists_bounded_paths(tip: Snapshot) -> None:
    with pytest.raises(Protected) as error_info:
        check_direct_write(
            tip, {"guides/plain.md": b"", **{f"specs/{number:03}.md": b"" for number in range(30)}}
        )
    error = error_info.value
    assert error.message == (
        "specs/000.md, specs/001.md, specs/002.md and 27 more can change only by a proposal that is reviewed"
    )
    assert (len(error.details["paths"]), error.details["count"], len(error.paths)) == (20, 30, 30)
    assert format_paths(["a.md"]) == "a.md"


def test_without_rules_no_path_is_protected(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo", {"a.md": API_TEXT})
    tip = Snapshot(GitReader(repo.path), repo.head())
    check_direct_write(tip, {"a.md": None, "docyard.toml": b"", "b.md": b""})
    assert find_governing_rules(tip.config, find_touched_paths(tip, {"docyard.toml": b""})) == ()
    check_direct_write(Snapshot(tip.git, None), {"a.md": b""})


@loop_over(
    ("glob", "path", "root", "is_governed"),
    [
        ("specs", "specs/a.md", "", True),
        ("specs/", "specs/a/b.md", "", True),
        ("specs/a.md", "specs/a.md", "", True),
        ("specs/a.md", "specs/b.md", "", False),
        ("*.md", "deep/a.md", "", True),
        ("**/adr/*", "adr/1.md", "", True),
        ("**/adr/*", "docs/team/adr/1.md", "", True),
        ("**", "anything/at/all.md", "", True),
        ("spec[s]/?.md", "specs/a.md", "", True),
        ("spec[!s]/?.md", "specs/a.md", "", False),
        ("C#[1].md", "C#[1].md", "", True),
        ("specs", "docs/specs/a.md", "docs", True),
        ("docs/specs", "docs/specs/a.md", "docs", True),
        ("specs", "docs/specs/a.md", "", False),
        # Many file systems treat these names as one file.
        ("specs/**", "Specs/a.md", "", True),
        ("Specs/A.md", "specs/a.md", "", True),
        ("caf\u00e9/**", "cafe\u0301/a.md", "", True),
        ("cafe\u0301/?.md", "CAF\u00c9/\u00e9.md", "", True),
        ("specs", "Docs/Specs/a.md", "docs", True),
    ],
)
def test_glob_forms_match_expected_paths(glob: str, path: str, root: str, is_governed: bool) -> None:
    config = WorkspaceConfig.model_validate({"root": root, "protect": [{"paths": [glob]}]})
    assert bool(find_governing_rules(config, [TouchedPath(path)])) is is_governed


def test_five_hundred_rules_all_apply(tip: Snapshot) -> None:
    text = "".join(f'[[protect]]\npaths = ["area{number}/**"]\n' for number in range(500))
    config = WorkspaceConfig.read(text.encode())
    rules = find_governing_rules(
        config, [TouchedPath("area499/a.md"), TouchedPath("area7/a.md"), TouchedPath("free.md")]
    )
    assert [(rule.number, rule.paths) for rule in rules] == [(8, ("area7/a.md",)), (500, ("area499/a.md",))]
    assert len(find_governing_rules(config, [TouchedPath("docyard.toml")])) == 500


GLOB_PARTS = st.sampled_from(["a", "b", "ab", "/", "/", "*", "**/", "?", "[ab]", "[!a]", "specs", ".md"])


@given(
    glob=st.lists(GLOB_PARTS, min_size=1, max_size=6)
    .map("".join)
    .filter(lambda text: find_problem(text) is None),
    paths=st.lists(
        st.lists(st.sampled_from(["a", "b", "/", "specs", ".md", "[ab]", "*"]), max_size=6).map("".join)
    ),
    root=st.sampled_from(["", "a", "specs"]),
)
def test_glob_matcher_agrees_with_plain_globs(glob: str, paths: list[str], root: str) -> None:
    plain_glob = Glob.compile(glob)
    relative_paths = {path: path.removeprefix(f"{root}/") if root else path for path in paths}
    expected = {
        path for path in paths if plain_glob.matches(path) or plain_glob.matches(relative_paths[path])
    }
    assert GlobMatcher(paths, root).match([glob]) == expected
    assert GlobMatcher(paths, root).match(["nothing", glob, "nowhere"]) == expected
