package task

import (
	"fmt"
	"os"
)

func save(path, text string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if text == "" {
		return fmt.Errorf("nothing to save")
	}
	f.WriteString(text)
	return f.Close()
}

func load(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), err
}

func copyTo(from, to string) error {
	text, err := load(from)
	if err != nil {
		return err
	}
	os.WriteFile(to, []byte(text), 0o600)
	return nil
}
