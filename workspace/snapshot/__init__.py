"""A commit as documents: the snapshot, the overlay of uncommitted changes, document types, and walkthroughs.

derived_values.py     values that are derived from each document of a commit, and cached
document_types.py     document types
documents_by_type.py  the documents of a commit that have one type
overlay.py            overlays
snapshot.py           snapshots
type_names.py         the names of document types
walkthroughs.py       the walkthroughs of a commit
"""
