"""The library: folders of documents, search, and the pages that tell of the server itself."""
