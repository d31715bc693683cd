python3 - <<'END'
import hashlib, json
assert json.load(open("output.json", encoding="utf-8")) == {"Bar": {"Name": "Müller"}, "foo": {"x": "1", "y": "two words"}}
assert hashlib.sha256(open("convert", "rb").read()).hexdigest() == open("/tests/convert.sha256").read().strip()
END
printf '[q]\na = b\n' > /tests/q.ini
python3 ./convert /tests/q.ini /tests/q.json
python3 -c 'import json; assert json.load(open("/tests/q.json")) == {"q": {"a": "b"}}'
