"""Environments: pure rules over immutable states, the shipped ones and what checks them."""
