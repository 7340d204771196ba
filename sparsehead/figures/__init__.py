"""Records in, one Altair chart out. Nothing here reads a file, opens a screen or recomputes a result.

`theme` is the one look of all charts, `data` what a record may hold, `render` the four formats; `law`, `success`,
`curves`, `attention`, `built`, `diagram`, `covers`, `norms` and `bounds` each draw what they are named after.
"""
