"""The checks of `docyard doctor`: problems, the commands that fix them, and the fixes of `--fix`.

documents.py     checks of the served commit: document types, manifests and documents
engine.py        checks of the database of indexes, and of its replica
environment.py   checks of the environment
finding.py       one finding of a check
index.py         checks of the search index
installation.py  the installation of Docyard, and the commands that change it
proposals.py     checks of tokens, discussions, proposal branches and the remote
repository.py    checks of the repository: author, work trees and locks
rules.py         checks of the rules of docyard.toml and of CODEOWNERS
settings.py      checks of docyard.toml: its mistakes, committed or in the work tree
skills.py        skills that are offered, and those that are not
storage.py       checks of the storage of commits: shallow clones, packs, damaged objects and branches
"""
