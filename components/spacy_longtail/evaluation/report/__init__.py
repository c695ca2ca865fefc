"""Report on the runs of a corpus: an HTML page, a Markdown version, a table for the terminal."""

from .card import write_card
from .comparison import read_report
from .page import check_report, write_report
from .systems import metrics_files
from .wording import summarize, summary_table
