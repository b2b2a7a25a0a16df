"""MCP resources: documents and sections that a host attaches and subscribes to.

contents.py  URIs of resources, and the sources that they name
list.py      the list of resources
watch.py     changes of watched resources and of their list
"""

MIME_TYPE = "text/markdown"
"""RFC 7763; all resources are Markdown."""
