"""What the two evaluation kits, VLMEvalKit and its fork ULMEvalKit, have in common."""
