"""What the verbs answer, each as one JSON object: `--json` prints it, the lab sends it."""
