"""Specialists: real models for one task each, behind the same interface as all models. None of them chats."""
