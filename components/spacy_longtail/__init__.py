"""spacy-longtail: named entity recognition for types so rare that stock tools miss them."""

from . import encoders as encoders  # spacy.load finds the encoder that comes with the package
from .about import __version__
from .layers.serving import use_int8, use_numpy_blas
from .pipes.scores.spans import register_score_extension
from .pipes.transition.ner import convert_ner

__all__ = ["__version__", "convert_ner", "register_score_extension", "use_int8", "use_numpy_blas"]
