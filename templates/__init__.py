"""What does a new document of this type look like?

A document type is data: a folder of its name with `type.toml` (title, summary and guidance for whoever writes
such a document) and `document.md` (the headings that it begins with). The built-in types are folders of this
package; a workspace adds its own in the same form under `.docyard/templates/`.
"""

from templates.catalogue import builtin_types
from templates.document_type import DocumentType, InvalidTemplate, TemplateSection, parse_type

__all__ = ["DocumentType", "InvalidTemplate", "TemplateSection", "builtin_types", "parse_type"]
