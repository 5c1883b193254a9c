"""What a model understands of each language: `python -m benchmarks.languages [FOLDER]`.

Twelve notes and twelve questions that share hardly a word with them, in six languages. A figure is the share of
questions whose nearest note by meaning alone is the right one, among the notes of the same language and among the
English ones; guessing would be right in 8 %. FOLDER is a model of your own (docs/use/embedding.md); without it the
built-in one is measured.
"""

from __future__ import annotations

import sys
from pathlib import Path

from commonplace.embed import Embedder
from commonplace.embed.model_files import FolderEmbedder, MiniLM

NOTES = {
    "English": (
        "Customers are charged on the first of each month.",
        "Passwords need at least twelve letters.",
        "Photos are resized before they are uploaded.",
        "The database is copied every night.",
        "Nobody deploys on Fridays.",
        "Sessions end after thirty days.",
        "Anna is allergic to nuts.",
        "The office moves to Hamburg in June.",
        "We chose PostgreSQL because several machines write at once.",
        "The dog has to see the vet on Tuesday.",
        "The tests run for ten minutes.",
        "Our train leaves at half past seven.",
    ),
    "German": (
        "Kunden werden am Ersten jedes Monats belastet.",
        "Passwörter brauchen mindestens zwölf Zeichen.",
        "Fotos werden verkleinert, bevor sie hochgeladen werden.",
        "Die Datenbank wird jede Nacht kopiert.",
        "Freitags wird nichts ausgeliefert.",
        "Sitzungen enden nach dreißig Tagen.",
        "Anna verträgt keine Nüsse.",
        "Das Büro zieht im Juni nach Hamburg.",
        "Wir haben PostgreSQL gewählt, weil mehrere Rechner gleichzeitig schreiben.",
        "Der Hund muss am Dienstag zum Tierarzt.",
        "Die Tests laufen zehn Minuten.",
        "Unser Zug fährt um halb acht.",
    ),
    "Spanish": (
        "A los clientes se les cobra el primer día de cada mes.",
        "Las contraseñas necesitan al menos doce caracteres.",
        "Las fotos se reducen antes de subirlas.",
        "La base de datos se copia todas las noches.",
        "Los viernes nadie despliega nada.",
        "Las sesiones terminan a los treinta días.",
        "Anna es alérgica a las nueces.",
        "La oficina se muda a Hamburgo en junio.",
        "Elegimos PostgreSQL porque varias máquinas escriben a la vez.",
        "El perro tiene que ir al veterinario el martes.",
        "Las pruebas tardan diez minutos.",
        "Nuestro tren sale a las siete y media.",
    ),
    "French": (
        "Les clients sont débités le premier de chaque mois.",
        "Les mots de passe ont au moins douze caractères.",
        "Les photos sont réduites avant leur envoi.",
        "La base de données est copiée chaque nuit.",
        "On ne déploie rien le vendredi.",
        "Les sessions se terminent après trente jours.",
        "Anna ne supporte pas les noix.",
        "Le bureau déménage à Hambourg en juin.",
        "Nous avons choisi PostgreSQL parce que plusieurs machines écrivent en même temps.",
        "Le chien doit aller chez le vétérinaire mardi.",
        "Les tests durent dix minutes.",
        "Notre train part à sept heures et demie.",
    ),
    "Chinese": (
        "每月一号向客户收费。",
        "密码至少需要十二个字符。",
        "照片上传前会先缩小。",
        "数据库每天夜里都会复制。",
        "星期五不发布任何东西。",
        "会话三十天后结束。",
        "安娜对坚果过敏。",
        "办公室六月搬到汉堡。",
        "我们选择PostgreSQL是因为有多台机器同时写入。",
        "狗星期二要去看兽医。",
        "测试要运行十分钟。",
        "我们的火车七点半开。",
    ),
    "Japanese": (
        "顧客への請求は毎月一日に行われます。",
        "パスワードは十二文字以上必要です。",
        "写真はアップロードの前に縮小されます。",
        "データベースは毎晩コピーされます。",
        "金曜日には何もデプロイしません。",
        "セッションは三十日で終了します。",
        "アンナはナッツアレルギーです。",
        "事務所は六月にハンブルクへ移ります。",
        "複数の機械が同時に書き込むのでPostgreSQLを選びました。",
        "犬は火曜日に獣医に行かなければなりません。",
        "テストには十分かかります。",
        "私たちの電車は七時半に出ます。",
    ),
}
QUESTIONS = {
    "English": (
        "When do people have to pay?",
        "How long must my secret for logging in be?",
        "What happens to pictures?",
        "Is there a backup?",
        "When are releases forbidden?",
        "How long does a login last?",
        "What must our guest not eat?",
        "Where will we work this summer?",
        "Why not SQLite?",
        "When is the appointment for the pet?",
        "How slow is the continuous integration?",
        "What time do we depart?",
    ),
    "German": (
        "Wann muss man zahlen?",
        "Wie lang muss mein Kennwort sein?",
        "Was passiert mit Bildern?",
        "Gibt es eine Sicherung?",
        "Wann sind Veröffentlichungen verboten?",
        "Wie lange bleibt man angemeldet?",
        "Was darf unser Gast nicht essen?",
        "Wo arbeiten wir im Sommer?",
        "Warum nicht SQLite?",
        "Wann ist der Termin für das Haustier?",
        "Wie langsam ist die Prüfung des Codes?",
        "Wann ist die Abreise?",
    ),
    "Spanish": (
        "¿Cuándo hay que pagar?",
        "¿Qué longitud debe tener mi clave?",
        "¿Qué pasa con las imágenes?",
        "¿Hay una copia de seguridad?",
        "¿Cuándo están prohibidas las publicaciones?",
        "¿Cuánto tiempo sigue uno conectado?",
        "¿Qué no debe comer nuestra invitada?",
        "¿Dónde trabajaremos este verano?",
        "¿Por qué no SQLite?",
        "¿Cuándo es la cita de la mascota?",
        "¿Qué lenta es la integración continua?",
        "¿A qué hora viajamos?",
    ),
    "French": (
        "Quand faut-il payer ?",
        "Quelle longueur doit avoir mon code secret ?",
        "Que deviennent les images ?",
        "Y a-t-il une sauvegarde ?",
        "Quand les mises en production sont-elles interdites ?",
        "Combien de temps reste-t-on connecté ?",
        "Qu'est-ce que notre invitée ne doit pas manger ?",
        "Où travaillerons-nous cet été ?",
        "Pourquoi pas SQLite ?",
        "Quand est le rendez-vous de l'animal ?",
        "L'intégration continue est-elle lente ?",
        "À quelle heure voyageons-nous ?",
    ),
    "Chinese": (
        "什么时候要付钱？",
        "口令要多长？",
        "图片会怎么处理？",
        "有备份吗？",
        "哪天禁止上线？",
        "登录能保持多久？",
        "我们的客人不能吃什么？",
        "今年夏天我们在哪里上班？",
        "为什么不用SQLite？",
        "宠物的预约是什么时候？",
        "持续集成有多慢？",
        "我们几点出发？",
    ),
    "Japanese": (
        "いつ支払わなければなりませんか？",
        "暗証の長さはどれくらい必要ですか？",
        "画像はどうなりますか？",
        "バックアップはありますか？",
        "リリースが禁止されているのはいつですか？",
        "ログインはどのくらい続きますか？",
        "お客さんが食べてはいけないものは何ですか？",
        "この夏はどこで働きますか？",
        "なぜSQLiteではないのですか？",
        "ペットの予約はいつですか？",
        "継続的インテグレーションはどれくらい遅いですか？",
        "何時に出発しますか？",
    ),
}


def figures(model: Embedder) -> list[tuple[str, float, float]]:
    """Of each language the share of questions answered from notes of the same language, and from English ones."""
    notes = {language: model.embed(texts) for language, texts in NOTES.items()}

    def right(language: str, of: str) -> float:
        # Some models read questions differently from what answers them.
        ask = getattr(model, "embed_query", lambda text: model.embed([text])[0])
        nearest = [int((notes[of] @ ask(text)).argmax()) for text in QUESTIONS[language]]
        return sum(place == note for place, note in enumerate(nearest)) / len(nearest)

    return [(language, right(language, language), right(language, "English")) for language in NOTES]


if __name__ == "__main__":
    chosen: Embedder = FolderEmbedder(Path(sys.argv[1]).expanduser()) if len(sys.argv) > 1 else MiniLM()
    print(f"{chosen.name:28} {'same language':>14} {'English notes':>14}")
    for language, same, english in figures(chosen):
        print(f"{language:28} {same:>14.0%} {english:>14.0%}")
