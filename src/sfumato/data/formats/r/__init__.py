"""The files of R, .rds and .rda, read through the library rdata; they are not written."""
