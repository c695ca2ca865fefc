"""What unlabelled text gives: sentences worth a label, and what a teacher reads in it."""
