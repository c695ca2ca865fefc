"""Old place of `make_gliner_ner`, for environments that were installed before it moved."""

from ..gliner_ner import make_gliner_ner as make_gliner_ner
