"""The package `testbed`, which has only submodules."""
