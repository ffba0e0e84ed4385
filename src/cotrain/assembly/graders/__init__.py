"""What `cotrain grade` decides, one module a family of kinds; each grader takes one case."""
