"""Links: what a document refers to, what a link resolves to, and its destination after a move.

definitions.py   labels of references and footnotes
destinations.py  spelling
fragments.py     names
inbound.py       which documents may link to a path
inline.py        links in inline Markdown, in time in proportion to its length (CommonMark §6, "An …
link.py          links as values
reader.py        the links of a document, and the names in it that links may use beside those of its …
resolver.py      resolving
survival.py      survival
updates.py       relinking
warnings.py      warnings
world.py         the files that links are resolved among
"""
