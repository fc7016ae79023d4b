"""Compares what was said on one kernel with what is expected of it, and prints table rows.

judge.py EXPECTED UNABLE KERNEL VARIANT USERS LOG
UNABLE lists the attacks that cannot be tried on a variant, each with the reason.
Exit code: 0 as expected, 1 not.
"""
import base64
import json
import re
import sys


def said(log):
    """What each command of each user said: (exit code, stdout, stderr, release)."""
    found = {}
    for head, body in re.findall(r"^@@said ([^\n]*)\n(.*?)^@@end", log, re.M | re.S):
        user, name, code, release = head.split()
        out, _, err = base64.b64decode(body).decode(errors="replace").partition("@@stderr\n")
        found[user, name] = int(code), out, err, release
    return found


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return {}


def tried(said, unable):
    """The cell of the attacks, and what is not as expected: all pass but those listed, which do not."""
    code, out, err, _ = said
    result = re.search(r"(\d+) passed; (\d+) failed", out)
    if not result:
        return "no end", [f"attacks: {code}: {(out + err).strip()[-300:]}"]
    ended = dict(re.findall(r"^test (\S+) \.\.\. (\w+)$", out, re.M))
    failed = set(re.findall(r"^    ([\w:]+)$", out.rpartition("\nfailures:\n")[2], re.M)) if code else set()
    wrong = [f"attacks: {name} failed" for name in sorted(failed - unable)]
    wrong += [f"attacks: {name} is listed and passes" for name in sorted(unable & ended.keys() - failed)]
    if not ended or int(result[1]) + len(failed) != len(ended):
        wrong.append(f"attacks: {len(ended)} began, {result[0]}")
    listed = len(failed & unable)
    return f"{result[1]} held" + (f", {listed} not tried" if listed else ""), wrong


def judged(row, found, unable):
    """The cells of a table row, and what is not as expected."""
    kernel, variant, user, abi, refused, unheld = row
    wrong = []
    code, out, err, release = found.get((user, "doctor"), (None, "", "no word", "?"))
    doctor = parsed(out)
    if not doctor:
        return [release, variant, user, "?", "?", "?"], [f"doctor: {code}: {err.strip()[-300:]}"]
    explained = parsed(found.get((user, "explain"), (None, "", "", ""))[1])
    got_abi = str(doctor["machine"]["landlock_abi"] or "-")
    got_refused = doctor["refused"]["code"] if doctor["refused"] else "-"
    by = {}
    for promise in doctor["promises"]:
        by.setdefault(promise["verdict"], []).append(promise["id"])
    got_unheld = ",".join(by.get("unheld", [])) or "-"
    for what, got, wanted in (("ABI", got_abi, abi), ("refused", got_refused, refused), ("not held", got_unheld, unheld)):
        if got != wanted:
            wrong.append(f"{what}: {got}, not {wanted}")
    for promise in doctor["promises"]:
        through = [
            f"{attack['text']} ({seen['run']}: {seen['detail']})"
            for attack in promise["attacks"] for seen in attack["confined"] if seen["result"] == "succeeded"
        ]
        if promise["verdict"] == "broken":
            wrong.append(f"{promise['id']} broken: {'; '.join(through)}")
        # One claim too few: it is given up, and nothing got through.
        if promise["verdict"] == "unheld" and not through:
            wrong.append(f"{promise['id']} is not held, and no attack got through")
        if promise["verdict"] == "unshown":
            wrong.append(f"{promise['id']}: no attack works alone")
        if promise["verdict"] == "unknown":
            wrong.append(f"{promise['id']}: an attack was not seen to its end")
    sound = refused == "-" and unheld == "-"
    if (code == 0) != sound:
        wrong.append(f"doctor ended with {code}")
    # What `explain` says of a server that gave nothing up.
    if refused == "-":
        states = {promise["id"]: promise["state"] for promise in explained.get("promises", [])}
        claims = ",".join(name for name, state in states.items() if state == "unheld") or "-"
        if claims != unheld:
            wrong.append(f"explain: not held: {claims}")
    elif "error" in explained and explained["error"]["code"] != refused:
        wrong.append(f"explain: {explained['error']['code']}")
    attacks = "-"
    if (user, "attacks") in found:
        attacks, more = tried(found[user, "attacks"], unable)
        wrong.extend(more)
    held = len(by.get("held", []))
    shown = f"{held} held" if refused == "-" else got_refused
    return [release, variant, user, got_abi, shown, got_unheld, attacks], wrong


def main():
    expected, unable, kernel, variant, users, log = sys.argv[1:]
    found = said(open(log, errors="replace").read())
    failed = False
    rows = [line.rstrip("\n").split("\t") for line in open(unable) if not line.startswith("#")]
    for line in open(expected):
        row = line.rstrip("\n").split("\t")
        if line.startswith("#") or row[:2] != [kernel, variant] or row[2] not in users.split(","):
            continue
        names = {name for of, user, name, _ in rows if of == variant and user in (row[2], "all")}
        cells, wrong = judged(row, found, names)
        print("| " + " | ".join(cells) + " |", flush=True)
        for what in wrong:
            print(f"    not as expected: {what}")
        failed = failed or bool(wrong)
    sys.exit(failed)


main()
