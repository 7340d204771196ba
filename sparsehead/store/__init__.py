"""The results store: one SQLite file, append-only, keyed by the content of the spec.

A spec and its outcome go in; records, curves and arrays come out. Read in this order:

arrays    arrays as compressed bytes
rows      one row: its values, its checksum, and the checks when it is read
schema    the tables
opening   which files are opened as a store, and how
store     `Store`: add, get, records, arrays
repair    check everything; copy what is sound to a new file
merge     unite several stores
results   rows of a store, chosen and exported
"""

from .rows import Record as Record
from .store import Store as Store
