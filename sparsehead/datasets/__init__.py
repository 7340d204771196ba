"""From a user's table (an array, a data frame, a CSV or Parquet file) to bits, labels and names.

Read in this order:

columns    convert a column of any type to numbers or texts
files      read the columns of a CSV or Parquet file
binary     convert a column to bits: unchanged, by a threshold, or one bit for each category
dataset    `dataset`, and its result `Dataset`
"""

from .dataset import Dataset, dataset

__all__ = ["Dataset", "dataset"]
