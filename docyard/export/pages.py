"""The pages of an export: one for each document, the contents, and one page of all documents to print.

Documents are rendered by `workspace.rendering`, as on the pages of a server. It permits only addresses that
begin with a slash and that it resolved itself. These addresses have a random first segment here, so that no
text of a document contains one. In the sanitized HTML they are then replaced by relative addresses.
"""

from __future__ import annotations

import re
import secrets
from contextlib import ExitStack, closing
from html import escape, unescape
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from docyard.export.contents import ExportedDocument, ExportedFolder, FileNames
from docyard.export.files import read_exported_file
from docyard.export.language_model import summarize_document, write_head, write_list, write_text
from docyard.web.documents.document import SectionLinks, add_page_links
from docyard.web.library.folders import build_sort_key
from docyard.web.templates import STATIC_FOLDER, get_template, mark_trusted
from docyard.web.urls import quote_fragment, quote_path
from workspace.errors import WorkspaceError
from workspace.markdown.slugs import PREAMBLE
from workspace.rendering.code_colours import CodeColours
from workspace.rendering.links import RenderOptions
from workspace.rendering.renderer import render

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from docyard.export.files import ExportedFile
    from docyard.export.folder import ExportFolder
    from docyard.terminal.console import ReportProgress
    from workspace.document.document import Document
    from workspace.rendering.links import RenderedDocument
    from workspace.snapshot.snapshot import Snapshot

INDEX_PAGE, PRINT_PAGE = "index.html", "print.html"
_STYLES = ("base.css", "document.css", "export.css", "icon.svg")
_MAX_COLOUR_WAIT_S = 60.0  # for the code of one document
_NO_LINKS = SectionLinks("", None, has_history=False, may_edit=False, proposal="")

# In the output of the sanitizer, `<` begins a tag, and values of attributes contain no quote.
_TAG = re.compile(r'<[a-z][a-z0-9]*(?: [a-zA-Z-]+="[^"]*")+>')
_LOCAL_NAME = re.compile(r' (id="|href="#)(?=[^"])')


class ExportReport(NamedTuple):
    """The numbers of exported documents and files, and warnings about parts that are missing."""

    document_count: int
    file_count: int
    warnings: Sequence[str]


class ExportUrls:
    """The addresses of an export. `linked_files` has the path of each file by its address."""

    def __init__(self, documents: Sequence[ExportedDocument], groups: Sequence[ExportedFolder]) -> None:
        self.prefix = f"/{secrets.token_hex(16)}/"
        self.linked_files: dict[str, str] = {}
        self._pages = {document.path: document.page_url for document in documents}
        self._groups = groups

    def document(self, path: str, section: str = "", /) -> str:
        """Return the address of a document's page, or of one of its sections."""
        return self.prefix + quote_path(self._pages.get(path, INDEX_PAGE)) + quote_fragment(section)

    def folder(self, path: str, /) -> str:
        """Return the address of a folder's list on the page of contents."""
        for group in self._groups if path else ():
            if group.folder == path or group.folder.startswith(f"{path}/"):
                return f"{self.prefix}{INDEX_PAGE}#{group.id}"
        return self.prefix + INDEX_PAGE

    def raw(self, path: str, /) -> str:
        """Return the address of a file, and record it as linked."""
        address = f"files/{quote_path(path)}"
        self.linked_files[address] = path
        return self.prefix + address


class _Exporter:
    """The state of one export: the addresses, and the files that were written."""

    def __init__(self, snapshot: Snapshot, folder: ExportFolder, title: str, description: str) -> None:
        self._snapshot, self._folder = snapshot, folder
        self._title, self._description = title, description
        self._names = FileNames()
        self._code_colours = CodeColours()
        self._files: dict[str, tuple[str, ExportedFile]] = {}
        self.documents, self.groups = self._list_documents()
        self._urls = ExportUrls(self.documents, self.groups)
        self._own_address = re.compile(rf'(href|src)="{re.escape(self._urls.prefix)}([^"#]*)(#[^"]*)?"')
        self._numbers = {
            quote_path(document.page_url): number for number, document in enumerate(self.documents)
        }
        self.warnings: list[str] = []

    @property
    def file_count(self) -> int:
        """Return the number of files that documents link to or show."""
        return len(self._files)

    def _list_documents(self) -> tuple[list[ExportedDocument], list[ExportedFolder]]:
        paths: dict[str, list[str]] = {}
        for path in self._snapshot.documents:
            paths.setdefault(path.rpartition("/")[0], []).append(path)
        documents, groups = [], []
        for number, folder in enumerate(sorted(paths)):
            group = [self._describe(path) for path in sorted(paths[folder], key=build_sort_key)]
            documents += group
            groups.append(ExportedFolder(f"folder-{number}", folder, group))
        return documents, groups

    def _describe(self, path: str) -> ExportedDocument:
        folder, _, name = path.rpartition("/")
        page_url = self._names.choose("pages", path, ".html", replaces_suffix=True)
        try:
            document = self._snapshot.document(path)
        except WorkspaceError as error:
            return ExportedDocument(path, folder, page_url, name, "", error.message)
        return ExportedDocument(path, folder, page_url, document.title, summarize_document(document))

    def close(self) -> None:
        """End the process that finds the colours of code."""
        self._code_colours.close()

    def write(self, progress: ReportProgress | None) -> None:
        """Write all files of the export."""
        for name in _STYLES:
            self._folder.write(f"static/{name}", (STATIC_FOLDER / name).read_bytes())
        self._write_page(INDEX_PAGE, "export_index.html", groups=self.groups)
        list_text = write_list(self._title, self._description, self.documents)
        self._folder.write("llms.txt", _encode(list_text))
        marker = self._urls.prefix
        head, _, tail = self._render("export_print.html", "", articles=mark_trusted(marker)).partition(marker)
        with ExitStack() as stack:
            print_page = stack.enter_context(self._folder.open(PRINT_PAGE))
            full_text = stack.enter_context(self._folder.open("llms-full.txt"))
            print_page.write(_encode(head))
            full_text.write(_encode("\n".join(write_head(self._title, self._description)) + "\n"))
            for number, document in enumerate(self.documents):
                self._write_document(number, document, print_page, full_text)
                if progress is not None:
                    progress(number + 1, len(self.documents), None)
            print_page.write(_encode(tail))

    def _write_document(
        self, number: int, exported: ExportedDocument, print_page: BinaryIO, full_text: BinaryIO
    ) -> None:
        document, rendered = self._render_document(exported)
        if document is None or rendered is None:
            self.warnings.append(f"{exported.path} has no text: {exported.reason}")
            title = rendered_page = None
            article = f"<h1>{escape(exported.title)}</h1><p>{escape(exported.reason or '')}</p>"
        else:
            page = add_page_links(rendered, _NO_LINKS)
            title = mark_trusted(self._replace_addresses(page.title or "", exported.root))
            rendered_page = mark_trusted(self._replace_addresses(page.body, exported.root))
            article = self._make_article(number, rendered)
            text = document.text(document.front_matter_end, len(document.data)).removeprefix("\ufeff")
            self._folder.write(f"{exported.page_url}.md", document.data)
            full_text.write(_encode(write_text(exported.path, text)))
            if rendered.is_cut:
                self.warnings.append(f"the page of {exported.path} does not show the end of the document")
        print_page.write(_encode(f'<article class="prose" id="d{number}">\n{article}\n</article>\n'))
        self._write_page(
            exported.page_url,
            "export_document.html",
            document=exported,
            tags=document.tags[:12] if document else (),
            title=title,
            body=rendered_page,
            outline=[entry for entry in rendered.outline if entry.id != PREAMBLE] if rendered else [],
            notes=rendered.notes if rendered else (),
            previous=self.documents[number - 1] if number else None,
            next=self.documents[number + 1] if number + 1 < len(self.documents) else None,
            folder_url=self._urls.folder(exported.folder).removeprefix(self._urls.prefix),
            source_url=f"{PurePosixPath(exported.page_url).name}.md",
        )

    def _render_document(self, exported: ExportedDocument) -> tuple[Document | None, RenderedDocument | None]:
        if exported.reason is not None:
            return None, None
        options = RenderOptions(math=True)
        rendered = render(self._snapshot, exported.path, urls=self._urls, options=options)
        coloured_html = self._code_colours.add_colours(rendered.html, max_wait_s=_MAX_COLOUR_WAIT_S)
        rendered = rendered._replace(html=coloured_html.html)
        return self._snapshot.document(exported.path), rendered

    def _make_article(self, number: int, rendered: RenderedDocument) -> str:
        """Return a document for the page to print, on which ids of several documents are unique."""

        def rename(tag: re.Match[str]) -> str:
            return _LOCAL_NAME.sub(rf" \g<1>d{number}-", tag[0])

        html = _TAG.sub(rename, rendered.html)
        title = "" if rendered.shows_title else f"<h1>{escape(rendered.title)}</h1>\n"
        return title + self._replace_addresses(html, "", is_one_page=True)

    def _replace_addresses(self, html: str, root: str, *, is_one_page: bool = False) -> str:
        """Return HTML with relative addresses; with `is_one_page`, documents are on the same page."""

        def replace(match: re.Match[str]) -> str:
            attribute, address, fragment = match[1], unescape(match[2]), match[3] or ""
            if address in self._urls.linked_files:
                name, file = self._export_file(self._urls.linked_files[address])
                if attribute == "src" and file.inline_address:
                    return f'src="{file.inline_address}"'
                return f'{attribute}="{root}{escape(quote_path(name))}"'
            number = self._numbers.get(address) if is_one_page else None
            if number is not None:
                return f'{attribute}="#d{number}{fragment.replace("#", "-", 1)}"'
            return f'{attribute}="{root}{match[2]}{fragment}"'

        return self._own_address.sub(replace, html)

    def _export_file(self, path: str) -> tuple[str, ExportedFile]:
        """Return the name of a file in the export, and the file, which is written at its first use."""
        if path not in self._files:
            file = read_exported_file(self._snapshot, path)
            if file.problem:
                self.warnings.append(f"{path} is not exported: {file.problem}")
            name = self._names.choose("files", path, file.suffix)
            self._folder.write(name, file.data)
            # The bytes are not needed again.
            self._files[path] = name, file._replace(data=b"")
        return self._files[path]

    def _write_page(self, name: str, template: str, **values: object) -> None:
        self._folder.write(name, _encode(self._render(template, "../" * name.count("/"), **values)))

    def _render(self, template: str, root: str, **values: object) -> str:
        return get_template(template).render(
            root=root,
            workspace_title=self._title,
            description=self._description,
            commit=self._snapshot.commit or "",
            quote_path=quote_path,
            documents=self.documents,
            **values,
        )


def export_pages(
    snapshot: Snapshot, folder: ExportFolder, title: str, description: str, progress: ReportProgress | None
) -> ExportReport:
    """Write the documents of a commit as pages, with the files that they link to, and the lists for models.

    Raises DamagedRepository, OSError.
    """
    exporter = _Exporter(snapshot, folder, title, description)
    with closing(exporter):
        exporter.write(progress)
    return ExportReport(len(exporter.documents), exporter.file_count, exporter.warnings)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
