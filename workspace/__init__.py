"""Documents in Git: commits are read as values, changed in memory, and published in one visible step.

archive.py           an archive: the documents of one tree, read like a workspace, without a repository
branch.py            a branch of a repository, and the errors for a missing repository or branch
child_processes.py   child processes, started by spawn
config/              the settings of a workspace: `docyard.toml`, its tables and the taxonomy
diff/                differences between two versions
document/            documents as values: headings, sections, tasks, addresses and the splices that edit them
edits/               the operations on documents
errors.py            the base class of all errors that a user can act on
escapes.py           escapes of invisible characters
file_replacement.py  the replacement of a user's file in one step
frontmatter/         front matter: the only package that imports `yaml`
git/                 Git: the only package that imports `pygit2`
globs.py             globs over paths, with one meaning in settings, manifests and searches
history/             the history of a document or section: its commits, and the author of each line
links/               links: resolution of links, and updates of their destinations after a move
lru_cache.py         a least-recently-used cache with a capacity
markdown/            Markdown: the only package that imports `markdown_it`
merge/               the three-way merge of documents
nearest.py           the nearest names to a name that does not exist
paths.py             the paths that Docyard writes
policy/              the policy: which documents change only by review, and the tokens that identify people
proposal_ids.py      ids of proposals, and the branches that are named after them
proposals/           proposals: branches to be merged after review, with their discussion and approvals
publishing/          the publication of a batch
rendering/           rendering: untrusted Markdown as HTML that is safe to show
revisions.py         refs: the names of commits to read
skills.py            the skills of the served branch: reviewed documents with instructions for a model
snapshot/            a commit as documents: snapshots, overlays of uncommitted changes, and document types
source_workspace.py  one ref, or one folder at this ref, read as a documentation source
sync/                synchronization with a remote: fetch, merge and push of branches and proposals
task_graph.py        the tasks of a commit, and what each of them waits for
texts/               texts of any kind for the reading tools: their outline and their parts by name
trace.py             where identifiers such as `REQ-12` are required, designed, tasked, done and tested
validation/          validation of the Markdown of a workspace
workspace.py         the workspace: one branch of a repository, read as snapshots and written in batches
writing/             writes: the operations of a call, planned on the tip, and published as one commit
"""
