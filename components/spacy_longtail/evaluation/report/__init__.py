"""The report on the runs of a corpus: an HTML page, its Markdown twin, a table for a terminal."""

from .card import write_card
from .comparison import read_report
from .inputs import metrics_files
from .page import check_report, write_report
from .wording import summarize, summary_table
