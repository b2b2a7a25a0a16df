"""Which section holds which word? Pages come in, segments go out."""
