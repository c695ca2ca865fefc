"""Earlier place of the resampling policies, which entry points of installations may name."""

from ..readers.repeats import RandomOversampling as RandomOversampling
from ..readers.repeats import RandomUndersampling as RandomUndersampling
from ..readers.repeats import nsCRD as nsCRD
from ..readers.repeats import sC as sC
from ..readers.repeats import sCR as sCR
from ..readers.repeats import sCRD as sCRD
