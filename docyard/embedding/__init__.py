"""Providers of vectors for a search by meaning. Operators choose one; a repository cannot.

errors.py    the error for options that cannot be used
http.py      a server with the embeddings interface of OpenAI
local.py     a model in ONNX form, on this machine
provider.py  the provider that the options name
"""
