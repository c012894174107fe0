"""Specialists: models for one task each, such as OCR, with the same interface as all models. None of them chats."""
