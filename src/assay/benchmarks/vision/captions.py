"""Captions of images: COCO and Flickr30k, by BLEU, ROUGE-L and CIDEr.

One row: `{"index": 5, "image": "iVBORw0…", "answer": "['a red ball', 'a ball on a table', …]"}`, five references to a
image; a `question` is asked where there is one.

Citations: COCO arXiv 1504.00325; Flickr30k Young et al., TACL 2014.

Protocol: references and captions tokenized as coco-caption does it; CIDEr is CIDEr-D with the document frequencies of
the images of the run, so a subset has another CIDEr. METEOR 1.5 needs Java and is computed when it is asked for
(`--scorer caption --scorer meteor`); SPICE, whose parser's models cannot be shipped, is not.
"""

from ...core import DataSource, GenerateOptions, Task
from ...templates import Question
from .tables import Table

ASK = "Describe this picture in one sentence. Write the description alone."

coco_caption = Task(
    name="coco_caption",
    dataset=DataSource(
        local=("COCO_VAL.tsv",),
        mini="benchmarks/data/vision/captions.tsv",
        read=Table(question=ASK),
    ),
    template=Question(),
    scorers=("caption",),
    options=GenerateOptions(temperature=0.0, max_tokens=64),
    protocol="coco_caption@coco-caption",
    needs=frozenset({"image"}),
    description="COCO captions: BLEU, ROUGE-L, CIDEr (as published)",
    citation="arXiv 1504.00325",
    licence="CC BY 4.0",
    data_hint="COCO_VAL.tsv with index, image, answer (a list literal of references)",
)
flickr30k = coco_caption.but(
    name="flickr30k",
    dataset=DataSource(
        local=("Flickr30k_TEST.tsv", "Flickr30k.tsv"),
        mini="benchmarks/data/vision/captions.tsv",
        read=Table(question=ASK),
    ),
    protocol="flickr30k@coco-caption",
    description="Flickr30k captions: BLEU, ROUGE-L, CIDEr (as published)",
    citation="TACL 2014, 2:67-78",
    licence="research use",
    data_hint="Flickr30k_TEST.tsv with index, image, answer (a list literal of references)",
)
