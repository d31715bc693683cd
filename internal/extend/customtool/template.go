package customtool

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed templates
var templates embed.FS

// Languages are those that New has a template for, with the endings of their files.
var Languages = []string{"py", "sh", "js"}

// Create writes a working tool into a folder and returns its path. The language is the ending of the file.
func Create(dir, name, language string) (string, error) {
	if !goodName().MatchString(name) || strings.HasPrefix(strings.ToLower(name), "mcp__") {
		return "", fmt.Errorf("the name %q is not up to 64 letters, digits, _ and -, with a letter first", name)
	}
	text, err := templates.ReadFile("templates/tool." + language)
	if err != nil {
		return "", fmt.Errorf("there is no template for %q; there are %s", language, strings.Join(Languages, ", "))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+"."+language)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, err = f.WriteString(strings.Replace(string(text), "NAME", name, 1))
	return path, err
}
