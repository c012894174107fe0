"""Prompt building shared by the backends that run models in this process: `hf`, `gguf` and `vllm`.

This package converts text to token ids, checks prompts, truncates them to the context,
and pairs continuations with their contexts. It does not import torch.
"""
