"""What the verbs answer, each as one frozen record: `to_dict` is what `--json` prints and the lab sends.

build, bound, cover, learn   one file per verb; `read`, `law` and `probe` return such records themselves
"""
