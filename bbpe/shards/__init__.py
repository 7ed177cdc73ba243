"""Write corpora as files of ids that training reads, in parts that depend on a stored plan alone."""
