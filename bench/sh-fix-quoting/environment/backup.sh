#!/bin/bash
# usage: backup.sh LIST FOLDER
mkdir -p $2
for f in `cat $1`; do
	cp $f $2
done
