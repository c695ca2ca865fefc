"""File formats, one module each: a file to documents, bad lines named, what is left out counted."""
