package skill_test

import (
	"fmt"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/skill"
)

// BenchmarkCatalog looks at 50 skills that were read before, as every message does.
func BenchmarkCatalog(b *testing.B) {
	dir := b.TempDir()
	for i := range 50 {
		write(b, dir, fmt.Sprintf("s/skill%d/SKILL.md", i),
			"---\ndescription: Does one thing\nallowed-tools: Read\n---\nbody")
	}
	folders := func() []skill.Folder {
		return []skill.Folder{{Path: dir + "/s", Kind: skill.KindSkill, Source: skill.SourceUser}}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if n := len(skill.NewLibrary(folders).Catalog().All()); n != 50 {
				b.Fatal(n)
			}
		}
	})
	l := skill.NewLibrary(folders)
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			l.Catalog()
		}
	})
}
