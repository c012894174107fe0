"""Shared code of the two evaluation toolkits VLMEvalKit and its fork ULMEvalKit."""
