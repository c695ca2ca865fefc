"""File formats, one module each: a file to documents, every bad line named."""
