"""Unlabelled text: sentences to label next, and pseudo-labels of a teacher."""
