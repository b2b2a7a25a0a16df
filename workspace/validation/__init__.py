"""What is wrong with a workspace's Markdown.

rules/          a rule a file, from a document to places in its bytes
rule.py         what a rule is, and what it may ask of a document and its workspace
finding.py      what is told of such a place
settings.py     which rules hold where
checking.py     a document is held against the rules
files.py        the files that are looked at: of a folder, of Git's index, of a commit
listing.py      which files of a folder count
corpus.py       a world of these files, for links to lead to
run.py          all documents, in several processes
since.py        what was found at an earlier commit already
"""
