"""What the verbs answer, each as one JSON object: `--json` prints it, the lab sends it.

build, bound, cover, learn   one file per verb; `read`, `law` and `probe` answer with objects that have `to_dict`
"""
