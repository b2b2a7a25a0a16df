"""The three-way merge of documents: section by section and block by block, with conflicts.

block_alignment.py  the blocks of a section's text, and their alignment between two versions
blocks.py           the merge of a section's own text, block by block
commits.py          the merge of two commits
conflict.py         the conflicts of a merge as data, and their resolution by a person or a client
criss_cross.py      the merge of two documents over several bases (criss-cross), unit by unit
dependencies.py     the dependencies of tasks that a merge broke
documents.py        the three-way merge of a document: section by section, key by key
file_tree.py        the files after a merge, with which links are resolved before the commit
front_matter.py     the merge of front matter
order.py            the merge of the order of three sequences
resolutions.py      new content that resolves a conflict, fitted to the position of its unit
sections.py         the sections of the three versions of a document, with common ids
trees.py            the three-way merge of trees, file by file
union.py            both texts of a conflict, one after the other
"""
