"""Battles between answers, as in Chatbot Arena: a judge says which of two is better, and ratings follow from that.

Each row has a prompt and the answer of one opponent. Run the file with each model of your own and `--judge MODEL`, then
`assay leaderboard runs --ratings`: the opponents are rated, too. Battles about one prompt are one cluster.
"""

PROMPTS = [
    "Write a haiku about rain.",
    "Explain what a prime number is to a child.",
    "Suggest a name for a bakery.",
    "Give one reason to learn Latin.",
]
OPPONENTS = {
    "old": ["Rain, rain, rain.", "A number.", "Bakery.", "None."],
    "long": [
        "Soft rain on the roof, a slow drum for the sleepers, morning smells of earth.",
        "A prime number is one that you cannot share out evenly, but for groups of one.",
        "The Early Crumb, because the best bread is gone by nine.",
        "Half of the words of English come from it, so it makes new words easy.",
    ],
}
dataset = [
    {
        "id": f"{opponent}-{number}",
        "prompt": prompt,
        "other": answers[number],
        "opponent": opponent,
        "number": str(number),
    }
    for opponent, answers in OPPONENTS.items()
    for number, prompt in enumerate(PROMPTS)
]
columns = {"input": "prompt"}
template = "{{ prompt }}"
tags = ("opponent",)
cluster = "number"
scorers = {"name": "pairwise_judge", "against": "other"}
