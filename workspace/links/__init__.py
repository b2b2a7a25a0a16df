"""Links: the links of a document, their targets, and their destinations after a move.

definitions.py    labels of references and footnotes, their definitions and uses
destinations.py   format link destinations
file_tree.py      the tree of files in which links are resolved
fragments.py      names in a document that a link's fragment can reach
inbound_links.py  find the documents that may link to a path
inline.py         links in inline Markdown, in linear time
link.py           links as values
offset_map.py     offset maps of operations
reader.py         the links of a document, and the names that its HTML and footnotes define
resolver.py       resolve links in a tree of files
updates.py        update links after an operation
warnings.py       warnings about broken links
"""
