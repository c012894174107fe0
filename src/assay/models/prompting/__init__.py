"""Prompt building shared by the models of this process: `hf`, `gguf`, `vllm`.

Text becomes token ids here, prompts are checked and truncated to the context, and continuations are paired with their
contexts. Nothing here imports torch.
"""
