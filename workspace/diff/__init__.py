"""Differences between two versions: documents, sections, tasks, front matter and words.

changes.py          changes as values, and the changes of front matter
descriptions.py     descriptions of changes: sentences, and rows of text that differ
documents.py        comparison of two versions of a document
formats.py          changes as JSON data, as lines for a terminal, and as Markdown
renames.py          detection of renamed documents between two trees
section_mapping.py  mapping of an address from one version of a document to another
sections.py         matching of the sections of two versions of a document
sequences.py        common subsequences, moved items, and similarity of texts
tasks.py            changes to the tasks of a section
text.py             difference of two texts: by unit, and by word within a unit
trees.py            changes between two commits, by document
unified.py          difference of two versions of a text as a unified diff
"""
