"""Names the plugins that all tests run with. They lie in tests/plugins, which pyproject.toml puts on pytest's path."""

pytest_plugins = ("session_setup", "shape_checks", "browser_fixtures")
