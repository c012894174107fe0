"""Questions about an image, answered by the probability of yes.

A request has an image and a text. For a plain text the answer is `{"score": 0.83}`: VQAScore, the probability of
"Yes" after the question whether the figure shows the text. For `{"questions": {"1": "Is there a ball?"}}` the answer
is `{"answers": {"1": "yes"}, "yes": {"1": 0.97}, "probability": {"1": 0.94}}`. There `yes` is p(yes) / (p(yes) +
p(no)), as in T2I-CompBench with BLIP, and the answer is the more probable of the two words. `model` is a folder or
hub id of one of three families: BLIP for VQA, a classifier over answers (ViLT), or a model that writes about images
(LLaVA, Qwen-VL, …).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from assay.models.workers.serve import Request


SHOWN = 'Does this figure show "{}"? Please answer yes or no.'


class Vqa:
    """A model that answers questions about an image with yes or no."""

    accepts = {"text", "image"}  # noqa: RUF012 - read as a literal by the parent process

    def __init__(
        self,
        model: str,
        question: str = SHOWN,
        suffix: str = "",
        device: str = "cpu",
        dtype: str = "float32",
        revision: str | None = None,
    ) -> None:
        import torch
        import transformers

        self.device = device
        self.question = question
        self.suffix = suffix
        config = transformers.AutoConfig.from_pretrained(model, revision=revision)
        options = {"revision": revision, "dtype": getattr(torch, dtype)}
        self.processor = transformers.AutoProcessor.from_pretrained(
            model, revision=revision
        )
        if config.model_type == "blip":
            self.weigh = self._blip
            kind = transformers.BlipForQuestionAnswering
        elif (
            type(config)
            in transformers.AutoModelForVisualQuestionAnswering._model_mapping
        ):
            self.weigh = self._classifier
            kind = transformers.AutoModelForVisualQuestionAnswering
        elif type(config) in transformers.AutoModelForImageTextToText._model_mapping:
            self.weigh = self._writer
            kind = transformers.AutoModelForImageTextToText
        else:
            raise ValueError(
                f"{model} is a {config.model_type} model, which answers no questions about images"
            )
        self.model = kind.from_pretrained(model, **options).to(device).eval()

    def answer(self, request: Request) -> dict[str, Any]:
        """Return the probability of yes for each question, or for the question whether the image shows the text."""
        image = request.image()
        questions = request.asked.get("questions")
        if questions is None:
            if not request.text.strip():
                raise ValueError("there is no text to compare the image with")
            yes, _ = self.weigh(image, self.question.format(request.text))
            return {"score": yes}
        weighed = {
            key: self.weigh(image, f"{question}{self.suffix}")
            for key, question in questions.items()
        }
        return {
            "answers": {
                key: "yes" if yes > no else "no" for key, (yes, no) in weighed.items()
            },
            "yes": {
                key: yes / max(yes + no, 1e-30) for key, (yes, no) in weighed.items()
            },
            "probability": {key: yes for key, (yes, no) in weighed.items()},
        }

    def _blip(self, image: object, question: str) -> tuple[float, float]:
        """Return the probabilities of yes and no as the first word of BLIP's decoder."""
        import torch

        inputs = self.processor(
            images=image,
            text=question,
            return_tensors="pt",
        ).to(self.device)
        with torch.inference_mode():
            vision = self.model.vision_model(
                pixel_values=inputs["pixel_values"].to(self.model.dtype)
            ).last_hidden_state
            read = self.model.text_encoder(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                encoder_hidden_states=vision,
                encoder_attention_mask=torch.ones(
                    vision.shape[:-1],
                    dtype=torch.long,
                    device=self.device,
                ),
            )[0]
            start = torch.full(
                (1, 1),
                self.model.decoder_start_token_id,
                device=self.device,
            )
            decoder = self.model.text_decoder(
                input_ids=start,
                encoder_hidden_states=read,
                encoder_attention_mask=inputs["attention_mask"],
            )
        return self._yes_and_no(decoder.logits[0, -1], ("yes",), ("no",))

    def _classifier(self, image: object, question: str) -> tuple[float, float]:
        """Return the probabilities of yes and no among the classifier's answers."""
        import torch

        labels = {
            str(label).lower(): int(number)
            for number, label in self.model.config.id2label.items()
        }
        if "yes" not in labels or "no" not in labels:
            raise ValueError(
                "this classifier knows neither yes nor no among its answers"
            )
        inputs = self.processor(
            images=image,
            text=question,
            return_tensors="pt",
        ).to(self.device)
        with torch.inference_mode():
            probable = self.model(**inputs).logits[0].float().softmax(-1)
        return float(probable[labels["yes"]]), float(probable[labels["no"]])

    def _writer(self, image: object, question: str) -> tuple[float, float]:
        """Return the probabilities of yes and no as the first token of the model's answer."""
        import torch

        turn = {
            "role": "user",
            "content": [{"type": "image"}, {"type": "text", "text": question}],
        }
        text = self.processor.apply_chat_template([turn], add_generation_prompt=True)
        # The template may have written the first token already; it must not be added twice.
        bos = self.processor.tokenizer.bos_token
        if bos and text.startswith(bos):
            how = {"add_special_tokens": False}
        else:
            how = {}
        inputs = self.processor(
            images=image,
            text=text,
            return_tensors="pt",
            **how,
        ).to(self.device)
        inputs["pixel_values"] = inputs["pixel_values"].to(self.model.dtype)
        with torch.inference_mode():
            outputs = self.model(**inputs)
        return self._yes_and_no(
            outputs.logits[0, -1],
            ("Yes", "yes", " Yes", " yes"),
            ("No", "no", " No", " no"),
        )

    def _yes_and_no(
        self,
        logits: torch.Tensor,
        yes: tuple[str, ...],
        no: tuple[str, ...],
    ) -> tuple[float, float]:
        """Return the probabilities that the next word is yes or no, each summed over
        its spellings (`Yes`, ` yes`, …).

        A token with which both words can begin, such as a space, is ignored.
        """
        tokenizer = self.processor.tokenizer
        probable = logits.float().softmax(-1)

        def begin(spellings: tuple[str, ...]) -> set[int]:
            return {
                tokenizer(word, add_special_tokens=False)["input_ids"][0]
                for word in spellings
            }

        def share(tokens: set[int]) -> float:
            return float(sum(probable[token] for token in tokens))

        affirming = begin(yes)
        denying = begin(no)
        if affirming <= denying or denying <= affirming:
            raise ValueError(
                "this model's tokenizer begins yes and no with the same token"
            )
        return share(affirming - denying), share(denying - affirming)
