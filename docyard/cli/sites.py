"""Detection of site generators, and the settings that match them.

A generator is detected by its settings file. New anchors get the most frequent form of the existing anchors;
if the documents have no anchors, the generator determines the form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workspace.config.names import Dialect
from workspace.markdown.attribute_lists import AnchorForm

if TYPE_CHECKING:
    from workspace.validation.files import FileSet

MAX_DOCUMENTS = 2_000
"""The maximum number of documents that are read to count their anchors."""

_MAX_DEPTH = 3  # folders above a settings file
_MAX_SETTINGS_BYTES = 1_000_000
_SKIPPED_FOLDERS = frozenset({"node_modules", "vendor", "tests", "test", "fixtures", "examples"})

# In order of precedence: a folder may contain several of these files.
_SETTINGS_FILES = (
    ("Docusaurus", re.compile(r"docusaurus\.config\.[cm]?[jt]s")),
    ("MkDocs", re.compile(r"mkdocs\.ya?ml")),
    ("Hugo", re.compile(r"hugo\.(?:toml|ya?ml|json)|config/_default/(?:hugo|config)\.(?:toml|ya?ml|json)")),
    ("Hugo", re.compile(r"config\.(?:toml|ya?ml|json)")),
    ("Jekyll", re.compile(r"_config\.ya?ml")),
    ("Quarto", re.compile(r"_quarto\.ya?ml")),
    ("bookdown", re.compile(r"_bookdown\.ya?ml")),
    ("mdBook", re.compile(r"book\.toml")),
    ("Pandoc", re.compile(r"pandoc\.ya?ml")),
)
_DIALECTS = {"MkDocs": Dialect.MKDOCS, "Docusaurus": Dialect.DOCUSAURUS}

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
# The extension `extra` includes `attr_list`; `extra:` alone is another setting.
_ATTR_LIST = re.compile(
    r"\battr_list\b|^[ \t]*-[ \t]*[\"']?(?:markdown\.extensions\.)?extra\b|\[[^\]]*\bextra\b[^\]]*\]",
    re.MULTILINE,
)
_INHERIT = re.compile(r"^INHERIT[ \t]*:", re.MULTILINE)
_SLUGIFY = re.compile(r"^[ \t]+slugify[ \t]*:", re.MULTILINE)
_BASE_URL = re.compile(r"^[ \t{\"']*baseURL\b", re.MULTILINE | re.IGNORECASE)
_JEKYLL_MARKDOWN = re.compile(r"^markdown[ \t]*:[ \t]*[\"']?(\w+)", re.MULTILINE)

_FORM_EXAMPLES = {
    AnchorForm.BRACES: "{#id}",
    AnchorForm.SPACED: "{ #id }",
    AnchorForm.COLON: "{: #id }",
    AnchorForm.COMMENT: "{/* #id */}",
    AnchorForm.ANGLE: "<#id>",
    AnchorForm.HTML: '<a id="id"></a>',
}


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """The detected site: a `generator` and its settings `file`, both empty if none was detected.

    `dialect` and `anchors` are the matching settings of docyard.toml. `headings` contains the number of
    headings with an anchor, by the anchor's form. `notes` are sentences for the user.
    """

    generator: str = ""
    file: str = ""
    dialect: Dialect = Dialect.GITHUB
    anchors: AnchorForm = AnchorForm.BRACES
    headings: Mapping[AnchorForm, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def fill_in_settings(self, text: str) -> str:
        """Return the text of a docyard.toml with this site's settings that are not the defaults."""
        if self.dialect is not Dialect.GITHUB:
            text = text.replace('# dialect = "github"', f'dialect = "{self.dialect}"', 1)
        if self.anchors is not AnchorForm.BRACES:
            text = text.replace('# anchors = "braces"', f'anchors = "{self.anchors}"', 1)
        return text

    def describe(self) -> list[str]:
        """Return the site as lines of text; empty if no site was detected."""
        lines = (
            [f"The documents are published with {self.generator} ({self.file})."] if self.generator else []
        )
        for form, count in sorted(self.headings.items(), key=lambda item: -item[1]):
            lines.append(f"{_format_heading_count(count)} an anchor as {_FORM_EXAMPLES[form]}.")
        lines += self.notes
        if lines:
            lines.append(f'Settings: anchors = "{self.anchors}", and [links] dialect = "{self.dialect}".')
        return lines


def find_site(files: FileSet) -> SiteSettings:
    """Return the detected site of the files. Unreadable files are skipped."""
    generator, file, text = _find_generator(files)
    heading_counts, next_line_count, is_partial = _count_forms(files)
    notes: list[str] = []
    if next_line_count:
        notes.append(f"{_format_heading_count(next_line_count)} the anchor on the next line, as {{: #id }}.")
    anchors = AnchorForm.BRACES
    if generator == "MkDocs":
        settings = _COMMENT.sub("", text)
        if not _ATTR_LIST.search(settings) and not _INHERIT.search(settings):
            anchors = AnchorForm.HTML
            notes.append(
                "MkDocs does not enable attr_list in markdown_extensions, so readers would see {#id}."
            )
        if _SLUGIFY.search(settings):
            notes.append("The settings set slugify for the toc extension, so the slugs of MkDocs may differ.")
    elif generator == "Jekyll":
        renderer = _JEKYLL_MARKDOWN.search(_COMMENT.sub("", text))
        if renderer and renderer[1].lower() != "kramdown":
            anchors = AnchorForm.HTML
            notes.append(f"Jekyll renders with {renderer[1]}, so readers would see {{#id}}.")
    if heading_counts:
        anchors = max(heading_counts, key=lambda form: heading_counts[form])
    if is_partial:
        notes.append(f"Only the first {MAX_DOCUMENTS:,} documents were read.")
    dialect = _DIALECTS.get(generator, Dialect.GITHUB)
    return SiteSettings(generator, file, dialect, anchors, heading_counts, tuple(notes))


def _find_generator(files: FileSet) -> tuple[str, str, str]:
    """Return the generator nearest to the root, the path of its settings, and their text."""
    candidates: list[tuple[int, int, str]] = []
    for path in files.paths:
        folders = path.split("/")[:-1]
        if len(folders) > _MAX_DEPTH or any(
            name.startswith(".") or name in _SKIPPED_FOLDERS for name in folders
        ):
            continue
        names = (path.rpartition("/")[2], "/".join(path.split("/")[-3:]))
        for rank, (_, pattern) in enumerate(_SETTINGS_FILES):
            if any(map(pattern.fullmatch, names)):
                candidates.append((len(folders), rank, path))
    for _, rank, path in sorted(candidates):
        text = _read_settings(files, path)
        # Other programs also have a config.toml; only Hugo's has the key baseURL.
        if text is not None and (
            not _SETTINGS_FILES[rank][1].fullmatch("config.toml") or _BASE_URL.search(text)
        ):
            return _SETTINGS_FILES[rank][0], path, text
    return "", "", ""


def _read_settings(files: FileSet, path: str) -> str | None:
    from workspace.validation.files import UnreadableFile

    try:
        if files.reader.get_size(path) > _MAX_SETTINGS_BYTES:
            return None
        return files.reader.read(path).decode("utf-8", "replace")
    except UnreadableFile:
        return None


def _format_heading_count(count: int) -> str:
    return "1 heading has" if count == 1 else f"{count:,} headings have"


def _count_forms(files: FileSet) -> tuple[Mapping[AnchorForm, int], int, bool]:
    """Count the headings that have an anchor.

    Return the number of headings for each form of anchor, the number of headings with an anchor on the next
    line, and True if more than MAX_DOCUMENTS documents exist, of which only the first were read.
    """
    from workspace.document.document import Document
    from workspace.errors import LimitExceeded
    from workspace.validation.files import UnreadableFile

    counts: Counter[AnchorForm] = Counter()
    next_line_count = 0
    for path in files.documents[:MAX_DOCUMENTS]:
        try:
            if files.reader.get_size(path) > files.config.limits.document_bytes:
                continue
            document = Document.parse(files.reader.read(path), path)
        except (UnreadableFile, LimitExceeded):
            continue
        for section in document.sections:
            if section.heading and section.heading.names_below and not section.heading.text.name:
                next_line_count += 1
            elif section.anchor_form:
                counts[section.anchor_form] += 1
    return dict(counts), next_line_count, len(files.documents) > MAX_DOCUMENTS
