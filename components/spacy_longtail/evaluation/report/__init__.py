"""The report on the runs of a corpus: an HTML page, its Markdown twin, and a table for a terminal."""

from .card import write_card as write_card
from .comparison import read_report as read_report
from .inputs import metrics_files as metrics_files
from .page import check_report as check_report
from .page import write_report as write_report
from .wording import summarize as summarize
from .wording import summary_table as summary_table
