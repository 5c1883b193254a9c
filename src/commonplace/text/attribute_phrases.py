"""The attributes that people ask about most, and how an English speaker says and asks them: one table.

Each attribute has its nouns, the sentences that tell it, and the words of a question that asks for it. In a sentence S
is what it is about, P what of it, V the value that holds, O the value that held before, and N one of the nouns; the
rest is a regular expression that ignores case. Sentences with N are the same for every attribute (`WITH_NOUN`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.text.dates import MONTHS, WEEKDAYS

# What can be said of any attribute by its name.
WITH_NOUN = (
    (
        "(?:the |our )?(?:new |current |actual )?N (?:of|for|in|to|on|at) S (?:is|are|was set to|is set to|has"
        " been set to"
        "|(?:was |has been )?changed to|went to|moved to|switched to|works with|is done with|happens with|goes"
        " through) V"
    ),
    (
        "(?:the |our )?N (?:of|for|in|to|on) S (?:was |has been )?(?:changed|moved|switched|went|passed|shifted)"
        " from O to V"
    ),
    "(?:the |our )?(?:new )?N (?:of|for|in|to|on) S(?::| =) V",
    "(?:the |our )?(?:new )?N (?:of|for|in|to|on) S: O -> V",
    "S(?:'s|’s) (?:new |current )?N (?:is|are|changed to|was changed to|moved to) V",
    "S (?:has|got|have|gets) (?:a|an|the|its) (?:new )?N(?: of|:| called| named)? V",
    "S: (?:new )?N(?: is|:)? V",
    "S: N (?:moved|changed), O -> V",
    "S N(?: is|:) V",
    (
        "V (?:is|became|becomes|has become|remains|was made|was named|was appointed) (?:the |our )?(?:new )?N"
        " (?:of|for|in) S"
    ),
    "we (?:have )?(?:changed|switched|moved|set|put|updated) (?:the )?N (?:of|for|in|to) S (?:from O )?to V",
    "we (?:have )?(?:made|named|appointed) V (?:the )?(?:new )?N (?:of|for) S",
    "S (?:has )?(?:changed|switched|moved) (?:its |the )?N (?:from O )?to V",
    "(?:we (?:have )?)?(?:replaced|swapped) O (?:with|by|for) V (?:as|for) (?:the )?N (?:of|in|for|to) S",
    "V (?:has )?(?:replaced|replaces|succeeds|succeeded) O as (?:the )?(?:new )?N (?:of|for) S",
)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: `statements` are sentences that tell it; a question asks for it with `asks` and any of `words`.

    `value` is what a value looks like, if any text will not do. What `is_exclusive` has one value at a time, so that
    another one contradicts it even if nobody says that something changed.
    """

    nouns: str
    statements: tuple[str, ...]
    asks: str
    words: str
    value: str = ""


_MONTH = f"(?:{'|'.join(MONTHS)})"
_BE = "(?:is|are|was|were|has been|have been|got|gets|will be|must be|should be|shall be|has to be|have to be)"
_WE = "(?:(?:we|i|ops|the team|they)(?: have| had to| will)? )?"
_LANGUAGES = (
    r"(?:the )?(?:python|cpython|pypy|node(?:\.?js)?|deno|bun|java|jdk|openjdk|jre|kotlin|scala|go|golang|ruby|php|perl"
    r"|rust|swift|elixir|erlang|typescript|javascript|dart|haskell|julia|lua|c\#|f\#|c\+\+|\.net(?: core)?|dotnet)"
    r"\b(?: (?:version )?v?\d[\w.]*)?(?: lts)?"
)
_PEOPLE = r"(?!(?:the|an?|our|my|your|this|that|these|those|we|you|they|it|i|he|she|there|who|what|which|port)\b)"
_OWNS = (
    "owns|maintains|leads|heads|manages|supervises|administers|coordinates|looks after|takes care of|cares for"
    "|takes over|took over|inherits|inherited|oversees"
)
_OWNED = "owned|maintained|led|run|managed|handled|supervised|administered|looked after|taken care of|overseen"
_HOSTED = (
    "hosted|deployed|located|housed|kept|stored|held|served|based|running|found|installed|published|available|placed"
)
_MOVED = "moved|migrated|relocated|transferred|shifted|brought|cut over|rehosted|lifted|carried|transitioned"

ATTRIBUTES: Mapping[str, Attribute] = {
    "owner": Attribute(
        nouns="(?:code |product |service |technical )?(?:owner|maintainer|lead|leader|manager|contact|contact person"
        "|person in charge|person responsible|responsible person|tech lead|team lead|caretaker|steward|head|admin"
        "|administrator|point of contact|go-to person|coordinator|responsibility|ownership)",
        statements=(
            f"V (?:has )?(?:{_OWNS}|taken over|runs|handles|drives) S(?: from O)?",
            "V (?:will|is going to|is to) (?:own|maintain|lead|run|handle|manage|take over|take care of|look after) S",
            f"V {_BE} (?:responsible|accountable|on point|the right person) for S",
            f"V {_BE} in charge of S",
            (
                "V (?:is|became|becomes) (?:the )?(?:person|one|man|woman|colleague) (?:to (?:talk to|ask|contact|see)"
                "|in charge|responsible) (?:about|for|of|on) S"
            ),
            f"S {_BE} (?:{_OWNED}) by V",
            (
                "S (?:belongs|was handed|has been handed|was given|was passed|was assigned|is assigned|was"
                " reassigned|went"
                "|passed)(?: over| on)?(?: from O)? to V"
            ),
            "S (?:is|are) V's (?:responsibility|job|baby|task|project|area)",
            "S (?:changed hands|changed owners?)[,;:] V (?:is|owns|maintains|leads|took|takes)(?: .*)?",
            "O (?:has )?(?:handed|passed|gave|transferred|turned)(?: over)? S (?:over |on )?to V",
            f"{_WE}(?:assigned|reassigned|handed|gave|passed)(?: over)? S (?:over |on )?(?:from O )?to V",
            "V (?:steps|stepped|fills) in for O (?:on|for|at|with) S",
            "V (?:succeeds|succeeded|replaces|replaced|follows|followed) O (?:on|at|for) S",
            "(?:please )?(?:ask|contact|talk to|see|ping) V (?:about|for|regarding) S",
            "questions (?:about|on|regarding) S (?:go|should go) to V",
            (
                "O (?:is not|isn't|no longer|does not|doesn't)(?: is)? ?(?:responsible for|in charge of"
                "|owns?|maintains?"
                "|leads?|runs?|looks? after) S(?: any ?more| any longer)?[,;] V (?:is|does)"
            ),
            (
                "O (?:left|stepped down|quit|retired|resigned|moved on)[^,;]*[,;] V (?:looks after|owns"
                "|maintains|leads|runs"
                "|takes over|handles|is responsible for|is in charge of|is the new \\w+ of|takes care of) S"
            ),
        ),
        asks=r"\b(?:who|whom|whose|who's|which (?:person|colleague|team|engineer|developer)|owner|maintainer"
        r"|contact)\b",
        words="own owns owner owned ownership maintain maintains maintainer maintained lead leads leader led"
        " responsible"
        " responsibility manage manages manager run runs handle handles charge ask asks talk contact speak turn person"
        " people colleague care cares look looks take takes taking head heads reach questions about keeper accountable"
        " point go-to administer oversee coordinate go bother ping",
        value=_PEOPLE + r"[^\W\d][\w.'’-]*(?: [^\W\d][\w.'’-]*){0,2}",
    ),
    "port": Attribute(
        nouns="(?:tcp |http |network |listening )?port(?: number)?",
        statements=(
            (
                "S (?:listens|runs|answers|sits|lives|serves|responds|is|is served|is running|is listening|is reachable"
                "|is reached|can be reached|is available|is exposed|is bound|binds|moved|switched|changed|was moved"
                "|was switched|was changed|was bound)(?: over)? (?:on|to|at|under|through|from port O to) (?:tcp"
                " )?port V"
            ),
            "S (?:uses|has|got|takes|occupies|exposes|binds|opens|claims) (?:tcp )?port V",
            "S (?:moved|switched|changed) from (?:port )?O to (?:port )?V",
            "S is on V instead of port O",
            "S (?:no longer|does not|doesn't) (?:listens?|runs?|answers?) on port O but on (?:port )?V",
            "(?:tcp )?port V (?:belongs to|is used by|is for|is taken by|serves|is) S",
            f"{_WE}(?:run|put|moved|expose|serve|reach) S (?:on|at|to|under) port V",
        ),
        asks=r"\bports?\b",
        words="port ports listen listens listening run runs running reach reached use uses answer answers bound bind"
        " number reachable exposed available",
        value=r"\d{2,5}",
    ),
    "runtime": Attribute(
        nouns="(?:language |runtime |interpreter |compiler |sdk )*(?:runtime|runtime version|language version"
        "|language|interpreter|toolchain|jdk)",
        statements=(
            "S (?:no longer|does not|doesn't) (?:builds?|runs?|works?) (?:with|on) O[,;] it (?:needs|requires|uses) V",
            (
                "S (?:has )?(?:dropped|drops)(?: support for)? O(?:[,;] | and )(?:build it with|it needs|it requires"
                "|it uses|needs|requires|uses|runs on) V"
            ),
            "S (?:runs|uses|targets|requires|needs|has|supports only)(?: at least| on| with)? V",
            "S (?:runs|is|sits|lives|builds|compiles) (?:on|with|against|under) (?:at least )?V",
            (
                f"S {_BE} (?:built|compiled|written|coded|developed|implemented|programmed|tested)"
                " (?:with|against|in|for|on) V"
            ),
            (
                f"S (?:{_BE} |has )?(?:upgraded|updated|bumped|ported|moved|switched|migrated|rolled back|downgraded"
                "|converted|rewritten)(?: on| over| back)?(?: from O)? (?:to|in|onto) V"
            ),
            "S: V",
            "S (?:got|received|had) an? (?:update|upgrade) to V",
            "S (?:went|goes) (?:back )?(?:from O )?to V",
            (
                f"{_WE}(?:upgraded|updated|bumped|ported|moved|switched|migrated|rolled|downgraded|converted"
                f"|upgrade|bump"
                "|update) S (?:back )?(?:from O )?to V"
            ),
            f"{_WE}(?:build|run|compile|test|develop) S (?:with|on|against|under) V",
            "S is done with O[,;] V is (?:required|needed|used)",
            "V is (?:the )?(?:required|needed|used)(?: version)? (?:for|by|in) S",
        ),
        asks=r"\b(?:runtimes?|version|built|compiled|written|language|interpreter|build|programming)\b",
        words="runtime version language built compiled written need needs run runs use uses using target require"
        " requires interpreter programming build implemented",
        value=_LANGUAGES,
    ),
    "licence": Attribute(
        nouns="(?:software |source )?licen[cs]e",
        statements=(
            (
                f"S {_BE} (?:re)?(?:licen[cs]ed|published|released|distributed|available|shipped|open-sourced|put)"
                " under (?:the )?V"
            ),
            "S (?:is|are) under (?:the )?V",
            f"{_WE}(?:re)?(?:licen[cs]e|licen[cs]ed|published|publish|released|release) S under (?:the )?V",
        ),
        asks=r"\b(?:re)?licen[cs](?:e|ed|es|ing)\b",
        words="licence license licensed licences published publish released under terms",
    ),
    "login": Attribute(
        nouns="(?:user )?(?:login|log-in|logins|sign-in|sign-on|authentication|auth|authorisation|login method"
        "|authentication method|identity provider)",
        statements=(
            (
                "(?:users|people|customers|everybody|everyone|you|one|employees|we|staff|they|admins) (?:log"
                "|sign|logs|signs"
                "|authenticate|authenticates)(?: in| on)?(?: to| into| at| on| against)* S (?:with|via|through"
                "|using|by) V"
            ),
            (
                "S (?:authenticates|identifies)(?: people| users| its users| customers| everybody)?"
                " (?:with|via|through|against|using|by) V"
            ),
            (
                "(?:the |our )?N (?:to|in|for|of|on|at) S (?:works|goes|runs|is done|happens|is|is handled)"
                "(?: only)? (?:with|via|through|by|over|using) V"
            ),
            "S (?:uses|relies on|has|requires|needs) V (?:for|as) (?:its |the )?N",
            "S (?:has )?(?:switched|moved|changed)(?: over)? to V for (?:the |its )?N",
            "for (?:the )?N,? S (?:uses|relies on|has|requires) V",
        ),
        asks=r"\b(?:log(?:s|ging)?[ -]?(?:in|on)|logins?|sign(?:s|ing)?[ -]?(?:in|on)|authenticat\w+|auth)\b",
        words="log logs login logging sign signs signing authenticate authenticates authentication auth users user"
        " people one use uses in on method provider identity access",
    ),
    "name": Attribute(
        nouns="name",
        statements=(
            f"S (?:{_BE} )?(?:no longer called O but V)",
            f"S {_BE} (?:called|named|known as|titled|dubbed) V",
            "S (?:goes by|carries the name|bears the name|has the name|got the name|has the new name)(?: the name)? V",
            f"S (?:{_BE} )?(?:renamed|rebranded)(?: from O)? (?:to|as|into) V",
            f"S (?:{_BE} )?renamed: O -> V",
            r"S (?:is|are) V \((?:was|formerly|previously|before) O\)",
            "O is gone[,;] S (?:is|are) (?:called|named) V",
            "S: (?:the |its )?P (?:is|are) (?:called|named) V",
            "V is (?:the|our) S (?:of|for) P",
            f"{_WE}(?:call|named|name|dubbed|christened) S V",
            f"{_WE}(?:renamed|rename|rebranded) S (?:from O )?(?:to|as|into) V",
            f"{_WE}gave S the (?:new )?name V",
        ),
        asks=r"\b(?:name|named|called|call|title)\b",
        words="name named names called call title under find known go goes new",
        value=r"(?!(?:the|an?|it|this|that|what|there|here)\b)[#@]?\w[\w./-]*(?: [\w./-]+)?",
    ),
    "date": Attribute(
        nouns="(?:due |start |new |target )?(?:date|day|deadline|appointment|slot|time)",
        statements=(
            (
                "S (?:is not|isn't|won't be|will not be|is no longer|does not take place) on O[,;]? (?:but |it"
                " is |it's |it"
                " will be )?(?:on )?V"
            ),
            (
                f"S (?:{_BE} |takes place |happens |starts |begins |falls )?(?:set |due |planned |scheduled "
                f"|fixed |booked"
                " )?(?:on|for|at|by) V"
            ),
            (
                f"S (?:{_BE} |had to be |has )?(?:postponed|delayed|deferred|rescheduled|moved|pushed|shifted"
                f"|extended|put"
                "|brought|slipped|adjourned|advanced)(?: off| back| forward| out| up)?(?: from O)? (?:to|until"
                "|till|for|by"
                "|on) V"
            ),
            (
                f"{_WE}(?:postpone|postponed|delay|delayed|defer|deferred|reschedule|rescheduled|move|moved|push"
                f"|pushed|are"
                " moving|shift|shifted) S(?: off| back| forward| out| up)? (?:from O )?(?:to|until|till|for|on) V"
            ),
            "(?:rescheduled|postponed|delayed|moved|change of plan)[:,] S (?:is|are|takes place) (?:on|for|at) V",
            f"{_WE}(?:do|have|hold) S (?:on )?V",
            "S (?:is|are|happens|takes place|starts) (?:always )?(?:on )?V",
            "S: V",
        ),
        asks=r"\b(?:when|date|day|deadline|what time)\b",
        words="when date day days deadline planned scheduled schedule happen happens happening take place due set time"
        " start starts begin begins held",
        value=rf"(?:the )?(?:(?:every |each |next )?(?:{'|'.join(WEEKDAYS)})s?"
        r"(?: at \d{1,2}(?:[:.]\d\d)?(?: ?[ap]m)?)?|\d{1,2}:\d\d|\d{1,2} ?[ap]m|q[1-4](?: \d{4})?|week \d{1,2}"
        rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?"
        rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{4}}-\d\d-\d\d)",
    ),
    "retention": Attribute(
        nouns="(?:data )?retention(?: time| period)?",
        statements=(
            f"S {_BE} (?:kept|retained|stored|held|saved|archived|preserved)(?: for)? V",
            f"S (?:{_BE} |get )?(?:deleted|removed|purged|erased|wiped|dropped) after V",
            "S (?:stay|stays|live|lives|remain|remains) for V",
            "S (?:keeps|stores|holds|retains|saves|archives) (?:its |the |all )?P for V",
            f"{_WE}(?:keep|store|hold|retain|save|archive|extended) S (?:for )?V",
            "in S,? P (?:are|is) (?:kept|retained|stored)(?: for)? V",
            f"S {_BE} no longer (?:kept|retained|stored) for O but for V",
        ),
        asks=r"\b(?:how long|retention|retained|kept|deleted|removed|purged)\b",
        words="long retention retained retain kept keep keeps store stored stores hold time period deleted"
        " delete removed"
        " purged after days",
        value=r"(?:(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|eighteen)"
        r" (?:minute|hour|day|week|month|quarter|year)s?|forever)",
    ),
    "tool": Attribute(
        nouns="",
        statements=(
            (
                "S (?:uses|has|keeps|relies on|runs|employs|is using|(?:is|was) built (?:around|on)|works with|adopted"
                "|has adopted|chose|picked|takes) V (?:for|as) P"
            ),
            "S stopped using O (?:for|as) P and uses V",
            "S (?:has )?(?:switched|moved|changed|migrated|went)(?: over)? (?:from O )?to V (?:for|as) P",
            "for P,? S (?:uses|relies on|has|chose|picked|(?:went|switched) (?:from O )?to) V",
            "(?:in|on|for) S,? we (?:use|chose|picked|rely on|have|went with|are on) V (?:for|as) P",
            "we (?:use|chose|picked|rely on|have|went with|are on) V (?:for|as) P (?:in|on) S",
            f"{_WE}(?:replaced|swapped|exchanged) O (?:with|by|for) V (?:for|as) P (?:in|on) S",
            f"{_WE}(?:replaced|swapped|exchanged) O (?:with|by|for) V in S \\((?:for|as) P\\)",
            f"{_WE}(?:ripped out|dropped|removed|retired|threw out|gave up) O[:;,] S (?:uses|has) V (?:for|as) P",
            (
                "S (?:has )?(?:moved away from|dropped|left|given up|gave up) O[,;] (?:we use|it uses|we have) V"
                " (?:for|as) P"
            ),
            "V (?:does|handles) P (?:in|of|for) S",
            "(?:the )?P (?:in|of) S (?:is|are) (?:done|handled|built|made) (?:with|by) V",
            f"{_WE}(?:switched|moved|migrated|ported) (?:the )?P (?:in|of) S (?:over )?(?:from O )?to V",
            "S: V (?:for|as) P",
        ),
        asks=r"\b(?:us(?:e|es|ed|ing)|technology|product|tool|library|choose|chose|chosen|picked|have|does)\b",
        words="use uses used using technology product tool library choose chose chosen picked pick do does have"
        " has rely"
        " software service which what for as in",
        value=r"(?!the\b|an?\b|it\b|our\b)[^\s,;:()]+(?: [^\s,;:()]+){0,2}?",
    ),
    "place": Attribute(
        nouns="(?:production |hosting |deployment )?(?:hosting|host|home|location|place|region|provider|hosting"
        " provider"
        "|environment|production environment|deployment target|address|venue|room|data cent(?:re|er)|headquarters)",
        statements=(
            (
                f"(?:production of |production for |the production (?:instance|environment|deployment) of )?S {_BE}"
                f" (?:{_HOSTED})(?: only)? (?:on|at|in|by|to|with|from|inside|under) V"
            ),
            (
                f"S (?:{_BE} |has |have )?(?:{_MOVED}) (?:off|away from|out of) O and (?:live|lives|run|runs|is|are)"
                " (?:on|in|at) V"
            ),
            (
                "S (?:runs|lives|sits|resides|stays|stands|operates|works|takes place|happens|live|run) (?:on|at"
                "|in|inside"
                "|from) V"
            ),
            "S (?:goes|go|belongs|belong|is to go|must go) (?:in|into|onto) V",
            "(?:production of |production for )S (?:is|runs)(?: on| in| at)? V",
            f"S (?:{_BE} |has |have )?(?:{_MOVED}) (?:off|away from|out of) O (?:and )?(?:onto|into|to|on|in) V",
            f"S (?:{_BE} |has |have )?(?:{_MOVED})(?: over| across| down| up| on)? (?:from O )?(?:to|into|onto|in) V",
            f"S {_BE} off O and on V",
            f"{_WE}(?:{_MOVED}) S (?:off|away from|out of) O (?:and )?(?:onto|into|to|on|in) V",
            f"{_WE}(?:{_MOVED}|move|migrate|relocate|put) S (?:over |across )?(?:from O )?(?:to|into|onto|on|in) V",
            f"{_WE}(?:host|deploy|run|keep|store|serve|hold|put) S (?:on|at|in|to|from) V",
            (
                "(?:the )?(?:migration|move|relocation|switch|cutover)(?: (?:complete|done|finished|over))?(?: of|:) S"
                "(?: ->| to) V(?: (?:is|was) (?:done|complete|completed|finished|over))?"
            ),
            "you (?:will|can|'ll) find S (?:on|at|in) V",
            "V is where S (?:runs|lives|sits|is|is hosted|is deployed|happens|takes place)",
            "V hosts S",
            "(?:we|they) meet (?:in|at|on) V for S",
            "(?:we|they) no longer meet (?:in|at|on) O for S but (?:in|at|on) V",
            "S (?:left|quit) O and (?:runs|lives|works|is) (?:on|in|at) V",
            (
                "S (?:is|are) no longer (?:on|in|at) O[,;] (?:we host it|it runs|it is|we run it|it lives|but)(?: now)?"
                " (?:on|in|at) V"
            ),
            "S (?:no longer runs|no longer lives) (?:on|in|at) O[,;] it (?:runs|lives|is) (?:on|in|at) V",
            f"{_WE}shut down O for S[,;] it (?:runs|is|lives) (?:on|in|at) V",
            "(?:decision: )?host S on V",
            "S (?:is|are) (?:on|in|at) V",
        ),
        asks=r"\b(?:where|hosting|hosts?|hosted|deployed|infrastructure|provider|location|located|room|region|venue"
        r"|place|run on|running on)\b",
        words="where host hosts hosted hosting deploy deployed run runs running live lives production infrastructure"
        " provider place location located meet held hold find sit sits server machine cloud data centre center cluster"
        " room region kept keep stored on in environment venue",
        value=r"(?!(?:\d|hold$|progress|review|beta$|use$|call$|port\b|fire$|vacation|holiday|time$|track$|place$|"
        r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may\b|june|july|august"
        r"|september|october|november|december))[^,;()]+?",
    ),
}
# Attributes whose values are told from each other by what they look like come first: what runs on port 80, and what
# runs on Python, is not where something runs.
READ_FIRST = ("port", "runtime", "date", "retention", "owner", "licence", "login", "tool", "name", "place")
