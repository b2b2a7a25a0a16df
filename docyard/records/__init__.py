"""The records of searches and calls, and the reports of readers.

counts.py                 counts of searches, questions and words, as sums of the recorded searches
digest.py                 the digest of a day as Markdown
erasure.py                the removal of a text, or of a person
export.py                 the export of recorded searches as CSV, JSON or Parquet
opt_outs.py               the principals and clients that are not recorded
problem_reports.py        readers' reports of problems in documents
questions.py              the form of a question that is stored: its words, or a keyed hash
recorder.py               the thread that records behind the answers
retention.py              the deletion of old records
rows.py                   the rows of a batch of calls
summary.py                the numbers of an organization in a period
"""
