package task

import (
	"strings"
	"testing"
)

func TestOrder(t *testing.T) {
	got, err := Order(map[string][]string{"c": {"a"}, "b": {"d"}, "e": nil})
	if err != nil || strings.Join(got, "") != "acdbe" {
		t.Error(got, err)
	}
	if _, err := Order(map[string][]string{"a": {"b"}, "b": {"a"}}); err == nil {
		t.Error("a circle is taken")
	}
	if _, err := Order(map[string][]string{"a": {"a"}}); err == nil {
		t.Error("a circle of one is taken")
	}
}
