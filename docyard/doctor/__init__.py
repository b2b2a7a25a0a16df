"""The checks of `docyard doctor`: what is wrong, what to type, and what `--fix` repairs.

documents.py     checks of what stands at the served commit
environment.py   checks of the environment
finding.py       one thing that a checkup found
index.py         checks of the search index
installation.py  the way in which Docyard was installed, and the commands that change this installation
proposals.py     checks of what proposals rest on
repository.py    checks of the repository
storage.py       checks of how commits are kept
"""
