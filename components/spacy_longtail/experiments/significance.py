"""The old name of `spacy_longtail.evaluation.significance`."""

from ..evaluation.significance import *  # noqa: F403
