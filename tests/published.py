"""A published documentation as authors wrote it: 150 files whose headings carry ids in attribute lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

COUNT = 150
_AREAS = ("tutorial", "how-to", "reference", "größe")


class Published(NamedTuple):
    """A heading as an author wrote it: its level, title, attribute list and published id."""

    level: int
    title: str
    attributes: str
    id: str

    @property
    def line(self) -> str:
        """The heading's lines; an attribute list of kramdown is on a line of its own."""
        gap = "\n" if self.attributes.startswith("{: #faq") else " "
        return f"{'#' * self.level} {self.title}{gap}{self.attributes}"


def path_of(number: int) -> str:
    """The path of a file."""
    return f"docs/{_AREAS[number % len(_AREAS)]}/page-{number:03}.md"


def headings_of(number: int) -> tuple[Published, ...]:
    """The headings of a file below its title."""
    return (
        Published(2, "First steps", "{ #first-steps }", "first-steps"),
        Published(3, "Install it", f"{{ #install-{number:03} .wide }}", f"install-{number:03}"),
        Published(3, "Run `it`", '{#run key="a {b}" }', "run"),
        Published(2, "Größe und 数据", "{ #größe }", "größe"),
        Published(2, "Options", "{: .reference #options data-x='1 2' }", "options"),
        Published(3, "All of *them*", f"{{:#all-{number:03}}}", f"all-{number:03}"),
        Published(2, "Limits", "{#limits}", "limits"),
        Published(2, "Questions", "{: #faq .no_toc }", "faq"),
        Published(2, "In MDX", "{/* #in-mdx */}", "in-mdx"),
    )


def text_of(number: int) -> str:
    """The text of a file, with links to ids of others."""
    other = (number * 7 + 1) % COUNT
    folder = "../" + path_of(other).removeprefix("docs/")
    parts = [
        f"# Page {number} of the {_AREAS[number % len(_AREAS)]} {{ #page-{number:03} }}",
        f"See [the first steps]({folder}#first-steps), [how to install]({folder}#install-{other:03}) "
        f"and [the options](#options).",
    ]
    for heading in headings_of(number):
        parts += [heading.line, f"Words of {heading.title}, number {number}."]
        if heading.id == "limits":
            parts.append("- [ ] Measure them\n- [x] Write them down")
    parts += ["## A set { a, b }", "Text of no published id."]
    return "\n\n".join(parts) + "\n"


def documentation() -> Mapping[str, str]:
    """Every file by its path, with the settings of the site generator."""
    files = {path_of(number): text_of(number) for number in range(COUNT)}
    return {**files, "mkdocs.yml": "site_name: Pages\nmarkdown_extensions:\n  - attr_list\n  - toc\n"}
