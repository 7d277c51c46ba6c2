"""The words around a stated choice, in the languages models answer in: "answer", "is", "or", "because", "wrong" …

Only data: patterns for `choice_options` and `choice_statements`. Text is NFKC before it meets them.
"""

from __future__ import annotations

_ANSWER_WORDS = (
    r"answers?(?:\(s\))?|ans(?:\.(?=\s))?|solution|response|selection|(?:final|my) verdict",
    r"antwort(?:en)?|lösung(?:en)?|antwoord(?:en)?|svar(?:et)?|vastaus|válasz",
    r"réponses?|reponses?|respuestas?|rispost[ae]|respostas?|răspuns(?:ul)?|raspuns(?:ul)?",
    r"odpowied(?:ź|zi|z)|odpověď|odpoveď|odgovor|ответы?|відповідь|отговор(?:ът)?|απάντηση",
    r"cevap|yanıt|jawaban|đáp án|câu trả lời|gabarito",
)
_OPTION_WORDS = (
    r"options?|choices?|letters?|alternatives?|selections?|picks?",
    r"buchstabe|alternative|variante|optie|keuze|lettre|choix|proposition|opción|opcion|letra|alternativa",
    r"opzione|lettera|scelta|opção|opcao|opcja|litera|вариант|вариант ответа|選択肢|选项",
)
_RIGHT = (
    r"correct|right|best|better|proper|chosen|selected|true|most accurate|most appropriate",
    r"richtige?n?|korrekte?n?|beste|juiste|correcte|goede|rätt|bonnes?|justes?|exactes?",
    r"correct[ao]s?|corrett[ae]|corretas?|esatt[ae]|giust[ae]|poprawn[aey]|prawidłow[aey]|правильн(?:ый|ая|о)|верн(?:ый|ая|о)",
)

RIGHT = "(?:" + "|".join(_RIGHT) + ")"
OPTION = "(?:" + "|".join((*_OPTION_WORDS, *_ANSWER_WORDS)) + ")"
"""What may stand right before an id: "option B", "Antwort B"."""

_LATIN_WORD = rf"(?<!\w)(?:{'|'.join(_ANSWER_WORDS)})(?!\w)"
_CALLED = "|".join((*_OPTION_WORDS, "statement", "response"))
_RIGHT_OPTION = rf"(?<!\w)(?:my|final|{'|'.join(_RIGHT)})\s+(?:{_CALLED})(?!\w)"
_RIGHT_ALONE = (
    r"(?<!\w)(?:richtig|korrekt|correct|correcto|correcta|correta|juste|corretto|corretta|juist|poprawna|верно)"
    r"(?=\s*[:=]|\s+(?:ist|sind|est|es|è|é|is)\s)"
)
_EASTERN_WORD = r"正确答案|正确选项|答案|答え|正解|回答|解答|정답|답|الإجابة|الجواب|תשובה|उत्तर|答"
WORD = f"(?:{_LATIN_WORD}|{_RIGHT_OPTION}|{_RIGHT_ALONE}|{_EASTERN_WORD})"

FINAL = r"(?:final|endgültige|finale|definitive|définitive|final|finale|definitieve|ostateczna|最终|最終|최종)"
WRONG_BEFORE = r"(?:wrong|incorrect|false|falsche?n?|mauvaise|fausse|incorrecta|sbagliata|errada|foute?|błędna)"
MIDDLE = (
    r"(?:\s+(?:to|for|of|auf|zu|zur|à|a|alla|à la|op|na)\s+(?:the|this|your|die|diese|der|la|cette|esta|questa|de|to)?"
    r"\s*(?:question|frage|pregunta|domanda|pergunta|vraag|pytanie|problem|case)(?:\s+\d+)?"
    r"|\s+(?:corrett[ae]|correctas?|corretas?|correctes?|exactas?|exactes?|esatt[ae]|giust[ae]|justes?|certas?|đúng)|\s+here|\s+(?:choice|option|letter)s?|\s+\(s\)|\s*\([^()\n]{0,20}\))?"
)
_COPULAS = (
    r"is|are|was|would be|should be|must be|will be|has to be|ist|sind|lautet|lauten|wäre|est|sont|serait|es|son|sería"
    r"|è|sono|sarebbe|é|são|seria|zijn|luidt|jest|brzmi|to|je|är|er|este|esta|on|là"
)
_EASTERN_COPULAS = r"\s*(?:是|为|は|が|은|는|هو|هي)"
_IS = rf"(?:\s+(?:{_COPULAS})(?!\w)|{_EASTERN_COPULAS})"
LINK = rf"(?:{_IS}?\s*(?:[:=]|[-–—=]>|→|[-–—](?=\s))|{_IS})"

LEAD = (
    r"(?:(?:clearly|therefore|thus|definitely|most likely|probably|likely|hence|indeed|simply|actually|still|obviously"
    r"|both|either|only|again|the|die|la|le|el|il|eindeutig|daher|somit|wohl|donc|clairement"
    r"|a(?=\s+(?:letra|alternativa|opção|resposta)\s))\s+)*"
)
FURTHER = r"(?:also|auch|aussi|también|anche|também|ook|również)\s"
"""After "the answer is": another answer beside one that was given."""

AND = ("and", "und", "et", "y", "e", "ed", "en", "i", "oraz", "og", "och", "ve", "и", "和", "及", "と", "as well as")
OR = ("or", "oder", "ou", "o", "of", "lub", "eller", "veya", "или", "或", "または")

REASON = (
    r"because|since|given|due|and|but|weil|denn|und|aber|wegen|parce|puisque|et|mais|porque|pues|pero"
    r"|perché|poiché|pois|omdat|maar|ponieważ|bo|gdyż|ale|потому"
)
"""What may follow "B is right" where B is a choice ("B is right that …" is about a person)."""

BECAUSE = rf"{REASON}|rather|not|instead|only|if"
"""What may follow a single letter that is also a word ("A because …", but not "A contract …")."""

_NOT = "not|n't|never|nicht|pas|niet|nie"
_WRONG = (
    "wrong|incorrect|false|falsch|unrichtig|faux|fausse|incorrecte|incorrecta|incorrecto|falsa|falso|errata|sbagliata"
    "|errada|fout|onjuist|błędna|nieprawidłowa|неверно|неправильно"
)
_OUT = "out|excluded|eliminated|ruled out|impossible|implausible|unlikely|invalid|ausgeschlossen|unmöglich|exclue?"
NEGATED = (
    r"(?:(?:is|are|was|would be|can|could|ist|sind|kann|est|sont|es|son|è|é|jest)\s+"
    rf"(?:(?:clearly|also|therefore|definitely|obviously|eindeutig)\s+)?(?:{_NOT}|{_WRONG}|{_OUT})"
    rf"|{_WRONG}|not (?:correct|right|true|valid)|cannot|isn't|aren't|can't|couldn't|wasn't"
    r"|n'est pas|no es|non è|não é)(?!\w)"
)
"""Right after an id: it is being ruled out."""

CORRECTION = (
    r"(?<!\w)(?:wait|actually|correction|on second thought|on reflection|hmm|scratch that|i was wrong|oops|moment mal"
    r"|doch|attendez|espera|aspetta)(?!\w)|(?:\.\.\.|,|[–—-])\s*no\s*[,:–—]"
)
CONDITION = "if|unless|wenn|falls|sofern|si|se|jeśli|если|若|如果"
CHOOSING = (
    r"(?<!\w)(?:(?:I|we)(?:'d|'ll| would| will| must| have to| am going to| therefore)?\s+"
    r"(?:choose|chose|select|selected|pick|picked|go with|opt for|vote for|answer|prefer)"
    r"|ich (?:wähle|nehme)|wähle ich|je (?:choisis|sélectionne)|(?:yo )?(?:elijo|selecciono|escojo)|scelgo|escolho"
    r"|ik kies|wybieram|я выбираю)(?!\w)|我?(?:选择|选)(?!项)\s*[:]?"
)
JSON_KEYS = (
    "finalanswer",
    "answer",
    "answers",
    "correctanswer",
    "correctanswers",
    "correctchoice",
    "correctchoices",
    "correctchoiceid",
    "correctchoiceids",
    "selectedchoice",
    "selectedanswer",
    "selectedoption",
    "selected",
    "choice",
    "choices",
    "choiceid",
    "choiceids",
    "option",
    "letter",
    "answerletter",
    "answerchoice",
    "answeroption",
    "answerid",
    "selectedanswers",
    "antwort",
    "réponse",
    "respuesta",
    "risposta",
    "resposta",
    "antwoord",
    "odpowiedź",
)
_FILLER = (
    "so its it is definitely clearly probably i id i'd say think go with the option choice answer letter must be would "
    "should therefore thus hence ok okay sure yes it's that's that"
)
FILLER = frozenset(_FILLER.split())
WORDLIKE = frozenset("aieyouàèéóиавскуояо")
