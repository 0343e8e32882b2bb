"""Files of every format, each in and out: delimited text, Parquet, and the labelled files of SPSS, Stata and SAS."""
