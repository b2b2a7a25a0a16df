"""Search by meaning: the vectors of sections, and the nearness of sections to a question.

codes.py             vectors in eight bits a number, scanned for the nearest sections
embedded_source.py   documents whose sections are embedded when they are read to be indexed
embedder.py          the interface of a provider of vectors, and the text of a section that is embedded
exchange.py          the exchange of vectors between nodes, so that each text is embedded by one of them
export.py            the vectors of an artifact, in a file of their own
hash_embedder.py     the provider `hash`: vectors from the words of a text, without a model
loaded_vectors.py    the vectors of one model: their store, and their codes in memory
location.py          the files of vectors in a folder
options.py           the choice of a provider for an index
postgres_vectors.py  the vectors of sections in PostgreSQL
provider.py          the time limit of a question, delays after failures, and refused texts
query_vectors.py     the nearness of sections to one question
related_sections.py  the sections of other documents that are nearest to a document
retries.py           the times at which a provider that failed is called again
store.py             the SQLite tables of the vectors
vector_index.py      the vectors of one workspace: questions, coverage, and sections without a vector
"""
