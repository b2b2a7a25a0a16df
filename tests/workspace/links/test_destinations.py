"""Rewritten destinations resolve to their targets, for any file names."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.workspace.links.folder_file_tree import read_folder
from workspace.config.config import WorkspaceConfig
from workspace.config.names import Dialect
from workspace.config.tables import LinkRules
from workspace.document.document import Document
from workspace.links.destinations import enclose_destination, format_destination, make_relative_path
from workspace.links.link import Enclosure, Link
from workspace.links.reader import read_cached_links
from workspace.links.resolver import LinkStatus, Target, resolve

LINK_TEMPLATES = {
    Enclosure.BARE: '[a `b`]({} "title")',
    Enclosure.ANGLE: "![*a*](<{}> 'title')",
    Enclosure.DOUBLE: '<a title="x" href="{}">a</a>',
    Enclosure.SINGLE: "<img src='{}'>",
    Enclosure.UNQUOTED: "<a href={}>a</a>",
}
ADVERSARIAL_NAME_PARTS = [
    *"ab ()%<>#?\"'&\\é数|`*[]{}=;!~:._-",
    "%20",
    "&amp;",
    "copy;",
    "%2F",
    "..",
    "&#",
    "\u00a0",
]
file_names = (
    st.lists(st.sampled_from(ADVERSARIAL_NAME_PARTS), min_size=1, max_size=6)
    .map("".join)
    .filter(lambda name: name.strip("."))
)
paths = st.builds(
    lambda folders, name, ending: "/".join([*folders, name + ending]),
    st.lists(file_names, max_size=2),
    file_names | st.sampled_from(["index", "README"]),
    st.sampled_from([".md", ".md", ".markdown", ".png", ""]),
)
OLD_DESTINATIONS = [
    "x.md",
    "./x.md",
    "../x.md",
    "/x.md",
    "a%20b.md",
    "%C3%A9.md",
    "é.md",
    "#f",
    "x",
    "x/",
    "./x/",
    "x.md?q=1&amp;x=2#f",
]
OLD_DESTINATIONS += ["?q", "/x", "x%28.md#%6F", "../", "/", "x.md#a(b)"]


def _read_link(document: Document) -> Link:
    (link,) = read_cached_links(document).links
    return link


@settings(max_examples=scale_examples(150))
@given(
    st.sampled_from(list(LINK_TEMPLATES)),
    st.sampled_from(OLD_DESTINATIONS),
    st.lists(paths, min_size=2, max_size=5, unique=True),
    st.none()
    | st.sampled_from(
        ["one", "Zwei drei", "é", "a/b", "x%20y", 'a"b', "<c>", "`|`", "#", "&lt;", "\\*", "(("]
    ),
    st.sampled_from(list(Dialect)),
    st.sampled_from(["", "a"]),
)
def test_written_destination_resolves_to_its_target(
    enclosure: Enclosure,
    old_destination: str,
    files: list[str],
    fragment: str | None,
    dialect: Dialect,
    root: str,
) -> None:
    config = WorkspaceConfig(links=LinkRules(dialect=dialect, root=root))
    source, path = files[0] + ".md", files[1]
    with tempfile.TemporaryDirectory() as folder:
        for file in [source, *files[1:]]:
            try:
                (Path(folder) / file).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / file).touch()
            except OSError:  # a file has the path of a required folder
                assume(False)
        file_tree = read_folder(Path(folder), config)
        assume(not file_tree.is_folder(path))
        escaped_destination = (
            old_destination.replace("=", "&#61;") if enclosure is Enclosure.UNQUOTED else old_destination
        )
        document_before = Document.parse(
            LINK_TEMPLATES[enclosure].format(escaped_destination).encode(), source
        )
        link = _read_link(document_before)
        assert link.enclosure is enclosure
        start, end = link.destination_start, link.destination_end
        new_destination = format_destination(
            link, source, Target(path, fragment), file_tree, document_before.data[start:end]
        )
        document_after = Document.parse(
            document_before.data[:start] + new_destination + document_before.data[end:], source
        )
        new_link = _read_link(document_after)
        resolved_link = resolve(file_tree, source, new_link)
        assert resolved_link.target is not None
        assert (resolved_link.path, resolved_link.target.fragment or None) == (path, fragment)
        # The title, the text and the enclosure of the destination are unchanged.
        assert (new_link.kind, new_link.enclosure, new_link.start) == (link.kind, enclosure, link.start)
        assert document_after.data[new_link.destination_end :] == document_before.data[link.destination_end :]
        repeated_destination = format_destination(
            new_link, source, Target(path, fragment), file_tree, new_destination
        )
        assert repeated_destination == new_destination


@loop_over(
    "destination",
    [
        "b.md",
        "./b.md",
        ".//b.md",
        "/b.md",
        "%62.md",
        "&#98;.md",
        "b\\.md",
        "x/../b.md",
        "../docs/b.md",
        "b.md?q",
        "b.md#",
    ],
)
def test_destination_that_leads_to_the_target_is_unchanged(destination: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/b.md").write_bytes(b"")
    (tmp_path / "docs/a.md").write_bytes(b"")
    file_tree = read_folder(tmp_path, WorkspaceConfig(links=LinkRules(root="docs")))
    link = _read_link(Document.parse(f"[a]({destination})".encode(), "docs/a.md"))
    assert resolve(file_tree, "docs/a.md", link).status is LinkStatus.OK
    assert (
        format_destination(link, "docs/a.md", Target("docs/b.md", None), file_tree, destination.encode())
        == destination.encode()
    )


@loop_over(
    ("old", "source", "target", "new"),
    [
        ("#x", "a.md", Target("b.md", "x"), "b.md#x"),
        ("#x", "a.md", Target("a.md", "y z"), "#y%20z"),
        ("#é", "a.md", Target("a.md", "ü"), "#ü"),
        ("#%C3%A9", "a.md", Target("a.md", "ü"), "#%C3%BC"),
        ("a.md#x", "a.md", Target("a.md", "y"), "a.md#y"),
        ("", "a.md", Target("b.md", None), "b.md"),
        ("?q#x", "a.md", Target("b.md", "x"), "b.md?q#x"),
        ("../b.md", "x/y/a.md", Target("x/y/b.md", None), "b.md"),
        ("./b.md", "x/y/a.md", Target("b.md", None), "../../b.md"),
        ("./b.md", "x/a.md", Target("x/z/b.md", None), "./z/b.md"),
        ("/b.md", "x/y/a.md", Target("x/z/b.md", None), "/x/z/b.md"),
        ("sub/", "a.md", Target("other", None), "other/"),
        ("sub", "a.md", Target("other", None), "other"),
        ("sub/", "x/a.md", Target("", None), "../"),
        ("sub/", "x/a.md", Target("x", None), "./"),
    ],
)
def test_new_destination_preserves_the_old_style(
    old: str, source: str, target: Target, new: str, tmp_path: Path
) -> None:
    file_tree = read_folder(tmp_path, WorkspaceConfig())
    link = _read_link(Document.parse(f"[a]({old})".encode(), source))
    assert format_destination(link, source, target, file_tree).decode() == new


@given(st.text(alphabet="ab()<>\\&#;%? \"'`=é|*[", max_size=20), st.sampled_from(list(LINK_TEMPLATES)))
def test_enclosed_destination_is_read_back(destination: str, enclosure: Enclosure) -> None:
    text = "x" + destination.replace("`", "").rstrip() + "y"
    link = _read_link(
        Document.parse(
            LINK_TEMPLATES[enclosure].format(enclose_destination(text, enclosure)).encode(), "a.md"
        )
    )
    read_destination = link.destination
    for character in " \"'<>":
        read_destination = read_destination.replace(f"%{ord(character):02X}", character)
        text = text.replace(f"%{ord(character):02X}", character)
    assert read_destination == text


@given(st.lists(st.sampled_from("ab"), max_size=4), st.lists(st.sampled_from("ab"), max_size=4))
def test_relative_path_joins_to_its_target(path: list[str], folder: list[str]) -> None:
    relative = make_relative_path("/".join(path), "/".join(folder))
    names = list(folder)
    for name in relative.split("/") if relative else []:
        if name == "..":
            names.pop()
        else:
            names.append(name)
    assert names == path
