package lsp

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func putProgram(t *testing.T, path string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("#!/bin/sh\n"),
		0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProgramsOfTheProjectRunOnlyInATrustedFolder(t *testing.T) {
	bin, top := t.TempDir(), t.TempDir()
	root := filepath.Join(top, "web")
	usual := putProgram(t, filepath.Join(bin, "server"))
	own := putProgram(t, filepath.Join(top, "node_modules", ".bin", "server"))
	nearer := putProgram(t, filepath.Join(root, ".venv", "bin", "nearer"))
	inPath := putProgram(t, filepath.Join(top, "bin", "hidden"))
	trusted, confined := false, true
	environ := []string{"PATH=relative" + string(os.PathListSeparator) + filepath.Dir(inPath) +
		string(os.PathListSeparator) + bin}
	newPool := func() *Pool {
		return New(Options{
			Environ: func() []string { return environ }, Trusted: func() bool { return trusted },
			Confined: func() bool { return confined },
		})
	}
	p := newPool()
	find := func(program string, data bool) (string, error) {
		argv, err := p.program(&Definition{Name: program, Command: []string{program, "--stdio"}, Data: data}, root, top)
		if err != nil {
			return "", err
		}
		if !slices.Equal(argv[1:], []string{"--stdio"}) {
			t.Errorf("%s: arguments %q", program, argv[1:])
		}
		return argv[0], nil
	}
	for _, tt := range []struct {
		program           string
		trusted, confined bool
		data              bool
		want              string
		err               error
	}{
		{"server", false, true, false, usual, nil},
		{"server", true, true, false, own, nil}, // what was found before the trust does not count any more
		{"nearer", false, true, false, "", errNotInstalled},
		{"nearer", true, true, false, nearer, nil},
		{"hidden", false, true, false, "", errNotInstalled}, // PATH leads into the project
		{"hidden", true, true, false, inPath, nil},
		{"./web/.venv/bin/nearer", false, true, false, "", errNotInstalled},
		{"./web/.venv/bin/nearer", true, true, false, "", errNotInstalled},
		{"server", false, false, true, usual, nil}, // it runs no code of the project
	} {
		trusted, confined = tt.trusted, tt.confined
		if got, err := find(tt.program, tt.data); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s, trusted %v: %q, %v; want %q, %v", tt.program, tt.trusted, got, err, tt.want, tt.err)
		}
	}
	trusted, confined, p = false, false, newPool()
	if got, err := find("server", false); !errors.Is(err, errNotTrusted) {
		t.Errorf("code of the project without a sandbox: %q, %v", got, err)
	}
}

func TestAProgramThatIsNotThereIsLookedForAgainLater(t *testing.T) {
	bin := t.TempDir()
	p := New(Options{
		Environ: func() []string { return []string{"PATH=" + bin} }, Trusted: func() bool { return true },
		Confined: func() bool { return true },
	})
	d := &Definition{Name: "late", Command: []string{"late"}}
	if _, err := p.program(d, bin, bin); !errors.Is(err, errNotInstalled) {
		t.Fatal(err)
	}
	path := putProgram(t, filepath.Join(bin, "late"))
	if _, err := p.program(d, bin, bin); !errors.Is(err, errNotInstalled) {
		t.Errorf("looked for at once again: %v", err)
	}
	for key, l := range p.found {
		l.at = l.at.Add(-lookAgain)
		p.found[key] = l
	}
	if argv, err := p.program(d, bin, bin); err != nil || argv[0] != path {
		t.Errorf("a minute later: %q, %v", argv, err)
	}
}

func TestTheProjectChoosesNoProgramOfAVersionManagerBeforeItIsTrusted(t *testing.T) {
	bin, top := t.TempDir(), t.TempDir()
	rustup := putProgram(t, filepath.Join(bin, "rustup"))
	linked, second := filepath.Join(bin, "rust-analyzer"), filepath.Join(bin, "rls")
	if err := errors.Join(os.Symlink("rustup", linked), os.Link(rustup, second)); err != nil {
		t.Skip(err)
	}
	trusted := false
	find := func(name string) error {
		p := New(Options{
			Environ: func() []string { return []string{"PATH=" + bin} }, Trusted: func() bool { return trusted },
			Confined: func() bool { return true },
		})
		_, err := p.program(&Definition{Name: name, Command: []string{name}}, filepath.Join(top, "crate"), top)
		return err
	}
	for _, name := range []string{"rust-analyzer", "rls"} {
		if err := find(name); err != nil {
			t.Errorf("%s without a toolchain of the project: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "rust-toolchain.toml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rust-analyzer", "rls"} {
		if err := find(name); !errors.Is(err, errProjectChooses) {
			t.Errorf("%s: %v", name, err)
		}
	}
	trusted = true
	if err := find("rust-analyzer"); err != nil {
		t.Errorf("in a trusted folder: %v", err)
	}
}
