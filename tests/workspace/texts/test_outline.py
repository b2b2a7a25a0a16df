"""Outlines are read from texts of every kind."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.checks import reading_tools
from benchmarks.checks.reading_tools import find_differences
from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.workspace.documents import document_sources
from workspace.texts import code
from workspace.texts.headings import TextOutline
from workspace.texts.outline import read_outline
from workspace.texts.text_file import TextFile, detect_kind

ROOT = Path(__file__).resolve().parents[3]

EntryRows = list[tuple[str, int, str, int, int]]


def build_outline(path: str, source: str | bytes) -> TextOutline:
    data = source.encode() if isinstance(source, str) else source
    return read_outline(TextFile(path, "", data, detect_kind(path)))


def list_entries(path: str, source: str) -> EntryRows:
    """Return address, level, number, line and last line of each entry."""
    return [
        (entry.address, entry.level, entry.number, entry.line, entry.end_line)
        for entry in build_outline(path, source).entries
    ]


def check_outline(outline: TextOutline, data: bytes) -> None:
    """Check an outline: no gap between own texts, entries within their parents, unique addresses."""
    entries = outline.entries
    assert entries
    assert len({entry.address for entry in entries}) == len(entries)
    end = entries[0].start
    for position, entry in enumerate(entries):
        assert (entry.position, entry.start) == (position, end)
        assert entry.start <= entry.end <= entry.tree_end <= len(data)
        assert 1 <= entry.first_line <= entry.line <= entry.end_line
        assert 0 <= entry.level <= 6
        assert (entry.number == "") == (entry.level == 0) == (entry.address == "_preamble")
        assert outline.find_by_address(entry.address) is entry
        descendants = outline.descendants(entry)
        assert entry.tree_end == (descendants[-1].end if descendants else entry.end)
        if entry.parent is not None:
            parent = entries[entry.parent]
            assert entry in outline.children(parent)
            assert entry.tree_end <= parent.tree_end
            assert parent.level < entry.level
        end = entry.end
    assert end == len(data)


LINES = st.sampled_from(
    [
        "",
        "Title",
        "=====",
        "-----",
        "Words",
        "= One",
        "== Two",
        "----",
        "    indented",
        "class A:",
        "  def b(self):",
        "function f() {",
        "}",
        "/* open",
        '"""',
        ".. note::",
        "[[x]]",
        "数据",
        "\ufeff",
        "\f",
    ]
)


@given(
    st.lists(LINES, max_size=30),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["a.rst", "a.adoc", "a.py", "a.js", "a.c", "a.go", "a.lua", "a.log", "a", "a.md"]),
)
def test_own_texts_are_adjacent_in_texts_of_every_kind(lines: list[str], end: str, path: str) -> None:
    data = end.join(lines).encode()
    outline = build_outline(path, data)
    check_outline(outline, data)
    if not path.endswith(".md"):
        assert outline.entries[0].start == 0


@given(st.binary(max_size=200), st.sampled_from(["a.rst", "a.adoc", "a.py", "a.ts", "a.cpp", "a.md"]))
def test_any_bytes_have_an_outline(data: bytes, path: str) -> None:
    check_outline(build_outline(path, data), data)


MARKDOWN_BLOCKS = st.sampled_from(
    [
        "# One *two* `three`",
        "## [Link](x) and ![image](y) ##",
        "### Same",
        "Set\nin two lines\n===",
        "Words\n---",
        "```\n# not one\n```",
        "    # nor this",
        "<!-- # nor that -->",
        "- # in a list",
        "> # quoted",
        "text",
        "####### seven",
        "###### Größe &amp; 数据 🚀",
        "#",
    ]
)


@settings(max_examples=scale_examples(60))
@given(
    st.lists(MARKDOWN_BLOCKS, max_size=10),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "---\na: 1\n---\n"]),
)
def test_sections_are_the_bytes_between_headings_of_markdown_it(
    blocks: list[str], end: str, front_matter: str
) -> None:
    data = (front_matter + "\n\n".join(blocks)).replace("\n", end).encode()
    assert list(find_differences("doc.md", data)) == []


def test_check_detects_a_section_with_other_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_shifted_outline(text: TextFile) -> TextOutline:
        read_result = read_outline(text)
        return TextOutline(
            tuple(entry._replace(tree_end=entry.tree_end - 1) for entry in read_result.entries)
        )

    monkeypatch.setattr(reading_tools, "read_outline", read_shifted_outline)
    assert list(find_differences("doc.md", b"# T\n\n## A\n\ntext\n"))


@settings(max_examples=scale_examples(50))
@given(document_sources())
def test_random_documents_have_an_outline(data: bytes) -> None:
    check_outline(build_outline("doc.md", data), data)


def test_document_has_its_sections_with_numbers() -> None:
    source = (
        "---\ntype: x\n---\n# T\n\nIntro.\n\n## A\n\n### B\n\n#### C\n\n## A\n\n<a id='y'></a>\n## D\ntext\n"
    )
    assert list_entries("a.md", source) == [
        ("_preamble", 0, "", 4, 7),
        ("a", 2, "1", 8, 13),
        ("a/b", 3, "1.1", 10, 13),
        ("a/b/c", 4, "1.1.1", 12, 13),
        ("a-1", 2, "2", 14, 15),
        ("y", 2, "3", 17, 18),
    ]
    last_entry = build_outline("a.md", source).entries[-1]
    assert source.encode()[last_entry.tree_range] == b"<a id='y'></a>\n## D\ntext\n"
    assert last_entry.first_line == 16


@loop_over("source", ["", "\n\n", "---\na: 1\n---\n", "words alone\n\nand more\n"])
def test_text_without_headings_has_one_entry(source: str) -> None:
    for path in ("a.md", "a.rst", "a.adoc", "a.py", "a.txt", "a.log"):
        assert [entry.address for entry in build_outline(path, source).entries] == ["_preamble"], path


def test_equal_anchors_have_keys_of_their_own() -> None:
    outline = build_outline("a.md", "## A {#x}\n\n## B {#x}\n")
    assert [entry.address for entry in outline.entries] == ["x~1", "x~2"]


RST = """\
.. _top:

==========
 The title
==========

Introduction.

Install
=======

.. code-block:: text

   Not a heading
   -------------

::

   Nor this
   ========

From ``source`` and :ref:`more <x>`
-----------------------------------

=====  =====
a      b
=====  =====

Use
===
- an item
---------

数据
====
end
"""


def test_restructuredtext_has_an_outline() -> None:
    assert list_entries("a.rst", RST) == [
        ("_preamble", 0, "", 4, 8),
        ("install", 2, "1", 9, 28),
        ("install/from-source-and-more", 3, "1.1", 22, 28),
        ("use", 2, "2", 29, 33),
        ("数据", 2, "3", 34, 36),
    ]


def test_restructuredtext_of_several_top_sections_has_no_title() -> None:
    entries = list_entries("a.rst", "One\n---\n\nSub\n~~~\n\nTwo\n---\n\nshort\n--\n")
    assert entries == [("one", 1, "1", 1, 6), ("one/sub", 2, "1.1", 4, 6), ("two", 1, "2", 7, 11)]


ADOC = """\
= Guide
An Author
:toc:

Introduction.

== Install

----
== not a heading
----

[#steps]
=== Steps of `make` ===

====
== nor this
====

Use [[use]]
-----------

```
= nor that
```
== in a paragraph? No: this line follows a block
text
== this one stands in a paragraph
"""


def test_single_section_below_text_is_not_a_title() -> None:
    assert list_entries("a.rst", "Words.\n\nInstall\n=======\n") == [
        ("_preamble", 0, "", 1, 2),
        ("install", 1, "1", 3, 4),
    ]


def test_asciidoc_has_an_outline() -> None:
    entries = build_outline("a.adoc", ADOC).entries
    assert [(entry.title, entry.level, entry.line) for entry in entries] == [
        ("Guide", 0, 1),
        ("Install", 2, 7),
        ("Steps of make", 3, 14),
        ("Use", 2, 20),
        ("in a paragraph? No: this line follows a block", 2, 26),
    ]


SOURCES = {
    "a.js": (
        "// About Foo.\nexport default class Foo extends Bar {\n  async go(x) {\n    if (x) {\n    }\n"
        "  }\n}\nfunction bar() {}\n/* class No {} */\ndescribe('class No', () => {\n});\n",
        [("Foo", 1, 2), ("go", 2, 3), ("bar", 1, 8)],
    ),
    "a.ts": (
        "export interface Foo {\n  a: string\n}\ntype X = 1\nclass Q {\n  go<T>(): void {\n  }\n}\n",
        [("Foo", 1, 1), ("X", 1, 4), ("Q", 1, 5)],
    ),
    "a.go": (
        "package x\n\n// Foo does it.\nfunc (r *T) Foo(a int) error {\n}\n\ntype T struct {\n}\n"
        "func Map[K any](a K) {}\nvar s = `\nfunc no() {}\n`\n",
        [("", 0, 1), ("Foo", 1, 4), ("T", 1, 7), ("Map", 1, 9)],
    ),
    "a.rs": (
        "pub fn foo<'a>(x: &'a str) {}\nimpl<T> Foo for Bar {\n    #[test]\n    fn x() {}\n}\nmod y {}\n",
        [("foo", 1, 1), ("Foo", 1, 2), ("x", 2, 4), ("y", 1, 6)],
    ),
    "a.c": (
        "#include <x>\nstatic int foo(int);\nint main(int a)\n{\n  foo(a);\n  if (a) {\n  }\n}\n"
        "struct foo { int a; };\nstruct foo x;\nchar *bar(void) {\n}\n",
        [("", 0, 1), ("main", 1, 3), ("foo", 1, 9), ("bar", 1, 11)],
    ),
    "a.cpp": (
        "namespace x {\nclass Foo : public B {\n  Foo();\n  void go() const {}\n};\n}\n"
        "int x::Foo::bar() {\n}\n",
        [("x", 1, 1), ("Foo", 1, 2), ("go", 2, 4), ("x::Foo::bar", 1, 7)],
    ),
    "a.java": (
        "public class Foo {\n  /** Goes. */\n  @Override\n  public int go(int x) throws X {\n"
        "    return new B() {\n    };\n  }\n}\n",
        [("Foo", 1, 1), ("go", 2, 4)],
    ),
    "a.rb": (
        "module A\n  class B\n    def self.go\n    end\n    def x?\n    end\n  end\nend\n",
        [("A", 1, 1), ("B", 2, 2), ("self.go", 3, 3), ("x?", 3, 5)],
    ),
    "a.sh": ("foo() {\n  echo 'bar() {'\n}\nfunction baz {\n}\n", [("foo", 1, 1), ("baz", 1, 4)]),
    "a.lua": ("--[[ function no() ]]\nlocal function a.b()\nend\n", [("", 0, 1), ("a.b", 1, 2)]),
    "a.kt": ("data class A(val x: Int) {\n  suspend fun go() {}\n}\n", [("A", 1, 1), ("go", 2, 2)]),
    "a.css": ("a { b: c }\n", [("", 0, 1)]),
}


@loop_over("path", SOURCES)
def test_outline_of_source_code_lists_classes_and_functions(path: str) -> None:
    source, expected = SOURCES[path]
    entries = build_outline(path, source).entries
    rows = [(entry.title, entry.level, entry.line) for entry in entries]
    assert [row for row in rows if row != ("", 0, 1)] == [row for row in expected if row != ("", 0, 1)]


def test_comments_and_decorators_belong_to_the_next_definition() -> None:
    source = "import x\n\n\n# Why.\n@cache\ndef f():\n    pass\n"
    outline = build_outline("a.py", source)
    assert source.encode()[outline.entries[1].own_range] == b"# Why.\n@cache\ndef f():\n    pass\n"


@loop_over("package", ["workspace", "tools", "index"])
def test_python_outline_equals_that_of_ast(package: str) -> None:
    for path in sorted((ROOT / package).glob("*.py")):
        data = path.read_bytes()
        expected = sorted(
            (node.lineno, node.name)
            for node in ast.walk(ast.parse(data))
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        )
        definitions = [
            (entry.line, entry.title) for entry in build_outline("x.py", data).entries if entry.level
        ]
        assert definitions == expected, path.name


def test_outline_of_large_source_file_states_its_reason() -> None:
    definition = "def f(): pass\n"
    source = definition * (code.MAX_SOURCE_BYTES // len(definition) + 1)
    outline = build_outline("a.py", source)
    assert [entry.address for entry in outline.entries] == ["_preamble"]
    assert outline.single_part_reason == "source code of more than 1,000,000 bytes has no outline"
    assert build_outline("b.py", "x = 1\n").single_part_reason is None


@loop_over(
    "text",
    ["/*\n", '"""\n', "((\n", "a(\n", "f(){\n", "x * ", "public ", "a\n=\n", "==\n", "`<", " ", "\\", "{#"],
)
@loop_over("path", ["a.js", "a.cpp", "a.py", "a.rst", "a.adoc", "a.lua"])
def test_hostile_texts_have_an_outline(text: str, path: str) -> None:
    data = (text * (20_000 // len(text))).encode()
    check_outline(build_outline(path, data), data)


def test_outline_of_ten_thousand_headings_is_read() -> None:
    source = "".join(f"## Part {number}\n\n### Same\n\n" for number in range(5_000))
    outline = build_outline("a.md", source)
    assert len(outline.entries) == 10_000
    assert (outline.entries[-1].address, outline.entries[-1].number) == (
        "part-4999/same",
        "5000.1",
    )
