"""History contains the commits that changed a document or section, and its earlier locations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from tests.workspace.history.fast_import import PlannedCommit, build_linear_commits, write_history
from workspace.archive import Archive
from workspace.document.addresses import AmbiguousAddress, SectionNotFound
from workspace.document.document import Document
from workspace.history.commits import CommitChange
from workspace.history.log import ChangePage, NoHistory
from workspace.snapshot.snapshot import DocumentNotFound, LfsTextMissing
from workspace.workspace import Workspace

GUIDE = (
    "# Guide\n\nWelcome.\n\n## Setup\n\nInstall it.\nThen start it.\nThen stop it.\n\n## Use\n\nCall it.\n"
)
LONG_TEXT = "".join(f"Line {number} of the notes.\n" for number in range(12))


def read_changes(path: Path, file: str, slug: str | None = None, **options: object) -> ChangePage:
    workspace = Workspace.open(path, durable=False)
    return workspace.history().changes(workspace.snapshot(), file, slug, **options)  # type: ignore[arg-type]


def list_changes(page: ChangePage) -> list[tuple[str, str, str | None]]:
    """Return kind, path and fragment of each change of a page."""
    return [(change.kind, change.path, change.fragment) for change in page.entries]


def read_texts(change: CommitChange) -> tuple[bytes | None, bytes | None]:
    return change.before, change.after


def test_history_of_a_section_has_only_its_commits(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"guide.md": GUIDE})
    repo.commit({"guide.md": GUIDE.replace("Call it", "Call it twice")}, "Use")
    setup_commit = repo.commit({"guide.md": GUIDE.replace("Install", "Unpack")}, "Setup")
    repo.commit({"other.md": "# Other\n"}, "Other")
    page = read_changes(tmp_path, "guide.md", "setup")
    assert [change.subject for change in page.entries] == ["Setup", "First"]
    assert page.entries[0].commit == setup_commit
    assert read_texts(page.entries[0]) == (
        b"## Setup\n\nInstall it.\nThen start it.\nThen stop it.\n\n",
        b"## Setup\n\nUnpack it.\nThen start it.\nThen stop it.\n\n",
    )
    assert page.entries[1].before is None
    assert (page.next, page.is_complete, page.notes) == (None, True, ())
    assert [change.subject for change in read_changes(tmp_path, "guide.md", "use").entries] == [
        "Setup",
        "Use",
        "First",
    ]


def test_repeated_request_continues_an_incomplete_scan(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"guide.md": GUIDE})
    for number in range(6):
        repo.commit({"other.md": f"# Other {number}\n"})
    workspace = Workspace.open(tmp_path, durable=False)
    pages = [
        workspace.history().changes(workspace.snapshot(), "guide.md", limit=1, max_scanned=2)
        for _ in range(5)
    ]
    assert [(len(page.entries), page.is_complete) for page in (pages[0], pages[-1])] == [
        (0, False),
        (1, True),
    ]


def test_section_is_tracked_across_three_renames_and_a_move(tmp_path: Path) -> None:
    """The document is renamed twice, the section once, and then the section is moved."""
    repo = create_repository(
        tmp_path, {"a.md": f"# A\n\n## Notes\n\n{LONG_TEXT}\n## Rest\n\nText.\n", "z.md": "# Z\n"}
    )
    repo.git("mv", "a.md", "b.md")
    repo.git("commit", "-qm", "One")
    repo.commit({"b.md": f"# A\n\n## Remarks\n\n{LONG_TEXT}\n## Rest\n\nText.\n"}, "Two")
    repo.git("mv", "b.md", "c.md")
    repo.commit({"c.md": f"# A\n\n## Remarks\n\n{LONG_TEXT}More.\n\n## Rest\n\nText.\n"}, "Three")
    repo.commit(
        {"c.md": "# A\n\n## Rest\n\nText.\n", "z.md": f"# Z\n\n## Remarks\n\n{LONG_TEXT}More.\n"}, "Four"
    )
    repo.commit({"z.md": f"# Z\n\n## Remarks\n\n{LONG_TEXT}More.\nAnd more.\n"}, "Five")
    page = read_changes(tmp_path, "z.md", "remarks")
    assert [change.subject for change in page.entries] == ["Five", "Four", "Three", "Two", "One", "First"]
    assert list_changes(page) == [
        ("changed", "z.md", "remarks"),
        ("moved", "z.md", "remarks"),
        ("renamed", "c.md", "remarks"),
        ("renamed", "b.md", "remarks"),
        ("renamed", "b.md", "notes"),
        ("created", "a.md", "notes"),
    ]
    assert [change.old_path for change in page.entries] == ["z.md", "c.md", "b.md", "b.md", "a.md", None]


def test_manual_move_with_edits_is_tracked(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"a.md": f"# A\n\n## Notes\n\n{LONG_TEXT}", "z.md": "# Z\n\nText.\n"})
    edited_lines = LONG_TEXT.replace("Line 3", "Row 3").replace("Line 7", "Row 7")
    repo.commit({"a.md": "# A\n", "z.md": f"# Z\n\nText.\n\n### Notes\n\n{edited_lines}"}, "Move")
    assert list_changes(read_changes(tmp_path, "z.md", "notes")) == [
        ("moved", "z.md", "notes"),
        ("created", "a.md", "notes"),
    ]


def test_renamed_section_with_an_edited_line_is_tracked(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"a.md": f"# A\n\n## Notes\n\n{LONG_TEXT}"})
    repo.commit({"a.md": f"# A\n\n## Remarks\n\n{LONG_TEXT.replace('Line 3', 'Row 3')}"}, "Retitle")
    assert list_changes(read_changes(tmp_path, "a.md", "remarks")) == [
        ("renamed", "a.md", "remarks"),
        ("created", "a.md", "notes"),
    ]


def test_section_below_other_parent_is_reported_as_moved(tmp_path: Path) -> None:
    repo = create_repository(
        tmp_path, {"a.md": f"# A\n\n## One\n\n### Notes\n\n{LONG_TEXT}\n## Two\n\nText.\n"}
    )
    repo.commit({"a.md": f"# A\n\n## One\n\n## Two\n\nText.\n\n### Notes\n\n{LONG_TEXT}"}, "Move")
    assert list_changes(read_changes(tmp_path, "a.md", "two/notes"))[0] == ("moved", "a.md", "two/notes")


def test_history_of_a_removed_section_begins_with_its_removal(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"a.md": GUIDE, "b.md": "# B\n"})
    repo.commit({"a.md": GUIDE.replace("Install", "Unpack")}, "Change")
    repo.commit({"a.md": "# Guide\n\nWelcome.\n"}, "Cut")
    repo.git("rm", "-q", "b.md")
    repo.git("commit", "-qm", "Gone")
    page = read_changes(tmp_path, "a.md", "setup")
    assert [(change.kind, change.subject) for change in page.entries] == [
        ("removed", "Cut"),
        ("changed", "Change"),
        ("created", "First"),
    ]
    assert page.entries[0].after is None
    assert [change.kind for change in read_changes(tmp_path, "b.md").entries] == ["removed", "created"]


def test_restored_section_has_its_earlier_history(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"a.md": GUIDE, "b.md": "# B\n"})
    repo.git("rm", "-q", "a.md")
    repo.git("commit", "-qm", "Gone")
    repo.commit({"a.md": GUIDE}, "Back")
    assert [change.kind for change in read_changes(tmp_path, "a.md").entries] == [
        "created",
        "removed",
        "created",
    ]
    assert [change.kind for change in read_changes(tmp_path, "a.md", "use").entries] == [
        "created",
        "removed",
        "created",
    ]


def test_merge_is_reported_if_it_differs_from_every_parent(tmp_path: Path) -> None:
    our_text, their_text = GUIDE.replace("Install", "Unpack"), GUIDE.replace("stop it", "leave it")
    merged_text = our_text.replace("stop it", "leave it")
    commits = [
        PlannedCommit({"a.md": GUIDE.encode()}, [], b"base"),
        PlannedCommit({"a.md": our_text.encode()}, [0], b"ours"),
        PlannedCommit({"a.md": their_text.encode()}, [0], b"theirs"),
        PlannedCommit({"a.md": merged_text.encode()}, [1, 2], b"merge"),
        PlannedCommit({"a.md": merged_text.encode(), "b.md": b"# B\n"}, [3], b"other"),
    ]
    write_history(tmp_path / "repo", commits)
    page = read_changes(tmp_path / "repo", "a.md", "setup")
    assert [change.subject for change in page.entries] == ["merge", "theirs", "ours", "base"]


def test_merge_equal_to_one_parent_is_skipped(tmp_path: Path) -> None:
    commits = [
        PlannedCommit({"a.md": GUIDE.encode()}, [], b"base"),
        PlannedCommit({"a.md": GUIDE.replace("Install", "Unpack").encode()}, [0], b"ours"),
        PlannedCommit({"a.md": GUIDE.replace("Call", "Ask").encode()}, [0], b"theirs"),
        PlannedCommit(
            {"a.md": GUIDE.replace("Install", "Unpack").replace("Call", "Ask").encode()}, [1, 2], b"merge"
        ),
    ]
    write_history(tmp_path / "repo", commits)
    assert [change.subject for change in read_changes(tmp_path / "repo", "a.md", "setup").entries] == [
        "ours",
        "base",
    ]
    assert [change.subject for change in read_changes(tmp_path / "repo", "a.md", "use").entries] == [
        "theirs",
        "base",
    ]
    assert [change.subject for change in read_changes(tmp_path / "repo", "a.md").entries] == [
        "merge",
        "theirs",
        "ours",
        "base",
    ]


@loop_over("seed", range(16))
def test_document_history_equals_git_log(tmp_path: Path, seed: int) -> None:
    """Random graphs with merges, removals and restored files, without renames, which Git tracks differently.

    In half of them the clocks are wrong by up to a day.
    """
    rng = Random(seed)
    commits: list[PlannedCommit] = []
    for number in range(40):
        parents = rng.sample(range(max(0, number - 4), number), min(number, rng.choice((1, 1, 1, 2))))
        files = dict(commits[rng.choice(parents)].files) if parents else {}
        name = rng.choice(("a.md", "folder/b.md"))
        if rng.random() < 0.2:
            files.pop(name, None)
        elif rng.random() < 0.6:
            files[name] = b"# %b\n\nState %d\n" % (name.encode(), rng.randrange(4))
        files["root.md"] = b"# Root\n"
        commits.append(PlannedCommit(files, parents, clock_error_s=rng.randrange(86_400) if seed % 2 else 0))
    repo, _ = write_history(tmp_path / "repo", commits)
    for file in ("a.md", "folder/b.md"):
        expected = repo.git("log", "--format=%H", "main", "--", file).split()
        workspace = Workspace.open(repo.path, durable=False)
        if not expected:
            continue
        commits_of_page = [
            change.commit
            for change in workspace.history().changes(workspace.snapshot(), file, limit=100).entries
        ]
        assert commits_of_page == expected


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 16))]
)
def test_section_history_equals_that_of_parsed_versions(tmp_path: Path, seed: int) -> None:
    """Compare with a history for which every version is parsed; the product skips unchanged versions."""
    rng = Random(seed)
    names = ["one", "two", "three", "four"]
    bodies = {name: [f"Text of {name}, line {line}." for line in range(4)] for name in names}
    versions: list[Mapping[str, bytes]] = []
    for _ in range(60):
        lines = bodies[rng.choice(names)]
        edit = rng.choice(("change", "add", "cut", "below"))
        if edit == "cut" and len(lines) > 2:
            lines.pop(rng.randrange(len(lines)))
        elif edit == "below":
            lines += ["", f"### Part {rng.randrange(1000)}", "", "Text."]
        else:
            lines.insert(rng.randrange(len(lines) + 1), rng.choice(("Same.", "- item", "", "More.")))
        text = "# T\n\n" + "".join(f"## {name}\n\n" + "\n".join(bodies[name]) + "\n\n" for name in names)
        versions.append({"t.md": text.encode()})
    repo, ids = write_history(tmp_path / "repo", build_linear_commits(versions))
    for name in names:
        expected: list[str] = []
        last_text: bytes | None = None
        for id, files in zip(ids, versions, strict=True):
            document = Document.parse(files["t.md"], "t.md")
            section = document.section_by_key(name)
            assert section is not None
            section_text = document.data[section.start : section.tree_end]
            if section_text != last_text:
                expected.append(id)
            last_text = section_text
        page = read_changes(repo.path, "t.md", name, limit=100)
        assert [change.commit for change in page.entries] == expected[::-1]


def test_pages_join_to_the_full_history(tmp_path: Path) -> None:
    versions = [{"a.md": GUIDE.replace("Install", f"Install {number}").encode()} for number in range(23)]
    repo, ids = write_history(tmp_path / "repo", build_linear_commits(versions))
    full_page = read_changes(repo.path, "a.md", "setup", limit=100)
    assert [change.commit for change in full_page.entries] == ids[::-1]
    cursor, commits = None, []
    while True:
        page = read_changes(repo.path, "a.md", "setup", limit=5, after=cursor)
        commits += [change.commit for change in page.entries]
        cursor = page.next
        if cursor is None:
            break
    assert commits == ids[::-1]


def test_page_ends_early_after_many_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workspace.history.log.MAX_SCANNED_COMMITS", 20)
    versions = [{"a.md": b"# A\n", "b.md": b"# B\n\n%d\n" % number} for number in range(50)]
    repo, ids = write_history(tmp_path / "repo", build_linear_commits(versions))
    page = read_changes(repo.path, "a.md")
    assert (page.entries, page.is_complete) == ((), False)
    page_count = 1
    while page.next is not None:
        page = read_changes(repo.path, "a.md", after=page.next)
        page_count += 1
    assert [change.commit for change in page.entries] == ids[:1]
    assert page.is_complete
    assert page_count == 3


def test_author_and_trailers_are_read_from_the_commit(tmp_path: Path) -> None:
    message = b"Subject\n\nDocyard-Client: liar\n\nDocyard-Tool: edit_document\nDocyard-Client: agent\n"
    write_history(
        tmp_path / "repo", [PlannedCommit({"a.md": b"# A\n"}, [], message, b"Zo\xc3\xab <z@example.org>")]
    )
    (change,) = read_changes(tmp_path / "repo", "a.md").entries
    assert (change.author_name, change.author_email) == ("Zoë", "z@example.org")
    assert change.time.isoformat() == "2023-11-14T22:13:20+00:00"
    assert (change.subject, change.client, change.tool, change.proposal) == (
        "Subject",
        "agent",
        "edit_document",
        None,
    )


def test_shallow_clone_has_a_note(tmp_path: Path) -> None:
    source = create_repository(tmp_path / "source", {"a.md": GUIDE})
    for number in range(4):
        source.commit({"a.md": GUIDE.replace("Install", f"Install {number}")})
    source.git("clone", "-q", "--bare", "--depth", "2", f"file://{source.path}", str(tmp_path / "clone"))
    page = read_changes(tmp_path / "clone", "a.md", "setup")
    assert len(page.entries) == 1
    assert page.next is None
    assert "shallow" in page.notes[0]


def test_damaged_commit_ends_history_with_note(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"a.md": GUIDE})
    middle_commit = repo.commit({"a.md": GUIDE + "One.\n"})
    repo.commit({"a.md": GUIDE + "Two.\n"})
    repo.commit({"a.md": GUIDE + "Three.\n"})
    (tmp_path / ".git/objects" / middle_commit[:2] / middle_commit[2:]).unlink()
    page = read_changes(tmp_path, "a.md")
    assert len(page.entries) == 1
    assert middle_commit[:12] in page.notes[0]


def test_new_commits_are_in_the_history(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"a.md": GUIDE})
    workspace = Workspace.open(tmp_path, durable=False)
    history = workspace.history()
    assert len(history.changes(workspace.snapshot(), "a.md").entries) == 1
    repo.commit({"a.md": GUIDE + "More.\n"})
    assert len(history.changes(workspace.snapshot(), "a.md").entries) == 2


@loop_over(
    ("file", "slug", "error"),
    [
        ("b.md", None, DocumentNotFound),
        ("a.md", "sett", SectionNotFound),
        ("a.md", "Установка", SectionNotFound),
        ("a.md", "twice", AmbiguousAddress),
        ("new.md", None, DocumentNotFound),
        ("picture.png", None, DocumentNotFound),
        ("folder", None, DocumentNotFound),
        ("link.md", None, DocumentNotFound),
        ("large.md", None, LfsTextMissing),
    ],
)
def test_unknown_ambiguous_or_unreadable_address_is_an_error(
    tmp_path: Path, file: str, slug: str | None, error: type[Exception]
) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    duplicate_sections = "\n## Twice {#twice}\n\n## Twice {#twice}\n"
    repo = Repo(tmp_path)
    create_repository(
        tmp_path,
        {
            "a.md": GUIDE + duplicate_sections,
            "picture.png": b"\x89PNG",
            "folder/c.md": "# C\n",
            "large.md": pointer,
        },
    )
    (tmp_path / "link.md").symlink_to("a.md")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "Link")
    repo.write({"new.md": "# New\n"})
    with pytest.raises(error):
        read_changes(tmp_path, file, slug)


def test_non_latin_section_is_found_and_nearest_suggested(tmp_path: Path) -> None:
    repo = create_repository(tmp_path, {"a.md": "# A\n\n## Установка\n\nTekst.\n"})
    repo.commit({"a.md": "# A\n\n## Установка\n\nInoy tekst.\n"})
    assert len(read_changes(tmp_path, "a.md", "установка").entries) == 2
    with pytest.raises(SectionNotFound) as error_info:
        read_changes(tmp_path, "a.md", "установк")
    assert error_info.value.details["candidates"]


def test_unborn_branch_has_no_document(tmp_path: Path) -> None:
    Repo(tmp_path).git("init", "-q")
    with pytest.raises(DocumentNotFound):
        read_changes(tmp_path, "a.md")


@pytest.mark.slow
def test_history_of_ten_thousand_sections_is_tracked(tmp_path: Path) -> None:
    text = "# Long\n" + "".join(f"\n## Section {number}\n\nText.\n" for number in range(10_000))
    repo = create_repository(tmp_path, {"a.md": text})
    repo.commit({"a.md": text.replace("Section 9000\n\nText.", "Section 9000\n\nOther.")})
    page = read_changes(tmp_path, "a.md", "section-9000")
    assert [change.kind for change in page.entries] == ["changed", "created"]


def test_versions_above_the_limit_are_skipped_with_a_note(tmp_path: Path) -> None:
    settings = "[limits]\ndocument_bytes = 1000\n"
    repo = create_repository(tmp_path, {"docyard.toml": settings, "a.md": GUIDE + "Long text.\n" * 200})
    repo.commit({"a.md": GUIDE})
    page = read_changes(tmp_path, "a.md", "setup")
    assert [change.kind for change in page.entries] == ["created"]
    assert "1,000 bytes" in page.notes[0]


def test_archive_has_no_history(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "docs", {"a.md": GUIDE})
    repo.git("gc", "-q")
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    with pytest.raises(NoHistory) as error_info:
        Archive(repo.path / ".git", tree).history()
    assert error_info.value.code == "NO_HISTORY"


def test_long_walk_reports_progress(tmp_path: Path) -> None:
    versions = [{"a.md": b"# A\n", "b.md": b"# B\n\n%d\n" % number} for number in range(1200)]
    repo, _ = write_history(tmp_path / "repo", build_linear_commits(versions))
    reports: list[tuple[int, int, str]] = []
    read_changes(repo.path, "a.md", progress=lambda *report: reports.append(report))
    assert [scanned for scanned, _, _ in reports] == sorted({scanned for scanned, _, _ in reports})
    assert len(reports) >= 2


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
)
def test_walk_that_reuses_an_older_walk_has_the_same_result(tmp_path: Path, seed: int) -> None:
    """Pages read after each commit equal the pages of a new server.

    One server may detect the end earlier; then the other server has an empty last page.
    """
    rng = Random(seed)
    commits: list[PlannedCommit] = []
    for number in range(30):
        parents = rng.sample(range(max(0, number - 3), number), min(number, rng.choice((1, 1, 1, 2))))
        text = f"Install {rng.randrange(4)}" if rng.random() < 0.5 else "Install"
        files = {"a.md": GUIDE.replace("Install", text).encode(), "b.md": b"# B\n\n%d\n" % number}
        if rng.random() < 0.1:
            del files["a.md"]
        commits.append(PlannedCommit(files, parents))
    repo, ids = write_history(tmp_path / "repo", commits)
    warm_workspace = Workspace.open(repo.path, durable=False)
    for id in ids:
        for slug in (None, "setup"):
            new_workspace = Workspace.open(repo.path, durable=False)
            assert read_all_pages(warm_workspace, id, slug) == read_all_pages(new_workspace, id, slug)


def read_all_pages(workspace: Workspace, commit: str, slug: str | None) -> list[tuple[object, list[str]]]:
    """Return (changes, commits) of all pages with at most three changes, without an empty last page."""
    pages: list[tuple[object, list[str]]] = []
    cursor: str | None = None
    while True:
        try:
            page = workspace.history().changes(workspace.at(commit), "a.md", slug, limit=3, after=cursor)
        except DocumentNotFound:
            page = ChangePage((), None, True, ())
        if page.entries or page.next is not None:
            pages.append((list_changes(page), [change.commit for change in page.entries]))
        cursor = page.next
        if cursor is None:
            return pages


def test_history_at_a_new_tip_scans_only_new_commits(tmp_path: Path) -> None:
    versions = [{"a.md": b"# A\n", "b.md": b"# B\n\n%d\n" % number} for number in range(600)]
    repo, ids = write_history(tmp_path / "repo", build_linear_commits(versions))
    workspace = Workspace.open(repo.path, durable=False)
    history = workspace.history()
    scanned_counts: list[int] = []
    for id in (ids[-2], ids[-1]):
        scanned_counts.clear()
        page = history.changes(
            workspace.at(id), "a.md", progress=lambda scanned, *_: scanned_counts.append(scanned)
        )
        assert [change.commit for change in page.entries] == ids[:1]
        assert bool(scanned_counts) == (id == ids[-2])
