"""Specialists: real models that do one thing each, behind the same interface as all models. None of them chats."""
