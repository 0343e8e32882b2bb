"""Labelled files of SPSS, Stata and SAS: values with labels, codes for missing values, formats and dates."""
