"""Tables of a user's own: an array, a data frame, a CSV or Parquet file comes in; bits, labels and names go out.

Read in this order:

columns    one column as numbers or texts, whatever it arrived as
files      the columns of a CSV or Parquet file
binary     a column as bits: as it is, by a threshold, or one bit for each category
dataset    the result, `Dataset`, and the public `dataset`
"""

from .dataset import Dataset, dataset

__all__ = ["Dataset", "dataset"]
