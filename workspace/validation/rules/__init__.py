"""The rules, each in a file of its name, and the list of all rules.

characters/                the rules on characters, each a file of its name
derived_anchor.py          headings with two anchors
drift.py                   documents and sections whose code changed after their text last did
duplicate_anchor.py        explicit anchors and HTML ids that occur twice in a document
duplicate_identifier.py    identifiers that are required at several places
links/                     the rules on links, each a file of its name
malformed_coverage.py      `covers` that names no file, every file, or something that is not a glob
malformed_front_matter.py  front matter that is not read as its author intended
malformed_manifest.py      manifests that cannot be used, so that they have no effect
malformed_skill.py         skills that a server does not offer
malformed_task.py          checkboxes that renderers do not show as tasks, and wrong fields of tasks
missing_anchor.py          headings without an explicit anchor, whose addresses change with their words
missing_step.py            walkthroughs without a step
several_h1.py              level-1 headings in addition to the title
skipped_level.py           headings more than one level below the heading before them
taxonomy_limit.py          values of front matter by which searches cannot be filtered
type_structure.py          documents that no longer have the sections of their type (`docs/templates.md`)
unknown_identifier.py      identifiers that no document requires
unknown_type.py            document types that the workspace does not have, or cannot read
unreadable_document.py     documents that Docyard does not read: they have too many bytes, lines or blocks
"""

from __future__ import annotations

from workspace.validation.rules import (
    derived_anchor,
    drift,
    duplicate_anchor,
    duplicate_identifier,
    malformed_coverage,
    malformed_front_matter,
    malformed_manifest,
    malformed_skill,
    malformed_task,
    missing_anchor,
    missing_step,
    several_h1,
    skipped_level,
    taxonomy_limit,
    type_structure,
    unknown_identifier,
    unknown_type,
    unreadable_document,
)
from workspace.validation.rules.characters import (
    bidirectional_control,
    encoding,
    invisible_character,
    lost_character,
    mixed_line_endings,
    trailing_space,
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
        malformed_coverage,
        drift,
        unknown_identifier,
        duplicate_identifier,
        malformed_front_matter,
        unknown_type,
        type_structure,
        missing_step,
        malformed_skill,
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
