"""The three-way merge of documents: section by section and block by block, with conflicts.

blocks.py        texts in pieces
commits.py       two commits merged
conflict.py      what a merge could not decide, as data, and how a person or a client decides it
criss_cross.py   what the merges of two documents over several bases have in common, unit by unit
documents.py     two versions of a document merged, by what each did to a third
front_matter.py  front matter merged key by key, lists item by item
order.py         rows merged
resolutions.py   new content that decides a conflict, written so that it stands where the unit stands
sections.py      the three versions of a document, their sections known by ids that are the same in …
text.py          the own text of a section, merged block by block
trees.py         three trees made one
world.py         the files after a merge, as links are resolved among them
"""
