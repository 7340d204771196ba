"""Charts of the reproduction's results: records come in, one Altair chart goes out."""
