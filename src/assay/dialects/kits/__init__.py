"""What dialects share: the common part of VLMEvalKit and its fork ULMEvalKit, and the files guests read and write."""
