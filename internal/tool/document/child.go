package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"
)

func init() {
	if len(os.Args) == 3 && os.Args[1] == ChildArg {
		os.Exit(child(os.Args[2]))
	}
}

// child carries out the order in a process of its own.
func child(order string) int {
	limitSelf()
	debug.SetMemoryLimit(memoryMax * 3 / 4)
	go watch()
	var r Request
	a := &Answer{}
	err := json.Unmarshal([]byte(order), &r)
	if err == nil {
		a, err = perform(r, os.Stdin)
	}
	if err != nil {
		a = &Answer{Error: err.Error()}
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		return 1
	}
	return 0
}

// perform reads the file. A panic of a reader is an error of the file.
func perform(r Request, f *os.File) (a *Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its reader failed (%v), so the file is damaged or hostile", p)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	switch r.Kind {
	case "image":
		return shrink(f, r)
	case "whole":
		return whole(f)
	case "page":
		return pageImage(f, info.Size(), r)
	case "pdf":
		return readPDF(f, info.Size(), r)
	case "list":
		return list(f, info.Size())
	}
	return nil, errors.New("unknown kind")
}

// watch ends the process when it takes too much memory.
func watch() {
	for ; ; time.Sleep(5 * time.Millisecond) {
		if resident() > memoryMax {
			os.Exit(exitMemory)
		}
	}
}
