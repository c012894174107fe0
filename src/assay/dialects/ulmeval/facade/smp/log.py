"""`ulmeval.smp.log`: a logger by name."""

import logging


def get_logger(
    name: str, log_file: str | None = None, log_level: int = logging.INFO, file_mode: str = "w"
) -> logging.Logger:
    """A logger that speaks to stderr, and to a file if one is named."""
    logger = logging.getLogger(f"assay.guest.{name}")
    if not logger.handlers:
        handlers: list[logging.Handler] = [logging.StreamHandler()]
        if log_file is not None:
            handlers.append(logging.FileHandler(log_file, file_mode))
        for handler in handlers:
            handler.setFormatter(logging.Formatter("%(asctime)s - %(levelname)s - %(message)s"))
            logger.addHandler(handler)
        logger.setLevel(log_level)
        logger.propagate = False
    return logger
