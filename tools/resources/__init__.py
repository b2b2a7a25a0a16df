"""Which documents and sections can a host attach, and how does it hear that one has changed?

uris.py     an address as a URI, and back
listing.py  the documents of the tip, page by page, and the templates of all other URIs
reading.py  the source that a URI names
watching.py which of the watched ones a commit has changed
"""

MIME_TYPE = "text/markdown"
"""RFC 7763; all resources are Markdown."""
