"""Trains teams of LLM agents on-policy, with groups formed by agent and turn (AT-GRPO)."""
