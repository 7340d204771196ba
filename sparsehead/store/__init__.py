"""The results store: an append-only SQLite file of outcomes, keyed by the content of the spec.

It takes a spec and its outcome, and returns records, curves and arrays. Read in this order:

arrays    arrays as compressed bytes
rows      one row: its values, its checksum, and the checks when it is read
schema    the tables
opening   check a file before it is opened as a store
store     `Store`: add, get, records, arrays
repair    check every row; copy the undamaged ones to a new file
merge     unite several stores
results   rows of a store, chosen and exported
"""

from .rows import Record as Record
from .store import Store as Store
