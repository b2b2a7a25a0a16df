"""Differences between two versions: documents, sections, tasks, front matter and words.

changed_sections.py  find the sections whose text differs from an earlier snapshot
changes.py           changes as values, and the changes of front matter
descriptions.py      descriptions of changes: sentences, and rows of text that differ
documents.py         compare two versions of a document
formats.py           changes as JSON data, as lines for a terminal, and as Markdown
renames.py           find the documents that were renamed between two trees
section_mapping.py   map an address from one version of a document to another
sections.py          match the sections of two versions of a document
sequences.py         common subsequences, moved items, and similarity of texts
tasks.py             compare the tasks of two versions of a section
text.py              compare two texts: by unit, and by word within a unit
trees.py             compare two commits, document by document
unified.py           format the difference of two versions of a text as a unified diff
"""
