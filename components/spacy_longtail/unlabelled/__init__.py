"""Use of unlabelled text: sentences to label next, and pseudo-labels of a teacher."""
