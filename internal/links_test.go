package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// linkedGolden holds the external packages that the program links, so that a new one, which costs size
// and start-up time, shows in review.
const linkedGolden = "testdata/linked.txt"

type listed struct {
	ImportPath string
	Standard   bool
	Module     *struct {
		Path, Dir string
		Main      bool
	}
}

// linked asks the go command for the packages of the released program. The list is of Linux on amd64 without
// cgo, whatever the machine, so that the golden file is the same everywhere.
func linked(t *testing.T) []listed {
	t.Helper()
	if testing.Short() {
		t.Skip("asks the go command for all dependencies")
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Module", "./cmd/lathe")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// external keeps the packages of other modules.
func external(all []listed) []listed {
	return slices.DeleteFunc(all, func(p listed) bool { return p.Standard || p.Module == nil || p.Module.Main })
}

func TestProgramLinksNoPackageForTests(t *testing.T) {
	for _, p := range linked(t) {
		if p.ImportPath == "testing" || strings.HasPrefix(p.ImportPath, "testing/") {
			t.Errorf("cmd/lathe links %s, which registers flags and costs size: move what imports it to a package for tests",
				p.ImportPath)
		}
	}
}

func TestProgramLinksNothingOfTheFleet(t *testing.T) {
	for _, p := range linked(t) {
		if strings.Contains(p.ImportPath, "nats-io/") || strings.HasPrefix(p.ImportPath, modulePath+"/internal/fleet") {
			t.Errorf("cmd/lathe links %s: the fleet is a program of its own, for its size", p.ImportPath)
		}
	}
}

func TestProgramLinksOnlyTheListedPackages(t *testing.T) {
	var paths []string
	for _, p := range external(linked(t)) {
		paths = append(paths, p.ImportPath)
	}
	slices.Sort(paths)
	got := strings.Join(paths, "\n") + "\n"
	if *update {
		if err := os.WriteFile(linkedGolden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(linkedGolden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("cmd/lathe links other packages than %s (-want +got); if that is meant, run go test ./internal -run "+
			"Links -update\n%s", linkedGolden, diff)
	}
}

// licences that allow a static MIT-licensed binary, by words of their text. The order matters: the
// longer texts quote the shorter ones. MPL-2.0 binds only its own files: unmodified, a link to them does.
var licences = []struct{ name, words string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"BSD", "Redistribution and use in source and binary forms"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose"},
	{"MIT", "Permission is hereby granted, free of charge"},
}

func TestLinkedModulesHaveLicencesThatAllowIt(t *testing.T) {
	rows := documentedLicences(t)
	seen := map[string]bool{}
	for _, p := range external(linked(t)) {
		if seen[p.Module.Path] {
			continue
		}
		seen[p.Module.Path] = true
		got := licenceOf(t, p.Module.Dir)
		if got == "" {
			t.Errorf("%s: no licence in %s that is known to allow a static binary", p.Module.Path, p.Module.Dir)
		}
		if want, ok := rows[p.Module.Path]; ok && want != got {
			t.Errorf("%s: docs/dependencies.md says %s, its licence file is %s", p.Module.Path, want, got)
		}
	}
}

func licenceOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "[LlCc][IiOo][CcPp]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // a folder of licences; its files do not decide
		}
		flat := strings.Join(strings.Fields(string(text)), " ")
		for _, l := range licences {
			if strings.Contains(flat, l.words) {
				return l.name
			}
		}
	}
	return ""
}

// documentedLicences reads the second column of docs/dependencies.md.
func documentedLicences(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(readFile(t, "docs/dependencies.md")) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") && len(cells) > 3 {
			out[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
		}
	}
	return out
}
