"""Document types: guidance and a skeleton for new documents.

A document type is data: a folder with `type.toml` (title, summary and guidance for the author) and
`document.md` (the first headings of a new document). The built-in types are folders of this package; a
workspace adds its own types in the same form under `.docyard/templates/`.
"""

from templates.catalogue import BUILTIN_NAMES, builtin_types
from templates.document_type import DocumentType, InvalidTemplate, TemplateSection, parse_type

__all__ = [
    "BUILTIN_NAMES",
    "DocumentType",
    "InvalidTemplate",
    "TemplateSection",
    "builtin_types",
    "parse_type",
]
