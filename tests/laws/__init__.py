"""Tests of superjax.laws."""
