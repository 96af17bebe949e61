"""From a table to an answer: candidates, judging, naming, words and further parts."""
