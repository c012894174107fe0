"""The nouns of assay: frozen, typed, standard library only."""

from .abilities import Abilities
from .errors import (
    AssayError,
    ComponentError,
    DataError,
    DiskFull,
    ErrorBudgetExceeded,
    FolderInUse,
    MissingExtra,
    ModalityMismatch,
    ModelError,
    NameTaken,
    PlanError,
    ScorerError,
    StoreError,
    SummarizerError,
    TemplateError,
    UnknownName,
    UsageError,
    blame,
    blamed,
    nearest,
    shorten,
    suggest,
)
from .media import Audio, Image, Media, Video
from .message import (
    Json,
    Message,
    Part,
    Reasoning,
    Text,
    as_message,
    as_messages,
    as_part,
    generation_role,
    has_free_roles,
    render_text,
)
from .meter import Meter
from .output import Candidate, ErrorInfo, Likelihood, Output, Round, Token, Usage, as_output
from .protocols import (
    AnswersById,
    Dataset,
    Model,
    OnDevice,
    Reporting,
    Scorer,
    SizedByMemory,
    Summarizer,
    SummaryContext,
    Template,
)
from .record import OutputRecord, Result, ScoreRecord
from .request import DEFAULT_OPTIONS, GenerateOptions, KeyMaker, Prompt, Request, canonical, digest_of, seeds_of
from .requirement import Requirement, library
from .sample import EMPTY, AllOf, BadSample, Sample
from .score import COUNTED_AS_ZERO, UNRESOLVED, Outcome, Score, as_score
from .spec import Spec
from .task import DataSource, Fewshot, Measure, Suite, Task

__all__ = [
    "COUNTED_AS_ZERO", "DEFAULT_OPTIONS", "EMPTY", "UNRESOLVED", "Abilities", "AnswersById", "AllOf", "AssayError",
    "Audio", "BadSample", "Candidate", "ComponentError", "DataError", "DataSource", "Dataset", "DiskFull",
    "ErrorBudgetExceeded", "ErrorInfo", "Fewshot", "FolderInUse", "GenerateOptions", "Image", "Json", "KeyMaker",
    "Likelihood", "Measure", "Media", "Message", "Meter", "MissingExtra", "ModalityMismatch", "Model", "ModelError",
    "NameTaken", "OnDevice", "Outcome", "Output", "OutputRecord", "Part", "PlanError", "Prompt", "Reasoning",
    "Reporting", "Request", "Requirement", "Result", "Round", "Sample", "Score", "ScoreRecord", "Scorer",
    "ScorerError", "SizedByMemory", "Spec", "StoreError", "Suite", "Summarizer", "SummarizerError", "SummaryContext",
    "Task", "Template", "TemplateError", "Text", "Token", "UnknownName", "Usage", "UsageError", "Video", "as_message",
    "as_messages", "as_output", "as_part", "as_score", "blame", "blamed", "canonical", "digest_of", "generation_role",
    "has_free_roles", "library", "nearest", "render_text", "seeds_of", "shorten", "suggest",
]  # fmt: skip
