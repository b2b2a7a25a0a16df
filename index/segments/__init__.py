"""What lies on the disk? Segments: pages, sections and posting lists as arrays in mapped files."""
