"""Differences between two versions: documents, sections, tasks, front matter and words.

changes.py          what a change is
descriptions.py     A change in words
documents.py        two versions of a document, their sections paired
formats.py          changes as data
renames.py          which document of one tree is which of the next, where its path is gone
section_mapping.py  carrying an address from one version of a document to another
sections.py         which section of one version of a document is which of another
sequences.py        sequences
tasks.py            what happened to the tasks of a section
text.py             how one text became another
trees.py            what happened between two commits, document by document
unified.py          the difference of two versions of a text as a unified diff (POSIX `diff -u`), …
"""
