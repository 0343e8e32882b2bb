"""Who is nearer than the own record, in Euclidean distance."""
