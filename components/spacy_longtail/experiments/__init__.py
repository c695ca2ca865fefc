"""What runs over whole corpora and many trainings: statistics, evaluation, report."""
