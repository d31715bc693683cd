// Command gen makes ../catalogue.tsv, the embedded model catalogue, from a models.dev catalogue
// (https://models.dev/api.json, MIT). Its argument is the path of that file:
//
//	go run ./gen -in api.json -out catalogue.tsv
//
// Facts that the source lacks are in catalogue_extra.tsv, which is written by hand.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm/modelsdev"
)

func main() {
	log.SetFlags(0)
	in := flag.String("in", "", "the models.dev catalogue (api.json)")
	out := flag.String("out", "catalogue.tsv", "the file to write")
	flag.Parse()
	if *in == "" {
		log.Fatal("gen: -in is missing: give the place of a models.dev api.json")
	}
	if err := run(*in, *out); err != nil {
		log.Fatal("gen: ", err)
	}
}

func run(in, out string) error {
	raw, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	lines, missing, err := modelsdev.Convert(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s lacks %s", in, strings.Join(missing, ", "))
	}
	return os.WriteFile(out, lines, 0o644)
}
