"""`docyard export`: pages, links, hostile documents, texts for models, and the replacement of a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import html5lib
import pytest

from docyard.cli.main import main
from docyard.export.folder import ExportUnwritable, replace_folder
from tests.docyard.conftest import Git
from tests.loops import loop_over

Capture = pytest.CaptureFixture[str]

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
SCRIPT = "<script>alert(1)</script>"
SVG = f'<svg xmlns="http://www.w3.org/2000/svg">{SCRIPT}</svg>'


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def run_export(out: Path, repo: Path, *arguments: str) -> int:
    return main(["export", str(out), "-C", str(repo), *arguments])


def write_files(repo: Path, git: Git, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    git("add", "--all")
    git("commit", "--quiet", "--message", "Write")


def read_report(capsys: Capture) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


def list_files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def find_dead_links(out: Path) -> list[str]:
    """Return the addresses of all pages that name no file, or no id, of the export."""
    trees = {page: html5lib.parse(page.read_text(), treebuilder="etree") for page in out.rglob("*.html")}
    ids = {page: {element.get("id") for element in tree.iter()} for page, tree in trees.items()}
    dead_links = []
    for page, tree in trees.items():
        for element in tree.iter():
            for address in filter(None, (element.get("href"), element.get("src"))):
                parts = urlsplit(address)
                if parts.scheme in ("http", "https", "mailto", "data"):
                    continue
                target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
                if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in ids[target]):
                    dead_links.append(f"{page.name}: {address}")
    return dead_links


def test_links_lead_to_pages_sections_folders_and_files(
    repo: Path, git: Git, out: Path, capsys: Capture
) -> None:
    write_files(
        repo,
        git,
        {
            "guide.md": "# Guide\n\nHow to begin.\n\n## Retries {#retries/first}\n\n"
            "[b](sub/b%20c.md#limits) [here](#retries/first) [folder](sub/) [code](app.py) ![p](p.png)\n",
            "sub/b c.md": "# B\n\n## Limits\n\n[up](../guide.md#retries/first) ![p](../p.png)\n",
            "app.py": "print()\n",
            "p.png": PNG,
        },
    )
    assert run_export(out, repo, "--json") == 0
    report = read_report(capsys)
    assert (report["documents"], report["files"], report["warnings"]) == (2, 2, [])
    assert report["commit"] == git("rev-parse", "HEAD")
    assert find_dead_links(out) == []
    guide = (out / "pages/guide.html").read_text()
    assert 'href="../pages/sub/b%20c.html#limits"' in guide
    assert 'href="../files/app.py.txt"' in guide
    assert 'href="../index.html#folder-1"' in guide
    assert (out / "files/p.png").read_bytes() == PNG
    printed = (out / "print.html").read_text()
    assert 'href="#d1-limits"' in printed
    assert 'href="#d0-retries/first"' in printed


def test_no_page_has_a_script_or_loads_from_another_host(repo: Path, git: Git, out: Path) -> None:
    hostile_text = (
        f"# {SCRIPT}\n\n{SCRIPT}\n\n<img src=x onerror=alert(1)> [j](javascript:alert(1)) "
        "![far](https://example.org/x.png) [raw](evil.html) ![svg](e.svg) [svg](e.svg)\n\n"
        '<a href="/0123/pages/x.html" style="color:red" onclick="alert(1)">x</a> <iframe src="evil.html">\n\n'
        '`<a href="#x" id="y">` <base href="https://example.org/"> <meta http-equiv=refresh content=0>\n'
    )
    write_files(repo, git, {"guide.md": hostile_text, "evil.html": SCRIPT, "e.svg": SVG})
    assert run_export(out, repo, "--title", SCRIPT, "--description", SCRIPT) == 0
    for page in out.rglob("*.html"):
        tree = html5lib.parse(page.read_text(), treebuilder="etree")
        elements = [element for element in tree.iter() if isinstance(element.tag, str)]
        names = {element.tag.rpartition("}")[2] for element in elements}
        assert names.isdisjoint({"script", "iframe", "base", "object", "style", "form"})
        assert not [key for element in elements for key in element.attrib if key.startswith(("on", "style"))]
        assert not [e.get("href") for e in elements if (e.get("href") or "").startswith(("/", "javascript"))]
        sources = [element.get("src") or "" for element in elements if element.get("src")]
        assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
        assert "default-src 'none'" in page.read_text()
    assert {"files/evil.html.txt", "files/e.svg.txt"} <= list_files(out).keys()
    assert not [name for name in list_files(out) if name.startswith("files/") and not name.endswith(".txt")]


@loop_over(
    ("name", "content", "exported_name"),
    [
        ("evil.html", PNG, "files/evil.html.png"),
        ("evil.xhtml", b"\0<script>", "files/evil.xhtml.bin"),
        ("paper.pdf", b"%PDF\0", "files/paper.pdf"),
        ("notes.txt", b"text", "files/notes.txt"),
    ],
)
def test_name_of_a_file_runs_nothing(
    repo: Path, git: Git, out: Path, name: str, content: bytes, exported_name: str
) -> None:
    write_files(repo, git, {"guide.md": f"# Guide\n\n[f]({name})\n", name: content})
    assert run_export(out, repo) == 0
    assert [file for file in list_files(out) if file.startswith("files/")] == [exported_name]


def test_paths_that_differ_in_case_or_suffix_have_own_pages(repo: Path, git: Git, out: Path) -> None:
    write_files(
        repo,
        git,
        {
            "a.md": "# One\n",
            "a.markdown": "# Two\n",
            "a.MD": "# Five\n",
            "A.md": "# Three\n",
            f"{'n' * 240}.md": "# Four\n",
        },
    )
    assert run_export(out, repo) == 0
    names = [name for name in list_files(out / "pages") if name.endswith(".html")]
    assert len({name.casefold() for name in names}) == 5
    texts = "".join((out / "pages" / name).read_text() for name in names)
    assert all(f">{title} " in texts for title in ("One", "Two", "Three", "Four"))
    assert find_dead_links(out) == []


def test_texts_for_models_have_titles_summaries_and_working_links(repo: Path, git: Git, out: Path) -> None:
    write_files(
        repo,
        git,
        {
            "docyard.toml": '[corpus]\ndescription = "Guides of Acme."\n',
            "sub/b.md": "---\ndescription: Limits\n  of calls.\n---\n\n# B [x](y)\n\nText.\n",
        },
    )
    assert run_export(out, repo, "--title", "Acme") == 0
    assert (out / "llms.txt").read_text() == (
        "# Acme\n\n> Guides of Acme.\n\n## Documents\n\n"
        "- [Guide](pages/guide.html.md): How to begin.\n\n"
        "## sub\n\n- [B x](pages/sub/b.html.md): Limits of calls.\n"
    )
    assert (out / "pages/guide.html.md").read_bytes() == (repo / "guide.md").read_bytes()
    full_text = (out / "llms-full.txt").read_text()
    assert full_text.startswith("# Acme\n\n> Guides of Acme.\n\n---\n\nFile: guide.md\n\n# Guide\n")
    assert "\n---\n\nFile: sub/b.md\n\n# B [x](y)\n\nText.\n" in full_text


def test_export_reads_a_commit_and_reports_uncommitted_documents(
    repo: Path, git: Git, out: Path, capsys: Capture
) -> None:
    git("tag", "v1")
    write_files(repo, git, {"guide.md": "# Second\n"})
    (repo / "guide.md").write_text("# Third\n")
    assert run_export(out, repo, "--json") == 0
    assert read_report(capsys)["warnings"] == ["uncommitted changes are not in the export: guide.md"]
    assert ">Second " in (out / "pages/guide.html").read_text()
    assert run_export(out, repo, "--ref", "v1", "--json") == 0
    assert read_report(capsys)["warnings"] == []
    assert ">Guide " in (out / "pages/guide.html").read_text()


def test_export_into_the_work_tree_does_not_report_itself(repo: Path, capsys: Capture) -> None:
    for _ in range(2):
        assert run_export(repo / "public", repo, "--json") == 0
        assert read_report(capsys)["warnings"] == []


def test_later_export_replaces_an_earlier_one_completely(repo: Path, git: Git, out: Path) -> None:
    write_files(repo, git, {"old.md": "# Old\n"})
    assert run_export(out, repo) == 0
    git("rm", "--quiet", "old.md")
    git("commit", "--quiet", "--message", "Remove")
    assert run_export(out, repo) == 0
    assert not (out / "pages/old.html").exists()
    assert sorted(path.name for path in out.parent.iterdir()) == ["out", "specs"]


@pytest.mark.parametrize("has_earlier_export", [False, True])
def test_folder_with_other_files_is_refused_and_intact(
    repo: Path, out: Path, capsys: Capture, has_earlier_export: bool
) -> None:
    if has_earlier_export:
        assert run_export(out, repo) == 0
    out.mkdir(exist_ok=True)
    (out / "CNAME").write_text("docs.example.org\n")
    files = list_files(out)
    assert run_export(out, repo) == 3
    assert "did not write, such as CNAME" in capsys.readouterr().err
    assert list_files(out) == files


def test_file_and_git_folder_are_refused(repo: Path, out: Path, capsys: Capture) -> None:
    out.write_text("text")
    assert run_export(out, repo) == 3
    assert "must be a folder" in capsys.readouterr().err
    assert out.read_text() == "text"
    assert run_export(repo / ".git" / "out", repo) == 3
    assert "Git directory" in capsys.readouterr().err


def test_failed_write_leaves_the_earlier_export(repo: Path, out: Path) -> None:
    assert run_export(out, repo) == 0
    files = list_files(out)

    def write_twice() -> None:
        with replace_folder(out, "0" * 40) as new_folder:
            new_folder.write("index.html", b"new")
            new_folder.write("index.html", b"new again")

    with pytest.raises(ExportUnwritable, match="File exists"):
        write_twice()
    assert list_files(out) == files
    assert sorted(path.name for path in out.parent.iterdir()) == ["out", "specs"]


def test_large_document_has_a_page_with_the_reason(repo: Path, git: Git, out: Path, capsys: Capture) -> None:
    write_files(
        repo,
        git,
        {"docyard.toml": "[limits]\ndocument_bytes = 1000\n", "large.md": "# Large\n\n" + "word " * 1000},
    )
    assert run_export(out, repo, "--json") == 0
    [warning] = read_report(capsys)["warnings"]
    assert warning.startswith("large.md has no text: ")
    assert "1,000" in (out / "pages/large.html").read_text()
    assert find_dead_links(out) == []


def test_repository_without_documents_is_refused(repo: Path, git: Git, out: Path, capsys: Capture) -> None:
    git("rm", "--quiet", "guide.md")
    write_files(repo, git, {"other.txt": "text"})
    assert run_export(out, repo) == 3
    assert "has no documents" in capsys.readouterr().err
    assert not out.exists()
