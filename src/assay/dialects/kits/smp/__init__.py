"""`smp`, the helpers of both kits: reading and writing, names of files, images, texts, the machine."""
