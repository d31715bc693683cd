#!/bin/sh
# A tool for lathe: prints how much space the current folder takes.
if [ "$1" = --describe ]; then
	cat <<'JSON'
{
  "name": "NAME",
  "description": "Show how much disk space the files of the working folder take.",
  "input_schema": {"type": "object", "properties": {}},
  "accesses": [{"kind": "read", "value": "."}],
  "timeout": 60
}
JSON
	exit
fi

# The input of the call is one JSON object on stdin: read it with jq. What is printed is the result;
# an exit code other than 0 makes it an error.
du -sh .
