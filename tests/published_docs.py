"""A generated documentation site of 150 files, whose headings have published ids in attribute lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

FILE_COUNT = 150
_AREAS = ("tutorial", "how-to", "reference", "größe")


class PublishedHeading(NamedTuple):
    """The level, title, attribute list and published id of a heading, as its author wrote it."""

    level: int
    title: str
    attributes: str
    id: str

    @property
    def source(self) -> str:
        """Return the source of the heading; the attribute list `{: #faq` is on a separate line."""
        gap = "\n" if self.attributes.startswith("{: #faq") else " "
        return f"{'#' * self.level} {self.title}{gap}{self.attributes}"


def make_path(number: int) -> str:
    """Return the path of the file with a number."""
    return f"docs/{_AREAS[number % len(_AREAS)]}/page-{number:03}.md"


def make_headings(number: int) -> tuple[PublishedHeading, ...]:
    """Return the headings of the file with a number, below its title."""
    return (
        PublishedHeading(2, "First steps", "{ #first-steps }", "first-steps"),
        PublishedHeading(3, "Install it", f"{{ #install-{number:03} .wide }}", f"install-{number:03}"),
        PublishedHeading(3, "Run `it`", '{#run key="a {b}" }', "run"),
        PublishedHeading(2, "Größe und 数据", "{ #größe }", "größe"),
        PublishedHeading(2, "Options", "{: .reference #options data-x='1 2' }", "options"),
        PublishedHeading(3, "All of *them*", f"{{:#all-{number:03}}}", f"all-{number:03}"),
        PublishedHeading(2, "Limits", "{#limits}", "limits"),
        PublishedHeading(2, "Questions", "{: #faq .no_toc }", "faq"),
        PublishedHeading(2, "In MDX", "{/* #in-mdx */}", "in-mdx"),
    )


def make_text(number: int) -> str:
    """Return the text of the file with a number; it links to ids of another file."""
    target = (number * 7 + 1) % FILE_COUNT
    target_path = "../" + make_path(target).removeprefix("docs/")
    parts = [
        f"# Page {number} of the {_AREAS[number % len(_AREAS)]} {{ #page-{number:03} }}",
        f"See [the first steps]({target_path}#first-steps), [how to install]"
        f"({target_path}#install-{target:03}) and [the options](#options).",
    ]
    for heading in make_headings(number):
        parts += [heading.source, f"Words of {heading.title}, number {number}."]
        if heading.id == "limits":
            parts.append("- [ ] Measure them\n- [x] Write them down")
    parts += ["## A set { a, b }", "Text of no published id."]
    return "\n\n".join(parts) + "\n"


def make_documentation() -> Mapping[str, str]:
    """Return all files by path, including the settings of the site generator."""
    files = {make_path(number): make_text(number) for number in range(FILE_COUNT)}
    return {**files, "mkdocs.yml": "site_name: Pages\nmarkdown_extensions:\n  - attr_list\n  - toc\n"}
