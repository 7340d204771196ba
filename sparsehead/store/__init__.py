"""The results store: one SQLite file, append-only, keyed by the content of the spec.

rows      one row: what it holds, its checksum, what is checked when it is read
arrays    arrays as compressed bytes
schema    the tables, and how older files are brought up to date
opening   which files are opened, and how
store     `Store`: add, get, records, arrays
repair    everything checked; what is sound copied to a new file
merge     several stores united into one
results   rows of a store, chosen and exported
"""

from .rows import Record
from .store import Store

__all__ = ["Record", "Store"]
