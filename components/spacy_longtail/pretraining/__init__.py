"""Pretraining of an encoder, and of a head that reads label descriptions, on donors.

Donors are source corpora: annotated corpora, usually with other types than the target.
"""

from .donors import PretrainOptions
from .run import MODEL, pretrain
