"""Detection of a site generator; `docyard init` reports the generator and writes settings for it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.cli.sites import SiteSettings, find_site
from docyard.commands.init import SETTINGS_TEMPLATE
from tests.docyard.conftest import Git
from tests.loops import loop_over
from workspace.config.config import WorkspaceConfig
from workspace.config.names import Dialect
from workspace.markdown.attribute_lists import AnchorForm
from workspace.validation.files import FolderReader, list_folder

SPACED_ANCHORS_TEXT = "# A { #a }\n\n## B { #b }\n\n## C {: #c }\n\n## D\n{: #d }\n"


def write_and_find_site(root: Path, files: dict[str, str]) -> SiteSettings:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return find_site(list_folder(root, None))


@loop_over(
    ("path", "text", "generator", "dialect", "anchors"),
    [
        ("mkdocs.yml", "markdown_extensions:\n  - attr_list\n  - toc\n", "MkDocs", "mkdocs", "braces"),
        ("mkdocs.yml", "markdown_extensions: [attr_list]\n", "MkDocs", "mkdocs", "braces"),
        ("docs/mkdocs.yaml", "markdown_extensions:\n  attr_list: {}\n", "MkDocs", "mkdocs", "braces"),
        ("mkdocs.yml", "markdown_extensions:\n  - extra\n", "MkDocs", "mkdocs", "braces"),
        ("mkdocs.yml", "INHERIT: ../base.yml\n", "MkDocs", "mkdocs", "braces"),
        ("mkdocs.yml", "extra:\n  # - attr_list\n  a: !!python/name:b.c\n", "MkDocs", "mkdocs", "html"),
        ("docusaurus.config.js", "module.exports = {}", "Docusaurus", "docusaurus", "braces"),
        ("website/docusaurus.config.ts", "", "Docusaurus", "docusaurus", "braces"),
        ("_config.yml", "theme: just-the-docs\n", "Jekyll", "github", "braces"),
        ("docs/_config.yml", "markdown: CommonMarkGhPages\n", "Jekyll", "github", "html"),
        ("hugo.toml", "", "Hugo", "github", "braces"),
        ("config/_default/hugo.yaml", "", "Hugo", "github", "braces"),
        ("config.toml", 'baseURL = "https://example.org"\n', "Hugo", "github", "braces"),
        ("config.toml", "other = 1\n", "", "github", "braces"),
        ("_quarto.yml", "", "Quarto", "github", "braces"),
        ("pandoc.yaml", "", "Pandoc", "github", "braces"),
        ("book.toml", "", "mdBook", "github", "braces"),
        ("tests/mkdocs.yml", "", "", "github", "braces"),
        ("a/b/c/d/mkdocs.yml", "", "", "github", "braces"),
    ],
)
def test_generator_is_detected_by_its_file(
    tmp_path: Path, path: str, text: str, generator: str, dialect: str, anchors: str
) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    site = find_site(list_folder(tmp_path, None))
    assert (site.generator, site.dialect, site.anchors) == (generator, dialect, anchors)
    assert site.file == (path if generator else "")


def test_generator_nearest_to_root_is_detected(tmp_path: Path) -> None:
    site = write_and_find_site(tmp_path, {"sub/docusaurus.config.js": "", "mkdocs.yml": "- attr_list"})
    assert site.generator == "MkDocs"


def test_anchor_form_of_documents_overrides_generator(tmp_path: Path) -> None:
    site = write_and_find_site(
        tmp_path, {"a.md": SPACED_ANCHORS_TEXT, "b.md": "## D {#d}\n", "mkdocs.yml": ""}
    )
    assert site.headings == {AnchorForm.SPACED: 2, AnchorForm.COLON: 1, AnchorForm.BRACES: 1}
    assert site.anchors is AnchorForm.SPACED
    assert "1 heading has the anchor on the next line, as {: #id }." in site.notes
    assert site.describe()[:2] == [
        "The documents are published with MkDocs (mkdocs.yml).",
        "2 headings have an anchor as { #id }.",
    ]


def test_unreadable_file_is_skipped(tmp_path: Path) -> None:
    files = list_folder(tmp_path, None)
    files_with_missing_one = type(files)(
        frozenset({"gone.md", "mkdocs.yml"}), frozenset(), FolderReader(tmp_path)
    )
    assert find_site(files_with_missing_one) == SiteSettings()


def test_settings_for_each_dialect_and_anchor_form_are_valid() -> None:
    for dialect in Dialect:
        for form in AnchorForm:
            text = SiteSettings(dialect=dialect, anchors=form).fill_in_settings(SETTINGS_TEMPLATE)
            config = WorkspaceConfig.read(text.encode())
            assert (config.links.dialect, config.anchors) == (dialect, form)
    assert SiteSettings().fill_in_settings(SETTINGS_TEMPLATE) == SETTINGS_TEMPLATE


def test_init_reports_and_writes_detected_site(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "mkdocs.yml").write_text("markdown_extensions:\n  - attr_list\n  - toc:\n      slugify: x\n")
    (repo / "a.md").write_text(SPACED_ANCHORS_TEXT)
    assert main(["init", "-C", str(repo)]) == 0
    output = capsys.readouterr().out
    assert "The documents are published with MkDocs (mkdocs.yml).\n" in output
    assert "2 headings have an anchor as { #id }.\n" in output
    assert 'Settings: anchors = "spaced", and [links] dialect = "mkdocs".\n' in output
    settings = tomllib.loads(git("show", "HEAD:docyard.toml"))
    assert (settings["anchors"], settings["links"]["dialect"]) == ("spaced", "mkdocs")


def test_init_of_bare_repository_reads_its_branch(
    repo: Path, git: Git, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "docusaurus.config.js").write_text("")
    (repo / "a.md").write_text("## A {/* #a */}\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "A site")
    bare_path = tmp_path / "bare.git"
    git("clone", "--quiet", "--bare", str(repo), str(bare_path), cwd=tmp_path)
    assert main(["init", "--json", str(bare_path)]) == 0
    site = json.loads(capsys.readouterr().out)["site"]
    assert site == {
        "generator": "Docusaurus",
        "file": "docusaurus.config.js",
        "dialect": "docusaurus",
        "anchors": "comment",
        "headings": {"comment": 1},
        "notes": [],
    }


def test_init_without_detected_site_writes_default_settings(repo: Path, git: Git) -> None:
    assert main(["init", "-C", str(repo)]) == 0
    assert (repo / "docyard.toml").read_text() == SETTINGS_TEMPLATE
