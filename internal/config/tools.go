package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ToolFile is a program that is a tool: a file in a tools folder, or an entry of the setting tools.
type ToolFile struct {
	Path  string
	Layer Layer
	Sum   string // for a project's: of the content that the user trusted
}

// Bounds of the programs that are tools.
const (
	mostTools   = 64       // in one folder
	MaxToolFile = 16 << 20 // bytes of a project's program; its content is part of what the user trusts
)

// ToolFiles lists the programs that are tools, the user's first. Those of the project are left out until the folder is
// trusted.
func (c *Config) ToolFiles() (out []ToolFile) {
	if c.Reads(User) {
		for _, path := range programsIn(filepath.Join(c.paths.ConfigHome, "tools")) {
			out = append(out, ToolFile{Path: path, Layer: User})
		}
	}
	if list := c.merged.get("tools"); list != nil {
		for _, e := range list.elems {
			if !e.origin().Layer.inProject() {
				out = append(out, ToolFile{Path: e.text, Layer: e.origin().Layer})
			}
		}
	}
	if c.trusted {
		out = append(out, c.projectTools...)
	}
	return out
}

// ToolFolders are the folders that ToolFiles looks at, whether they exist or not.
func (c *Config) ToolFolders() []string {
	return []string{filepath.Join(c.paths.ConfigHome, "tools"), filepath.Join(c.paths.Root, ".lathe", "tools")}
}

// holdTools holds the project's programs back: those of its tools folder, and those that its settings name.
func (l *loader) holdTools() {
	if l.opts.Sources != nil && !slices.Contains(l.opts.Sources, Project) {
		return
	}
	files := programsIn(filepath.Join(l.paths.Root, ".lathe", "tools"))
	for _, v := range l.held {
		var path string
		if strings.HasPrefix(v.Path, "tools[") && json.Unmarshal(v.JSON, &path) == nil {
			files = append(files, path)
		}
	}
	for _, path := range files {
		sum, err := SumOf(path)
		if err != nil {
			l.warn(Warning{Origin: Origin{Layer: Project, File: path}, Text: "the tool is left out: " + err.Error()})
			continue
		}
		text, _ := json.Marshal("sha256:" + sum)
		l.projectTools = append(l.projectTools, ToolFile{Path: path, Layer: Project, Sum: sum})
		l.held = append(l.held, Value{Path: "tools." + filepath.Base(path), JSON: text, Origin: Origin{
			Layer: Project,
			File:  path,
		}})
	}
}

// programsIn lists the executable files of a folder by name.
func programsIn(dir string) (out []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || !executable(path, st) ||
			strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if out = append(out, path); len(out) == mostTools {
			break
		}
	}
	return out
}

func executable(path string, st os.FileInfo) bool {
	if runtime.GOOS == "windows" {
		return slices.Contains([]string{".exe", ".cmd", ".bat"}, strings.ToLower(filepath.Ext(path)))
	}
	return st.Mode()&0o111 != 0
}

// SumOf is the SHA-256 of a program, in hex.
func SumOf(path string) (string, error) {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return "", errors.Join(err, errors.New("it is no regular file")) // a FIFO would block
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, MaxToolFile+1))
	if err == nil && n > MaxToolFile {
		err = errors.New("it has more than 16 MB; make it a short script that starts the program")
	}
	return hex.EncodeToString(h.Sum(nil)), err
}
