"""What is wrong in documents and safe to mend, mended: words, titles and levels never change.

mend.py             a mend, what had to be left, a document before and after
missing_anchor.py   a rule whose mends need more than a place: addresses written into headings
broken_link.py      links led back to what they meant
history.py          where documents and sections are that links name by what they were
fixers.py           which mends are looked for; most stand beside the rules in `workspace/validation`
fixing.py           one document put right, and held against what it was
documents.py        one document after the other, here or in another process
operation.py        all documents, as an operation of one commit
kept.py             what links need to know of that, to lead where they led
files.py            the files of a work tree, mended where they lie
difference.py       what changes, to be shown
"""
