"""How sure a NER score is, and whether a difference between two systems is more than chance."""

from .bootstrap import Interval as Interval
from .bootstrap import intervals as intervals
from .bootstrap import paired_bootstrap as paired_bootstrap
from .counts import MentionCounts as MentionCounts
from .counts import Unit as Unit
from .counts import mention_counts as mention_counts
from .counts import stack as stack
from .metrics import Metric as Metric
from .metrics import named_metrics as named_metrics
from .paired import PairedT as PairedT
from .paired import bootstrap_standard_error as bootstrap_standard_error
from .paired import holm as holm
from .paired import paired_permutation as paired_permutation
from .paired import paired_t as paired_t
from .verdicts import LEAST_SEEDS as LEAST_SEEDS
from .verdicts import NO_CLAIM as NO_CLAIM
from .verdicts import Verdict as Verdict
from .verdicts import corrected as corrected
from .verdicts import corrected_by_score as corrected_by_score
from .verdicts import describe as describe
from .verdicts import judge as judge
