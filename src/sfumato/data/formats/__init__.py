"""Files of every format: delimited text, compressed or not, Parquet, Excel, R, and those of SPSS, Stata and SAS."""
