"""The operations on documents. To add an operation, write its class and list it in `edit_operations.py`.

content.py            check the content and the titles of a call, and add anchors to its headings
documents.py          create, move and remove documents
edit_operations.py    the operations of the tool `edit_document`, in the order of a client's list
images.py             add an image
metadata.py           set keys and tags of front matter
moved_definitions.py  link and footnote definitions of moved text
operation.py          the base classes of operations, and their outcome
reinsertion.py        insert an old version of a section into a document
restore.py            restore documents and sections, and undo commits
section_move.py       the move of a section with its subsections
section_position.py   the target position of a section, and its level
sections.py           add, remove, rename and move sections
task_claim.py         claim a task, renew a claim, and release it
task_plan.py          write what a task waits for
task_text.py          the lines of tasks, and the target position of a task
tasks.py              add, complete, reopen, remove, update and move tasks
text.py               update, append, replace and rewrite text
undo.py               undo one commit, document by document
undo_rows.py          revert one commit in a list of sections or of front matter keys
undo_text.py          revert one commit in the text of a document
"""
