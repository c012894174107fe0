"""Specialists: real models that do one thing each, behind the interface of all others; none of them chats."""
