"""Run planned tasks in one session: send their requests and score the answers, also with judges."""
