//go:build !linux

package document

func limitSelf() {}

func resident() int64 { return heap() }
