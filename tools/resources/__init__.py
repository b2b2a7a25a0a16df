"""The resources of MCP: documents and sections that a host attaches and subscribes to.

contents.py  the source that a URI names
list.py      the list of resources
watch.py     which of the watched resources a commit has changed, and whether their list says …
"""

MIME_TYPE = "text/markdown"
"""RFC 7763; all resources are Markdown."""
