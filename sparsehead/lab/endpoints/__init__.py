"""One file per page of the lab: what may be asked, and the record of the library that answers it."""
