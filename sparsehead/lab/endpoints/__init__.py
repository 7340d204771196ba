"""One file per page of the lab: the types of its requests, and the endpoints that answer them."""
