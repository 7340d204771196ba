"""The commands `reproduce` and `figure`, which `sparsehead` finds by entry point."""
