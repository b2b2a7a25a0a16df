"""The rules, each in a file of its name, and the list of all rules.

bidirectional_control.py   bidirectional controls, which make the displayed and the processed text differ
derived_anchor.py          headings with two anchors
duplicate_anchor.py        explicit anchors and HTML ids that occur twice in a document
encoding.py                bytes that programs interpret differently: invalid UTF-8, and NUL
invisible_character.py     invisible characters that the text does not need
links/                     the rules on links, each a file of its name
lost_character.py          characters that an earlier conversion lost
malformed_front_matter.py  front matter that is not read as its author intended
malformed_manifest.py      manifests that cannot be used, so that they have no effect
malformed_task.py          checkboxes that renderers do not show as tasks, and wrong fields of tasks
missing_anchor.py          headings without an explicit anchor, whose addresses change with their words
missing_step.py            walkthroughs without a step
mixed_line_endings.py      mixed line endings, because of which tools show changes that were not made
several_h1.py              level-1 headings in addition to the title
skipped_level.py           headings more than one level below the heading before them
taxonomy_limit.py          values of front matter by which searches cannot be filtered
trailing_space.py          white space at the end of a line that changes its meaning
type_structure.py          documents that no longer have the sections of their type (`docs/templates.md`)
unknown_type.py            document types that the workspace does not have, or cannot read
unreadable_document.py     documents that Docyard does not read: they have too many bytes, lines or blocks
"""

from __future__ import annotations

from workspace.validation.rules import (
    bidirectional_control,
    derived_anchor,
    duplicate_anchor,
    encoding,
    invisible_character,
    lost_character,
    malformed_front_matter,
    malformed_manifest,
    malformed_task,
    missing_anchor,
    missing_step,
    mixed_line_endings,
    several_h1,
    skipped_level,
    taxonomy_limit,
    trailing_space,
    type_structure,
    unknown_type,
    unreadable_document,
)
from workspace.validation.rules.links import broken_fragment, broken_image, broken_link

RULES = tuple(
    module.RULE
    for module in (
        broken_link,
        broken_fragment,
        broken_image,
        duplicate_anchor,
        derived_anchor,
        missing_anchor,
        skipped_level,
        several_h1,
        malformed_task,
        malformed_front_matter,
        unknown_type,
        type_structure,
        missing_step,
        taxonomy_limit,
        malformed_manifest,
        invisible_character,
        bidirectional_control,
        trailing_space,
        encoding,
        lost_character,
        mixed_line_endings,
        unreadable_document,
    )
)
"""Every rule, in the order in which they are documented."""
