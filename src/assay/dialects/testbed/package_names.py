"""The package `testbed` itself, which has nothing but its parts."""
