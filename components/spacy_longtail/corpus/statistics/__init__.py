"""Statistics of a corpus, and what they mean for training."""

from .records import MARK as MARK
from .records import Statistics as Statistics
from .records import read_statistics as read_statistics
from .records import write_statistics as write_statistics
