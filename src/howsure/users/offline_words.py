"""What the offline user says of its own accord, in the language it opened in; the scenario's words are not here."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from msgspec import Struct


class Phrases(Struct, frozen=True, kw_only=True):
    """Ways to say the same; which one is taken depends on the seed."""

    unknown: tuple[str, ...]
    yes: tuple[str, ...]
    no_person: tuple[str, ...]
    what: tuple[str, ...]
    go_on: tuple[str, ...]
    press: tuple[str, ...]
    tell: tuple[str, ...]


_PHRASES: Mapping[str, Phrases] = {
    "en": Phrases(
        unknown=("I don't know that.", "I don't have that, sorry.", "I'm afraid I don't know."),
        yes=("Yes, please.", "Yes, please go ahead.", "Yes."),
        no_person=("No, I'd like to sort it out here, please.", "No, please help me here."),
        what=("What exactly do you need to know?", "Which details do you need?"),
        go_on=("Okay.", "All right.", "Okay, I'm listening."),
        press=("Is there really nothing you can do?", "There must be some way, please try again."),
        tell=("The {name} is {value}.", "My {name}: {value}.", "It's {value} ({name})."),
    ),
    "de": Phrases(
        unknown=("Das weiß ich nicht.", "Das habe ich leider nicht."),
        yes=("Ja, bitte.", "Ja."),
        no_person=("Nein, ich möchte es gern hier klären.",),
        what=("Welche Angaben brauchen Sie genau?",),
        go_on=("In Ordnung.", "Gut."),
        press=("Gibt es wirklich keine Möglichkeit?",),
        tell=("{name}: {value}.",),
    ),
    "fr": Phrases(
        unknown=("Je ne sais pas.", "Je n'ai pas cette information."),
        yes=("Oui, s'il vous plaît.", "Oui."),
        no_person=("Non, je préfère régler cela ici.",),
        what=("De quelles informations avez-vous besoin ?",),
        go_on=("D'accord.",),
        press=("N'y a-t-il vraiment aucune solution ?",),
        tell=("{name} : {value}.",),
    ),
    "es": Phrases(
        unknown=("No lo sé.", "No tengo ese dato."),
        yes=("Sí, por favor.", "Sí."),
        no_person=("No, prefiero resolverlo aquí.",),
        what=("¿Qué datos necesita exactamente?",),
        go_on=("De acuerdo.",),
        press=("¿De verdad no hay ninguna manera?",),
        tell=("{name}: {value}.",),
    ),
}


def phrases(language: str | None) -> Phrases:
    """The phrases of a language; English where there are none."""
    return _PHRASES.get(language or "en", _PHRASES["en"])


def told(facts: Mapping[str, str], said: Phrases, choice: Random) -> str:
    """Each fact with its name and its value, word for word."""
    pattern = choice.choice(said.tell)
    return " ".join(pattern.format(name=name.replace("_", " "), value=value) for name, value in facts.items())
