"""Probe three pretrained models from PyPI: `make probe-studies` writes results/probe."""
