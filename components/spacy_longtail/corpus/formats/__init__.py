"""Import formats: readers that turn files into documents and count what they skip."""
