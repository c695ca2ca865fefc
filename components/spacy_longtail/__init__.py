"""spacy-longtail: named entity recognition for types so rare that stock tools miss them."""

from .about import __version__
from .pipes.conversion import convert_ner

__all__ = ["__version__", "convert_ner"]
