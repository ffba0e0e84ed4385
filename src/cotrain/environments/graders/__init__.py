"""What decides whether an answer is right, outside the rules: graders of maths and of data sets."""
