#!/bin/bash
set -e
cd /app
python3 - <<'END'
import zlib
body = "indent=2\nencoding=utf-8\n"
open("convert.conf", "w").write("sum=%08x\n%s" % (zlib.crc32(body.encode()), body))
END
python3 ./convert input.ini output.json
