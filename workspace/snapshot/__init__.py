"""A commit as documents: the snapshot, the overlay of uncommitted changes, and document types.

document_types.py  document types
overlay.py         overlays
snapshot.py        snapshots
type_names.py      the names of document types
"""
